import type { GroupDescription, GroupOffset } from '../client/index.ts';
import { table, thousands } from './table.ts';

/** Who is in the group, and which partitions each one has. @returns lines */
export function membersTable({ group, members }: GroupDescription): string[] {
  if (members.length === 0) return [`${group}: no live members`];
  return table(members, [
    { title: 'MEMBER', of: ({ memberId }) => memberId },
    { title: 'INSTANCE', of: ({ instanceId }) => instanceId },
    { title: 'LAST SEEN', of: ({ lastSeenAt }) => new Date(lastSeenAt).toISOString() },
    { title: 'PARTITIONS', of: ({ assigned }) => assignedText(assigned) },
  ]);
}

/** `orders 0-3, 7; payments 2` */
function assignedText(assigned: GroupDescription['members'][number]['assigned']): string {
  const byTopic = new Map<string, number[]>();
  for (const { topic, partition } of assigned) byTopic.set(topic, [...(byTopic.get(topic) ?? []), partition]);
  return [...byTopic].map(([topic, numbers]) => `${topic} ${ranges(numbers)}`).join('; ') || 'none';
}

/** `0-3, 7` */
function ranges(numbers: readonly number[]): string {
  const runs: [first: number, last: number][] = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const run = runs.at(-1);
    if (run?.[1] === number - 1) run[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(', ');
}

/** Where the group stands on each partition, and the sum. @returns lines */
export function lagTable(offsets: readonly GroupOffset[]): string[] {
  if (offsets.length === 0) return ['It has no positions yet.'];
  const lines = table(offsets, [
    { title: 'TOPIC', of: ({ topic }) => topic },
    { title: 'PARTITION', of: ({ partition }) => partition },
    { title: 'COMMITTED', of: ({ committed }) => committed },
    { title: 'END', of: ({ highWatermark }) => highWatermark },
    { title: 'LAG', of: ({ lag }) => lag },
    ...(offsets.some(({ parked }) => parked) ? [{ title: 'PARKED', of: ({ parked }: GroupOffset) => parked }] : []),
  ]);
  const lag = offsets.reduce((sum, offset) => sum + offset.lag, 0);
  return [...lines, `Lag in all: ${thousands(lag)}`];
}
