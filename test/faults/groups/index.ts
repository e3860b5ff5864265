import type { HeldSlot } from '../simulator/mirror.ts';
import type { GroupHistory, MemberCall, Place } from './history.ts';
import { type Tenure, tenuresOf } from './tenures.ts';

/** A span in which a session stood in its group's members. */
interface Stay {
  readonly groupId: string;
  readonly memberId: string;
  readonly from: number;
  to: number;
  sessionTimeoutMs: number;
  lastSeenAt: number;
}

/** A history, and what is asked of it again and again. */
export interface IndexedGroups extends GroupHistory {
  readonly tenures: readonly Tenure[];
  readonly stays: ReadonlyMap<string, readonly Stay[]>;
  /** Names of incarnations of topics. */
  readonly nameOf: ReadonlyMap<string, string>;
  readonly callsOf: ReadonlyMap<string, readonly MemberCall[]>;
  /** When each incarnation of a group was deleted. */
  readonly deletedAt: ReadonlyMap<string, number>;
  /** Slots by log, by offset. */
  readonly logs: ReadonlyMap<string, readonly HeldSlot[]>;
  /** @returns what a session has held, or holds, by what it was told */
  tenureOf(owner: string, epoch: number, place: Place): Tenure | undefined;
}

export function indexed(history: GroupHistory): {
  index: IndexedGroups;
  violations: ReturnType<typeof tenuresOf>['violations'];
} {
  const { tenures, violations } = tenuresOf(history);
  const nameOf = new Map<string, string>();
  for (const { topicId, after } of history.topics) if (after !== undefined) nameOf.set(topicId, after.name);
  const byTold = new Map<string, Tenure>();
  for (const tenure of tenures) {
    const topic = nameOf.get(tenure.topicId) ?? '';
    const told = `${tenure.owner} ${tenure.epoch} ${topic}#${tenure.partition}`;
    // A write that lands twice may make it again where it was removed: nobody is told of that.
    if (tenure.owner !== undefined && !byTold.has(told)) byTold.set(told, tenure);
  }
  const deletedAt = new Map<string, number>();
  for (const { groupId, at, after } of history.groups) if (after === undefined) deletedAt.set(groupId, at);
  const index = {
    ...history,
    ...{ tenures, nameOf, deletedAt },
    stays: staysOf(history),
    callsOf: groupBy(history.calls.filter(isNamed), (call) => call.memberId ?? answeredId(call)),
    logs: logsOf(history),
    tenureOf: (owner: string, epoch: number, { topic, partition }: Place) =>
      byTold.get(`${owner} ${epoch} ${topic}#${partition}`),
  };
  return { index, violations };
}

function isNamed(call: MemberCall): boolean {
  return (call.memberId ?? answeredId(call)) !== '';
}

function answeredId({ answer }: MemberCall): string {
  return answer !== undefined && 'memberId' in answer ? answer.memberId : '';
}

function staysOf({ members }: GroupHistory): Map<string, Stay[]> {
  const stays = new Map<string, Stay[]>();
  for (const { at, groupId, before, after } of members) {
    if (before !== undefined && before.memberId !== after?.memberId) {
      const stay = stays.get(before.memberId)?.findLast((one) => one.groupId === groupId);
      if (stay !== undefined) stay.to = at;
    }
    if (after === undefined) continue;
    const { memberId, sessionTimeoutMs, lastSeenAt } = after;
    if (before?.memberId === memberId) {
      const stay = stays.get(memberId)?.at(-1);
      if (stay !== undefined) Object.assign(stay, { sessionTimeoutMs, lastSeenAt });
      continue;
    }
    const all = stays.get(memberId) ?? [];
    stays.set(memberId, all);
    all.push({ groupId, memberId, from: at, to: Number.POSITIVE_INFINITY, sessionTimeoutMs, lastSeenAt });
  }
  return stays;
}

function logsOf({ slots }: GroupHistory): Map<string, HeldSlot[]> {
  const logs = groupBy(slots, ({ topicId, partition }) => `${topicId}.${partition}`);
  for (const list of logs.values()) list.sort((a, b) => a.base - b.base);
  return logs;
}

function groupBy<T>(list: readonly T[], keyOf: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of list) {
    const key = keyOf(one);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [one]);
    else known.push(one);
  }
  return groups;
}
