import { memberKeyOf } from '../../../shared/domain/group.ts';
import type { Situation } from '../coverage.ts';
import type { GroupHistory } from './history.ts';
import { indexed } from './index.ts';
import type { Tenure } from './tenures.ts';

/** Which situations the tables of a history show. */
export function situationsOf(history: GroupHistory): Map<Situation, number> {
  const counts = new Map<Situation, number>();
  const count = (situation: Situation) => counts.set(situation, (counts.get(situation) ?? 0) + 1);
  const { index } = indexed(history);
  const left = new Set(history.calls.filter(({ kind }) => kind === 'leave').map(({ memberId }) => memberId));
  for (const { before, after } of history.members) {
    if (before === undefined) continue;
    if (after === undefined) count(left.has(before.memberId) ? 'member left' : 'member expired');
    else if (after.memberId !== before.memberId) count('session replaced');
  }
  for (const tenure of index.tenures) {
    const how = handOver(index, tenure);
    if (how !== undefined) count(how);
    if (tenure.previous === undefined && tenure.owner !== undefined && tenure.committed[0]!.offset > 0) {
      count('begun at the end');
    }
  }
  const incarnations = new Set(history.groups.map(({ groupId }) => groupId));
  if (incarnations.size > 1) count('group made again');
  const names = new Map<string, Set<string>>();
  for (const { topicId, before, after } of history.topics) {
    if (after === undefined) continue;
    names.set(after.name, (names.get(after.name) ?? new Set()).add(topicId));
    if (before !== undefined) count('partition added');
  }
  if ([...names.values()].some(({ size }) => size > 1)) count('topic made again');
  return counts;
}

function handOver(
  index: ReturnType<typeof indexed>['index'],
  { owner, previous, from }: Tenure,
): Situation | undefined {
  if (owner === undefined) return 'changed from outside';
  if (previous?.owner === undefined) return undefined;
  if (previous.owner === owner) return 'taken anew by its owner';
  if (previous.releasedAt !== undefined) return 'handed over by release';
  if (memberKeyOf(previous.owner) === memberKeyOf(owner)) return 'taken from the session before';
  const stay = index.stays.get(previous.owner)?.findLast(({ groupId }) => groupId === previous.groupId);
  return stay !== undefined && stay.to > from ? 'handed over by deadline' : 'taken from one who had left';
}
