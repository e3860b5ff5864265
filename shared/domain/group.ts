import { CLOCK_MARGIN_MS, INSTANCE_ID_CHARS_MAX } from './limits.ts';

/** One incarnation of a consumer group. One that was deleted and made again has another id and shares nothing with it. */
export interface GroupId {
  /** As topic names: without `#`. */
  readonly name: string;
  /** ULID of this incarnation. */
  readonly id: string;
}

export interface Group extends GroupId {
  /** Epoch ms. */
  readonly createdAt: number;
  /** Of its assignment; 0: none was made yet. */
  readonly version: number;
  /** Epoch ms from which on somebody has to look whether the assignment still holds. */
  readonly checkAt: number;
  /** Epoch ms up to which somebody who claimed the check may be at it; 0: nobody. */
  readonly busyUntil: number;
  /** Of its dead letters that are on their way back to its members; absent: none was, or all have come. */
  readonly redrives?: GroupRedrives;
  /** A subscription's: the backbone itself is its member, and nobody joins it. */
  readonly isSubscription?: true;
}

/** What polls have to know of redrives. */
export interface GroupRedrives {
  /** Epoch ms at which some were marked last; absent: there is none to be looked for. */
  readonly at?: number;
  /** Those that failed one after another; absent: none. */
  readonly failed?: number;
  /** Epoch ms at which so many had failed that the others were taken back. */
  readonly stoppedAt?: number;
}

/** A deleted incarnation of which something may be left. */
export interface DeletedGroup extends GroupId {
  /** Epoch ms of its deletion. */
  readonly at: number;
}

export interface Member {
  /** Names the member in assignments: see `memberKeyOf`. */
  readonly key: string;
  /** Of this session. A static member that joins again has another one, under the same key. */
  readonly memberId: string;
  /** Epoch ms. Written once in a third of the session. */
  readonly lastSeenAt: number;
  readonly sessionTimeoutMs: number;
  /** Names of the topics that it wants partitions of. */
  readonly topics: readonly string[];
  /** Epoch ms. */
  readonly joinedAt: number;
  /** Of a static member. */
  readonly instanceId?: string;
}

/** A topic's incarnation that the group has known. */
export interface GroupTopic {
  readonly topicId: string;
  readonly name: string;
  /** Partitions it had when the group first knew it: those added since start at their first record (G5). */
  readonly known: number;
  /** The most that any assignment saw: there are positions for none beyond. */
  readonly partitions: number;
}

const ULID = /^[0-9A-HJKMNP-TV-Z]{26}$/;
const STATIC_MEMBER_ID = /^(.+)-[0-9A-HJKMNP-TV-Z]{26}$/su;

/** Whether a text may be the ulid of a member. */
export function isMemberUlid(text: string): boolean {
  return ULID.test(text);
}

/** Whether a text may name a static member: 1 to 64 characters (UTF-16), well-formed, none of them a control character. */
export function isInstanceId(text: string): boolean {
  return text.length > 0 && text.length <= INSTANCE_ID_CHARS_MAX && !/[\p{Cc}\p{Cs}]/u.test(text);
}

/** A static member's id tells its instance id, so that whoever has the one finds the member's item by it. */
export function newMemberId(ulid: string, instanceId?: string): string {
  return instanceId === undefined ? ulid : `${instanceId}-${ulid}`;
}

/** A static member's key: the same for all its sessions. No text of a user's stands in it as it is. */
export function staticMemberKey(instanceId: string): string {
  return `i.${Buffer.from(instanceId).toString('base64url')}`;
}

/**
 * The key of the member that has, or had, this id: of a dynamic member, the id itself (a ULID); of a static one
 * (`<instanceId>-<ulid>`), that of its instance. @returns undefined for what cannot be a member's id
 */
export function memberKeyOf(memberId: string): string | undefined {
  if (ULID.test(memberId)) return memberId;
  const instanceId = STATIC_MEMBER_ID.exec(memberId)?.[1];
  return instanceId !== undefined && isInstanceId(instanceId) ? staticMemberKey(instanceId) : undefined;
}

/** Epoch ms from which on the member is expired, unless it is seen again before: its session and a margin for clocks. */
export function memberExpiry({
  lastSeenAt,
  sessionTimeoutMs,
}: Pick<Member, 'lastSeenAt' | 'sessionTimeoutMs'>): number {
  return lastSeenAt + sessionTimeoutMs + CLOCK_MARGIN_MS + 1;
}

export function isExpiredMember(member: Pick<Member, 'lastSeenAt' | 'sessionTimeoutMs'>, now: number): boolean {
  return now >= memberExpiry(member);
}

/**
 * The epoch that follows one: higher, no lower than the clock, so that none of a deleted group or topic fits its
 * successor, and no lower than the tenure it begins (`Share.epochFrom`).
 */
export function nextEpoch(epoch: number, now: number, epochFrom = 0): number {
  return Math.max(epoch + 1, now, epochFrom);
}
