import { memberKeyOf } from '../../../shared/domain/group.ts';
import { CLOCK_MARGIN_MS, GROUP_CHECK_MS } from '../../../shared/domain/limits.ts';
import { sharesOf } from '../../../shared/domain/plan.ts';
import { checkCalls } from './check-calls.ts';
import type { AssignmentChange, GroupHistory, GroupViolation } from './history.ts';
import { type IndexedGroups, indexed } from './index.ts';
import type { Tenure } from './tenures.ts';

/** Decides whether a history keeps G1 to G5, and what hand-overs promise. Pure. @returns what was broken */
export function checkGroups(history: GroupHistory): GroupViolation[] {
  const { index, violations } = indexed(history);
  return [
    ...violations,
    ...checkAssignments(index),
    ...checkMembers(index),
    ...index.tenures.flatMap((tenure) => [
      ...checkBeginning(index, tenure),
      ...checkCommits(index, tenure),
      ...checkRelease(index, tenure),
    ]),
    ...checkCalls(index),
  ];
}

const nameOf = ({ topicId, partition, epoch, owner }: Tenure) =>
  `${topicId.slice(-4)}.${partition} epoch ${epoch} of ${owner ?? 'nobody'}`;

/** A version is written once, and versions only grow. */
function checkAssignments({ assignments, groups }: IndexedGroups): GroupViolation[] {
  const found: GroupViolation[] = [];
  for (const { at, groupId, version, before, after } of assignments) {
    if (before !== undefined && after !== undefined) {
      found.push({ kind: 'assignment changed', what: `${groupId} version ${version} at ${at}` });
    }
  }
  for (const { at, groupId, before, after } of groups) {
    if (before !== undefined && after !== undefined && after.version < before.version) {
      found.push({
        kind: 'assignment changed',
        what: `${groupId} from version ${before.version} to ${after.version} at ${at}`,
      });
    }
  }
  return found;
}

/** Of a session's heartbeat and its expiry one wins. */
function checkMembers({ members, callsOf, deletedAt, skewMs }: IndexedGroups): GroupViolation[] {
  const found: GroupViolation[] = [];
  for (const { at, groupId, before, after } of members) {
    if (before === undefined || after !== undefined) continue;
    const { memberId, lastSeenAt, sessionTimeoutMs } = before;
    if (at - lastSeenAt > sessionTimeoutMs + CLOCK_MARGIN_MS - skewMs) continue;
    if ((deletedAt.get(groupId) ?? Number.POSITIVE_INFINITY) <= at) continue;
    if (callsOf.get(memberId)?.some(({ kind, begin }) => kind === 'leave' && begin <= at)) continue;
    found.push({ kind: 'expired too early', what: `${memberId} at ${at}, seen at ${lastSeenAt}` });
  }
  return found;
}

/** Why a tenure may begin: somebody set it from outside, or took what was free, or had long been taken from another. */
function checkBeginning(index: IndexedGroups, tenure: Tenure): GroupViolation[] {
  const { owner, from, previous } = tenure;
  if (owner === undefined) return checkForeign(index, tenure);
  const found: GroupViolation[] = [];
  const polls = index.callsOf.get(owner)?.filter(({ kind, begin }) => kind === 'poll' && begin <= from) ?? [];
  const stays = index.stays.get(owner) ?? [];
  if (!polls.some(({ begin }) => stays.some((stay) => stay.groupId === tenure.groupId && stay.to >= begin))) {
    found.push({ kind: 'taken by a session that is over', what: `${nameOf(tenure)} at ${from}` });
  }
  if (previous === undefined) return [...found, ...checkFirst(index, tenure)];
  if (previous.owner === undefined || previous.owner === owner || previous.releasedAt !== undefined) return found;
  const free = freeFrom(index, previous, tenure);
  if (from < free) {
    found.push({
      kind: 'taken too early',
      what: `${nameOf(tenure)} at ${from}, from ${nameOf(previous)}: not before ${free}`,
    });
  }
  return found;
}

/** From when on a position that somebody owns may be taken by others: his session is over, or he had it to release. */
function freeFrom({ stays, groups, assignments, skewMs }: IndexedGroups, previous: Tenure, by: Tenure): number {
  const { groupId, owner = '', topicId, partition } = previous;
  const stay = stayOf(stays, previous);
  if (stay === undefined || stay.to <= by.from) return stay?.to ?? 0;
  const key = memberKeyOf(owner)!;
  let named = true;
  // Where the plan in force had forgotten him when he took it, he knew at once. A take may land long after it was made.
  const takenAt = Math.min(previous.from, previous.epoch);
  let toldAt = takenAt;
  let inForce: AssignmentChange | undefined;
  for (const { at, groupId: of, after } of groups) {
    if (of !== groupId || after === undefined || at > by.from) continue;
    inForce = assignments.find((one) => one.groupId === groupId && one.version === after.version);
    const isNamed =
      inForce?.after !== undefined &&
      sharesOf(inForce.after, key).some(
        (share) => share.topicId === topicId && share.partition === partition && share.epochFrom <= previous.epoch,
      );
    if (named && !isNamed) toldAt = Math.max(at, takenAt);
    named = isNamed;
  }
  // A static one that joined again, and took by the plan before, while this one was made without him.
  const isUnknown = inForce?.after?.members.every((member) => member.key !== key) ?? true;
  if (isUnknown && stay.from > (inForce?.at ?? 0) - 2 * GROUP_CHECK_MS) return stay.from;
  if (named) return Number.POSITIVE_INFINITY;
  return toldAt + stay.sessionTimeoutMs + CLOCK_MARGIN_MS - GROUP_CHECK_MS - 2 * skewMs;
}

