import { beforeEach, describe, expect, it } from 'vitest';
import { apiError } from '../../client/api-error.ts';
import { Connection } from '../../client/connection.ts';
import { SLOW_FOR_MS } from '../../client/limits.ts';
import { Brake } from '../../client/producer-brake.ts';
import { LATE } from '../../client/surroundings.ts';
import { Transport } from '../../client/transport.ts';
import { VirtualTime } from '../support/virtual-time.ts';

const PROBLEM = new Headers({ 'content-type': 'application/problem+json' });
const refusal = (data: object) => {
  const problem = { code: 'throttled', detail: 'used up', ...data };
  return apiError(429, PROBLEM, Buffer.from(JSON.stringify(problem)), true);
};
const heldBack = (retryAfterMs: number) => refusal({ reason: 'quota', retryAfterMs });

let time: VirtualTime;
let brake: Brake;
let sent: string[];
let told: unknown[];
beforeEach(() => {
  time = new VirtualTime(0);
  sent = [];
  told = [];
  const nothing = () => {};
  const logger = { debug: nothing, info: nothing, error: nothing, warn: (_: string, data?: object) => told.push(data) };
  const transport = new Transport({
    ...{ endpoint: new URL('http://127.0.0.1'), userAgent: '', fetch, timeoutMs: 1 },
    sign: async ({ headers }) => headers,
  });
  const retry = { minBackoffMs: 0 };
  brake = new Brake('orders', new Connection(transport, { surroundings: time, logger, retry }));
});

const cut = new AbortController().signal;
/** Sends something that ends as these say, one after the other, and then well. @returns how it ended */
function pass(name: string, ends: readonly unknown[] = [], until = 60_000) {
  const left = [...ends];
  const passed = { end: undefined as unknown };
  brake
    .pass(
      async () => {
        sent.push(`${name}@${time.now()}`);
        if (left.length > 0) throw left.shift();
        return 'stored';
      },
      until,
      cut,
    )
    .then(
      (value) => Object.assign(passed, { end: value }),
      (error: unknown) => Object.assign(passed, { end: error }),
    );
  return passed;
}

describe('requests to one topic', () => {
  it('go side by side while nothing holds them back', async () => {
    const all = [pass('a'), pass('b'), pass('c')];
    await time.rest();
    expect(sent).toEqual(['a@0', 'b@0', 'c@0']);
    expect(all.map(({ end }) => end)).toEqual(['stored', 'stored', 'stored']);
    expect(told).toEqual([]);
  });

  it('wait together for as long as one was asked to', async () => {
    const first = pass('a', [heldBack(1_000)]);
    await time.rest();
    const later = pass('b');
    await time.advance(999);
    expect(sent).toEqual(['a@0']);
    await time.advance(1);
    expect(sent).toEqual(['a@0', 'a@1000', 'b@1000']);
    expect([first.end, later.end]).toEqual(['stored', 'stored']);
    expect(told).toEqual([{ topic: 'orders', reason: 'quota', pauseMs: 1_000 }]);
  });

  it('then go one at a time: what one is refused the others do not try', async () => {
    pass('a', [heldBack(1_000)]);
    await time.rest();
    for (const name of ['b', 'c', 'd']) pass(name, [heldBack(500)]);
    await time.advance(1_000);
    expect(sent).toEqual(['a@0', 'a@1000', 'b@1000']);
    await time.advance(500);
    expect(sent).toEqual(['a@0', 'a@1000', 'b@1000', 'b@1500', 'c@1500']);
  });

  it('go side by side again when none was held back for a while', async () => {
    pass('a', [heldBack(1_000)]);
    await time.advance(1_000 + SLOW_FOR_MS);
    const slow = pass('b', [refusal({})]);
    await time.rest();
    expect(slow.end).toMatchObject({ code: 'throttled' });
    expect(sent).toEqual(['a@0', 'a@1000', `b@${1_000 + SLOW_FOR_MS}`]);
  });
});

describe('a request', () => {
  it('that fails otherwise is its sender’s to repeat', async () => {
    const failed = pass('a', [refusal({ retryAfterMs: 1_000 })]); // for want of room
    await time.rest();
    expect(failed.end).toMatchObject({ code: 'throttled' });
    pass('b');
    await time.rest();
    expect(sent).toEqual(['a@0', 'b@0']);
  });

  it('that would have to wait longer than it has time is told why', async () => {
    const late = pass('a', [heldBack(1_000)], 1_000);
    await time.rest();
    expect(late.end).toMatchObject({ code: 'throttled', data: { reason: 'quota' } });
    const next = pass('b', [], 900);
    await time.rest();
    expect(next.end).toMatchObject({ data: { reason: 'quota' } });
    expect(sent).toEqual(['a@0']);
  });

  it('that gets no turn in time is told why, too', async () => {
    pass('a', [heldBack(1_000)]);
    await time.rest();
    brake.pass(() => new Promise(() => {}), 60_000, cut).catch(() => {}); // an answer that does not come
    await time.rest();
    const waiting = pass('b', [], 5_000);
    await time.advance(5_000);
    expect(waiting.end).toMatchObject({ data: { reason: 'quota' } });
    expect(waiting.end).not.toBe(LATE);
  });
});
