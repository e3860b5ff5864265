import { expect, it } from 'vitest';
import { measureGroups } from '../../bench/group-cost.ts';

it('a group costs what the design says: polls, commits, sessions, rebalances, hand-overs', async () => {
  const { laws, tables } = await measureGroups(() => {}, { members: 4, partitions: 6, polling: 2 });
  expect(laws.flatMap(({ law, broken }) => broken.map((where) => `${law}: ${where}`))).toEqual([]);
  const reads = new Map(tables[0]!.rows.map(({ call, readUnits }) => [call, readUnits]));
  expect(reads.get('steady poll, nothing there')).toBeLessThanOrEqual(1 + 2 / 2);
  expect(reads.get('steady poll of a member that holds 6')).toBe(1 + 6 / 2);
});
