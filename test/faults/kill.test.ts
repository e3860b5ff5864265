import { describe, expect, it } from 'vitest';
import { createTopic } from '../support/api-client.ts';
import { startBackbone } from '../support/process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { checkHistory } from './check-history.ts';
import { HttpCallers } from './http-callers.ts';
import { Random } from './simulator/random.ts';

/** Times that the process is killed. */
const ROUNDS = Number(process.env.VERTEBRA_KILL_ROUNDS ?? 8);
const PARTITIONS = 3;
const PRODUCERS = 6;
/** Far above what one round takes on a busy machine. */
const ROUND_MS_MAX = 30_000;

describe('the whole backbone, killed under load', () => {
  it(`keeps what it promises through ${ROUNDS} kills`, { timeout: (ROUNDS + 4) * ROUND_MS_MAX }, async () => {
    const data = temporaryFolder();
    const start = () => startBackbone('--port', '0', '--data', data);
    const random = new Random(ROUNDS);
    const callers = new HttpCallers(PARTITIONS);
    let backbone = await start();
    await createTopic(backbone.url, 'orders', { partitions: PARTITIONS });
    callers.url = backbone.url;
    const ended = callers.start(PRODUCERS);
    for (let round = 0; round < ROUNDS; round++) {
      const before = callers.answered;
      // Under load, and a little further: somewhere in the middle of what is going on.
      await expect.poll(() => callers.answered, { timeout: ROUND_MS_MAX, interval: 5 }).toBeGreaterThan(before + 5);
      await new Promise((resolve) => setTimeout(resolve, random.between(0, 120)));
      callers.url = undefined;
      await backbone.end('SIGKILL');
      backbone = await start();
      callers.url = backbone.url;
    }
    callers.finish();
    await ended;

    const history = await callers.history();
    const cutOff = history.appends.filter(({ answer }) => answer === undefined);
    console.info(
      `${ROUNDS} kills: ${history.appends.length} appends, ${callers.answered} acknowledged, ${cutOff.length} cut off, ` +
        `${history.stored.length} records stored, ${history.reads.length} reads`,
    );
    expect(checkHistory(history)).toEqual([]);
    expect(cutOff.length).toBeGreaterThan(ROUNDS / 2); // else the kills met nothing
    await backbone.end('SIGTERM');
  });
});
