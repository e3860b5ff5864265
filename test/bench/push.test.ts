import { expect, it } from 'vitest';
import { measurePush } from '../../bench/push.ts';

it('a push costs what the design says: an append, and a delivered batch', async () => {
  const small = { backlog: 200, appends: 2, hung: 2, subscriptions: [0, 1, 5], groups: [0, 3] };
  const { laws } = await measurePush(() => {}, small);
  expect(laws.flatMap(({ law, broken }) => broken.map((where) => `${law}: ${where}`))).toEqual([]);
  expect(laws).toHaveLength(2);
}, 30_000);
