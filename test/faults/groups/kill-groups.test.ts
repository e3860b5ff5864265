import { expect, it } from 'vitest';
import { createTopic } from '../../support/api-client.ts';
import { startBackbone } from '../../support/process.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { HttpMembers } from './http-members.ts';

/** Times that the process is killed. */
const ROUNDS = Number(process.env.VERTEBRA_KILL_ROUNDS ?? 8);
const PARTITIONS = 4;
/** Far above what one round takes on a busy machine: a member may wait for its session to end. */
const ROUND_MS_MAX = 40_000;

interface Described {
  readonly offsets: readonly { readonly partition: number; readonly committed: number; readonly lag: number }[];
}

it(`members handle all that was acknowledged, and no commit is lost, through ${ROUNDS} kills`, {
  timeout: (ROUNDS + 4) * ROUND_MS_MAX,
}, async () => {
  const data = temporaryFolder();
  const start = () => startBackbone('--port', '0', '--data', data);
  const callers = new HttpMembers(PARTITIONS);
  let backbone = await start();
  await createTopic(backbone.url, 'orders', { partitions: PARTITIONS });
  callers.url = backbone.url;
  const ended = callers.start(3, 3);
  for (let round = 0; round < ROUNDS; round++) {
    const before = { polls: callers.polls, handled: callers.handled.size };
    const isBusy = () => callers.polls > before.polls + 10 && callers.handled.size > before.handled + 5;
    await expect.poll(isBusy, { timeout: ROUND_MS_MAX, interval: 7 }).toBe(true);
    callers.url = undefined;
    await backbone.end('SIGKILL');
    backbone = await start();
    callers.url = backbone.url;
  }
  callers.stopProducing();
  const describe = async () => (await (await fetch(`${backbone.url}/v1/groups/billing`)).json()) as Described;
  const lag = async () => (await describe()).offsets.map((one) => one.lag);
  await expect.poll(lag, { timeout: ROUND_MS_MAX, interval: 200 }).toEqual(Array(PARTITIONS).fill(0));
  callers.finish();
  await ended;

  console.info(`${ROUNDS} kills: ${callers.acknowledged.size} acknowledged, ${callers.handled.size} handled`);
  expect([...callers.acknowledged].filter((id) => !callers.handled.has(id))).toEqual([]);
  expect(callers.acknowledged.size).toBeGreaterThan(5 * ROUNDS);
  for (const { partition, committed } of (await describe()).offsets) {
    expect(committed).toBeGreaterThanOrEqual(callers.committed.get(partition) ?? 0);
  }
  await backbone.end('SIGTERM');
});
