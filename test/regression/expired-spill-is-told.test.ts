import { beforeEach, expect, it } from 'vitest';
import { INTENT_LIFE_MS } from '../../shared/domain/limits.ts';
import { type BackgroundBench, openBackgroundBench } from '../support/background-bench.ts';
import { append, makeTopic, read } from '../support/log-bench.ts';

const HOUR = 3_600_000;
let bench: BackgroundBench;

beforeEach(async () => {
  bench = await openBackgroundBench({ spillAboveBytes: 50 });
  return () => bench.close();
});

async function expire(ms: number): Promise<void> {
  bench.clock.pass(ms);
  await bench.tables.aws.expireNow(bench.clock.now());
  await bench.follow();
}

/** Intents outlive the records of a short retention: voids put for them hid that there had been any. */
it('a reader whose spilled records have expired is told so, also after their intents have', async () => {
  const host = bench.host();
  await makeTopic(host, 'short', { retentionMs: HOUR });
  for (let i = 0; i < 3; i++) await append(host, 'short', 'x'.repeat(100));
  await expire(INTENT_LIFE_MS - HOUR / 2);
  await append(host, 'short', 'live');
  await expire(HOUR / 2 - 10_000);
  await expect(read(bench.host(), 'short', 0)).rejects.toMatchObject({ code: 'offset_out_of_range' });
  await expire(12_000);
  expect(await bench.objects()).toEqual([]);
  expect(await bench.items('log')).toHaveLength(1);
  await expect(read(bench.host(), 'short', 0)).rejects.toMatchObject({ code: 'offset_out_of_range' });
  expect((await read(bench.host(), 'short', 'earliest')).got).toEqual(['live@3..3']);
});
