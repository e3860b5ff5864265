import { beforeEach, describe, expect, it } from 'vitest';
import { Unavailable } from '../../../shared/domain/errors.ts';
import {
  FILL_DEADLINE_MS,
  HASTY_ATTEMPT_TIMEOUT_MS,
  SLOW_FILL_DEADLINE_MS,
  STORE_ATTEMPT_TIMEOUT_MS,
} from '../../../shared/domain/limits.ts';
import { append, type Host, type LogBench, makeTopic, openLogBench, read } from '../../support/log-bench.ts';

/** The SDK pauses for at most so long after its first and second attempt. */
const PAUSES_MS = [100, 200];
let bench: LogBench;
let host: Host;
let timeouts: (number | undefined)[];
let begun: number;

beforeEach(async () => {
  bench = await openLogBench({ spillAboveBytes: 8 });
  host = bench.host();
  await makeTopic(host, 'orders');
  await host.backbone.topics.get('orders');
  timeouts = [];
  begun = bench.clock.now();
  // Time that is spent waiting for what does not come, and for the next attempt, as long as that can take.
  host.faults.onLost = (timeoutMs) => {
    bench.clock.pass((timeoutMs ?? 0) + (PAUSES_MS[timeouts.length] ?? 0));
    timeouts.push(timeoutMs);
  };
  return () => bench.close();
});

const tookMs = () => bench.clock.now() - begun;
const seen = () => host.seen.map(({ kind }) => kind);

const WRITES = [
  ['reservation', 'UpdateItem', 'lose-request'],
  ['reservation', 'UpdateItem', 'lose-answer'],
  ['fill', 'PutItem', 'lose-request'],
  ['fill', 'PutItem', 'lose-answer'],
] as const;

describe.each(WRITES)('the attempts of a %s (%s, %s)', (_, operation, fault) => {
  it.each([1, 2])('may be lost %i times: the append is stored all the same, once, in its time', async (times) => {
    host.faults.next(operation, fault, times);
    expect(await append(host, 'orders', 'a')).toBe(0);
    expect(timeouts).toEqual(Array(times).fill(HASTY_ATTEMPT_TIMEOUT_MS));
    expect(tookMs()).toBeLessThan(FILL_DEADLINE_MS);
    expect(seen()).toEqual(['records_appended']);
    expect(await append(host, 'orders', 'b')).toBe(1);
    expect((await read(host, 'orders', 0)).got).toEqual(['a@0..0', 'b@1..1']);
  });
});

it('the last attempt has the usual time, and when all are lost nothing is stored', async () => {
  host.faults.next('UpdateItem', 'lose-request', 3);
  await expect(append(host, 'orders', 'a')).rejects.toBeInstanceOf(Unavailable);
  expect(timeouts).toEqual([HASTY_ATTEMPT_TIMEOUT_MS, HASTY_ATTEMPT_TIMEOUT_MS, STORE_ATTEMPT_TIMEOUT_MS]);
  expect((await read(host, 'orders', 0)).got).toEqual([]);
});

it('a batch that has more time gives none of its attempts up early', async () => {
  host.faults.next('UpdateItem', 'lose-request');
  host.faults.next('PutItem', 'lose-request', 1, 'append');
  expect(await append(host, 'orders', 'more than eight bytes')).toBe(0);
  expect(timeouts).toEqual([undefined, undefined]); // as the client is configured
  const [pause] = PAUSES_MS;
  expect(2 * STORE_ATTEMPT_TIMEOUT_MS + 2 * pause!).toBeLessThan(SLOW_FILL_DEADLINE_MS);
});
