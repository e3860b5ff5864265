import { beforeEach, expect, it } from 'vitest';
import { appendBatches } from '../../shared/operations/append-batches.ts';
import { putTopic } from '../../shared/operations/topics.ts';
import { batchOf, type Host, type LogBench, makeTopic, openLogBench } from '../support/log-bench.ts';

const HOUR = 3_600_000;
const FINGERPRINT = '0'.repeat(64);
let bench: LogBench;

beforeEach(async () => {
  bench = await openLogBench();
  await makeTopic(bench.host(), 'orders', { retentionMs: 168 * HOUR });
  return () => bench.close();
});

function appendOnce({ backbone }: Host) {
  return appendBatches(backbone, {
    topic: 'orders',
    build: () => new Map([[0, batchOf('once')]]),
    once: { key: 'k', fingerprint: FINGERPRINT },
  });
}

/** A writer that dies with its claim made. */
async function claimAndDie(): Promise<void> {
  const dead = bench.host();
  const { arrived } = dead.faults.hold('PutItem', 'lose-request', '"append"');
  void appendOnce(dead).catch(() => {});
  await arrived;
}

async function setRetention(retentionMs: number): Promise<void> {
  await putTopic(bench.host().backbone, 'orders', { retentionMs });
}

/** The claim outlived the slot that it had been moved to: the repeat moved it on and called that a duplicate. */
it('a claim that is moved to a slot of shorter life dies before that slot', async () => {
  await claimAndDie();
  await setRetention(HOUR);
  bench.clock.pass(60_000);
  const first = await appendOnce(bench.host());
  expect(first).toMatchObject({ duplicate: true });
  bench.clock.pass(HOUR / 2 - 2_000);
  expect(await appendOnce(bench.host())).toEqual(first);
  bench.clock.pass(HOUR / 2 + 7_000);
  await bench.tables.aws.expireNow(bench.clock.now());
  await setRetention(168 * HOUR);
  expect(await appendOnce(bench.host())).toMatchObject({ duplicate: false });
});

/** The present retention was taken for that of the slot: 504 until the key died, a day later. */
it('a claim of longer life is completed though half the present retention has passed', async () => {
  await claimAndDie();
  await setRetention(HOUR);
  bench.clock.pass(HOUR / 2 + 60_000);
  expect(await appendOnce(bench.host())).toMatchObject({ duplicate: true });
});
