import { PARALLEL_CALLS_MAX } from './limits.ts';

/**
 * Does `act` for every item, at most `PARALLEL_CALLS_MAX` at a time, and tells how each ended, in the items' order.
 * Every act is waited for, also after one failed: nothing goes on behind the caller's back.
 */
export async function settleAll<T, R>(
  items: readonly T[],
  act: (item: T) => Promise<R>,
): Promise<PromiseSettledResult<R>[]> {
  const results: PromiseSettledResult<R>[] = new Array(items.length);
  let next = 0;
  const worker = async () => {
    for (let i = next++; i < items.length; i = next++) {
      try {
        results[i] = { status: 'fulfilled', value: await act(items[i]!) };
      } catch (reason) {
        results[i] = { status: 'rejected', reason };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL_CALLS_MAX, items.length) }, worker));
  return results;
}

/** Like `settleAll`, but the first failure, in the items' order, is thrown once all have ended. */
export async function actOnAll<T, R>(items: readonly T[], act: (item: T) => Promise<R>): Promise<R[]> {
  const results = await settleAll(items, act);
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}
