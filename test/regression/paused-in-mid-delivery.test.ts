import { afterEach, beforeEach, expect, it } from 'vitest';
import type { SubscriptionChange } from '../../shared/domain/subscription.ts';
import { openPushBench, type PushBench } from '../support/push-bench.ts';

let bench: PushBench;
beforeEach(async () => {
  bench = await openPushBench();
  await bench.subscribe('s', { batch: { maxRecords: 1, maxBytes: 1_000 } });
  await bench.append(['a', 'b', 'c']);
});
afterEach(() => bench.close());

/** Changes the subscription while its first call is under way. */
function changeInCall(change: Partial<SubscriptionChange>): void {
  bench.scripts.set('s', async () => {
    const seen = await bench.subscription();
    if (bench.calls.length === 1) await bench.host().ports.subscriptions.change(seen, { ...seen, ...change });
    return { kind: 'done' };
  });
}

it('a delivery ends with the call in which its subscription was paused', async () => {
  changeInCall({ state: 'paused', reason: 'paused by request' });
  await bench.wake({ last: 2 });
  await bench.drain();
  expect(bench.calls).toEqual(['s:0 0']);
  const position = await bench.position();
  expect(position).toMatchObject({ committed: 1 });
  expect(position).not.toHaveProperty('owner');
});

it('a delivery goes on by the settings that its subscription got in mid-call', async () => {
  changeInCall({ batch: { maxRecords: 10, maxBytes: 1_000 } });
  await bench.wake({ last: 2 });
  await bench.drain();
  expect(bench.calls).toEqual(['s:0 0', 's:0 1..2']);
});
