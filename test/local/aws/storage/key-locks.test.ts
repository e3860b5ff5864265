import { expect, it } from 'vitest';
import { KeyLocks } from '../../../../local/aws/storage/key-locks.ts';

it('lets one in at a time, in the order in which they came', async () => {
  const locks = new KeyLocks();
  const order: string[] = [];
  locks.take('a', () => order.push('first'));
  locks.take('a', () => order.push('second'));
  locks.take('a', () => order.push('third'));
  locks.take('b', () => order.push('other'));
  expect(order).toEqual(['first', 'other']);
  locks.free('a');
  expect(order).toEqual(['first', 'other', 'second']);
  locks.free('a');
  locks.free('a');
  locks.take('a', () => order.push('free again'));
  expect(order).toEqual(['first', 'other', 'second', 'third', 'free again']);
});

it('ends when many hold overlapping keys in any order, each alone with them', async () => {
  const locks = new KeyLocks();
  const held = new Set<string>();
  const hold = (...keys: string[]) =>
    locks.holding(keys, async () => {
      for (const key of new Set(keys)) expect(held.has(key)).toBe(false);
      for (const key of keys) held.add(key);
      await new Promise(setImmediate);
      for (const key of keys) held.delete(key);
    });
  await Promise.all([hold('a', 'b'), hold('b', 'c'), hold('c', 'a'), hold('c', 'b', 'a'), hold('a', 'a'), hold('b')]);
});

it('frees its keys when the work fails', async () => {
  const locks = new KeyLocks();
  const failing = locks.holding(['a', 'b'], () => Promise.reject(new Error('broken')));
  await expect(failing).rejects.toThrow('broken');
  expect(await locks.holding(['b', 'a'], async () => 'free')).toBe('free');
});