/** Where its owner was a member when it took it. One that joined again since, with the same id, begins with nothing. */
function stayOf(stays: IndexedGroups['stays'], { owner = '', groupId, from }: Tenure) {
  return stays.get(owner)?.find((stay) => stay.groupId === groupId && stay.from <= from && stay.to >= from);
}

/** G5: what was added to a topic that the group knew begins at its first record. */
function checkFirst({ topics, logs }: IndexedGroups, tenure: Tenure): GroupViolation[] {
  const { groupId, topicId, partition, committed, from } = tenure;
  const noted = topics.find((one) => one.groupId === groupId && one.topicId === topicId && one.at <= from);
  const known = noted?.after?.known ?? Number.POSITIVE_INFINITY;
  const start = committed[0]!.offset;
  const first = logs.get(`${topicId}.${partition}`)?.find(({ records }) => records.length > 0);
  if (partition < known || first === undefined || start <= first.base) return [];
  return [{ kind: 'added partition begins late', what: `${nameOf(tenure)} at ${start}` }];
}

/** From outside: somebody asked for it, and whoever owned it did not live. */
function checkForeign({ foreign, stays, skewMs }: IndexedGroups, tenure: Tenure): GroupViolation[] {
  const { from, previous } = tenure;
  if (!foreign.some(({ begin }) => begin <= from)) return [{ kind: 'changed by nobody', what: nameOf(tenure) }];
  if (previous?.owner === undefined || previous.releasedAt !== undefined) return [];
  const stay = stayOf(stays, previous);
  if (stay === undefined || stay.to <= from) return [];
  if (from - stay.lastSeenAt > stay.sessionTimeoutMs + CLOCK_MARGIN_MS - skewMs) return [];
  return [{ kind: 'changed under a live member', what: `${nameOf(previous)} at ${from}` }];
}

/** G3, and no record is passed that nobody in the group has handled. */
function checkCommits(index: IndexedGroups, tenure: Tenure): GroupViolation[] {
  const { topicId, partition, committed, groupId } = tenure;
  const slots = index.logs.get(`${topicId}.${partition}`) ?? [];
  const found: GroupViolation[] = [];
  for (const [i, { at, offset }] of committed.entries()) {
    const before = i === 0 ? (tenure.previous?.committed.at(-1)?.offset ?? 0) : committed[i - 1]!.offset;
    let settled = 0;
    for (const slot of slots) {
      if (settled >= offset) break;
      if (slot.storedAt > at || slot.base > settled) continue;
      settled = Math.max(settled, slot.last + 1);
    }
    if (settled < offset) {
      found.push({
        kind: 'past the watermark',
        what: `${nameOf(tenure)} committed ${offset} at ${at}, settled are ${settled}`,
      });
    }
    if (i === 0) continue;
    const skipped = slots
      .flatMap((slot) => slot.records.map((record, at) => ({ record, offset: slot.base + at })))
      .filter((one) => one.offset >= before && one.offset < offset)
      .filter(({ record }) => !isHandled(index, record, groupId, at));
    if (skipped.length > 0) {
      const names = skipped.map(({ record, offset }) => `${record}@${offset}`).join(', ');
      found.push({
        kind: 'record skipped',
        what: `${nameOf(tenure)} committed ${offset} at ${at}: nobody handled ${names}`,
      });
    }
  }
  return found;
}

const handledIn = new WeakMap<object, Map<string, { groupId: string; at: number }[]>>();

function isHandled(index: IndexedGroups, record: string, groupId: string, by: number): boolean {
  let known = handledIn.get(index);
  if (known === undefined) {
    known = new Map();
    for (const { record, memberId, epoch, at, ...place } of index.handled) {
      const tenure = index.tenureOf(memberId, epoch, place);
      if (tenure === undefined) continue;
      const all = known.get(record) ?? [];
      known.set(record, all);
      all.push({ groupId: tenure.groupId, at });
    }
    handledIn.set(index, known);
  }
  return known.get(record)?.some((one) => one.groupId === groupId && one.at <= by) ?? false;
}

/** Nobody gives up what is another's. What the server gave back itself, its owner was never told of. */
function checkRelease(index: IndexedGroups, tenure: Tenure): GroupViolation[] {
  const { owner, releasedAt, epoch, partition } = tenure;
  if (owner === undefined || releasedAt === undefined) return [];
  const topic = index.nameOf.get(tenure.topicId);
  const isThis = (one: { topic: string; partition: number; epoch: number }) =>
    one.topic === topic && one.partition === partition && one.epoch === epoch;
  const calls = index.callsOf.get(owner) ?? [];
  if (calls.some(({ begin, release }) => begin <= releasedAt && release.some(isThis))) return [];
  const isTold = calls.some(
    ({ answer, lost, end }) =>
      answer !== undefined && !lost && 'assigned' in answer && (end ?? 0) <= releasedAt && answer.assigned.some(isThis),
  );
  return isTold ? [{ kind: 'released by nobody', what: `${nameOf(tenure)} at ${releasedAt}` }] : [];
}
