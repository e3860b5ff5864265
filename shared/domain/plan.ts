import { memberKeyOf } from './group.ts';
import { CLOCK_MARGIN_MS } from './limits.ts';
import type { Position } from './position.ts';

/** A topic's incarnation as an assignment saw it. */
export interface PlanTopic {
  readonly name: string;
  /** ULID. */
  readonly id: string;
  readonly partitions: number;
}

/** A member as an assignment saw it. */
export interface PlanMember {
  readonly key: string;
  readonly sessionTimeoutMs: number;
}

/** Who is to have which partition: one version of a group's assignment, never changed once it is written. */
export interface Plan {
  /** In the order of their names. */
  readonly topics: readonly PlanTopic[];
  /** In the order of their keys; those without a partition (spares) too. */
  readonly members: readonly PlanMember[];
  /** Per topic, per partition: index into `members`, or `NOBODY`. */
  readonly owners: readonly (readonly number[])[];
  /** Per topic, per partition: the tenure of the named member begins with this epoch. Lower ones are of an earlier tenure. */
  readonly epochFrom: readonly (readonly number[])[];
}

/** In `Plan.owners`: no member named the partition's topic. */
export const NOBODY = -1;

/** One partition that a plan gives to a member. */
export interface Share {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly epochFrom: number;
}

/** What a plan gives to the member with this key, topics by name, partitions ascending. */
export function sharesOf(plan: Plan, key: string): Share[] {
  const member = plan.members.findIndex((candidate) => candidate.key === key);
  if (member === -1) return [];
  return plan.topics.flatMap(({ name, id }, topic) =>
    plan.owners[topic]!.flatMap((owner, partition) =>
      owner === member ? [{ topic: name, topicId: id, partition, epochFrom: plan.epochFrom[topic]![partition]! }] : [],
    ),
  );
}

/** The epoch from which on a plan's tenures begin that a check makes: above any that a clock could have given before. */
export function tenureFrom(now: number): number {
  return now + 2 * CLOCK_MARGIN_MS;
}

/** Whether two plans say the same of everybody. */
export function isSamePlan(a: Plan, b: Plan): boolean {
  return (
    sameList(a.topics, b.topics, (x, y) => x.name === y.name && x.id === y.id && x.partitions === y.partitions) &&
    sameList(a.members, b.members, (x, y) => x.key === y.key && x.sessionTimeoutMs === y.sessionTimeoutMs) &&
    sameList(a.owners, b.owners, sameNumbers) &&
    sameList(a.epochFrom, b.epochFrom, sameNumbers)
  );
}

/**
 * Whether a member that a plan names may take a partition now.
 *
 * - `create`: there is no position yet; make it with me as its owner.
 * - `mine`: I took it in this tenure already, and the answer was lost.
 * - `take`: it is free, or mine of an earlier tenure or session, or its owner had its time to release it.
 * - `wait`: its owner is to release it, and still has time.
 * - `stale`: another member's tenure is younger than mine: the plan is out of date, or clocks differ by more than their
 *   margin. Or it is another session's with my key: mine may have been replaced since it was read. Read group and member
 *   strongly: with another version, judge by that plan; with the same one, ask again with `isCurrent`.
 *
 * @param position read strongly
 * @param me the session that stood in the member's item: a former one would take from its successor
 * @param isCurrent plan and session were found to be the last after the position was read
 */
export function mayTake(
  position: Position | undefined,
  share: Pick<Share, 'epochFrom'>,
  me: { readonly key: string; readonly memberId: string },
  plan: Pick<Plan, 'members'>,
  now: number,
  isCurrent = false,
): 'create' | 'mine' | 'take' | 'wait' | 'stale' {
  if (position === undefined) return 'create';
  const { owner, epoch } = position;
  if (owner === undefined) return 'take';
  // An epoch of an earlier tenure is raised, though it is mine: nothing that I echo of it is believed.
  if (owner === me.memberId) return epoch >= share.epochFrom ? 'mine' : 'take';
  const ownerKey = memberKeyOf(owner);
  // Mine of another session: a former one, or, where mine was replaced since it was read, the one that did.
  if (ownerKey === me.key) return isCurrent ? 'take' : 'stale';
  if (epoch >= share.epochFrom && !isCurrent) return 'stale';
  const named = plan.members.find(({ key }) => key === ownerKey);
  if (named === undefined) return 'take';
  // It has known since the plan was made, or, where it took from an older plan since, from its take on.
  const toldAt = Math.max(share.epochFrom - 2 * CLOCK_MARGIN_MS, epoch >= share.epochFrom ? epoch : 0);
  return now >= toldAt + named.sessionTimeoutMs + CLOCK_MARGIN_MS ? 'take' : 'wait';
}

function sameNumbers(a: readonly number[], b: readonly number[]): boolean {
  return sameList(a, b, (x, y) => x === y);
}

function sameList<T>(a: readonly T[], b: readonly T[], isSame: (a: T, b: T) => boolean): boolean {
  return a.length === b.length && a.every((item, i) => isSame(item, b[i]!));
}
