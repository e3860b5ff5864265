import type { Plan } from '../../../shared/domain/plan.ts';
import type { Position } from '../../../shared/domain/position.ts';
import type { HeldSlot } from '../simulator/mirror.ts';

/** What members saw and did, and what the tables have held of their groups: all that a checker needs to know. Epoch ms. */
export interface GroupHistory {
  readonly slots: readonly HeldSlot[];
  readonly calls: readonly MemberCall[];
  readonly handled: readonly Handled[];
  /** From outside: resets, and commits without an epoch. They may land long after they began. */
  readonly foreign: readonly { readonly group: string; readonly begin: number }[];
  readonly positions: readonly PositionChange[];
  readonly members: readonly MemberChange[];
  readonly groups: readonly GroupChange[];
  readonly assignments: readonly AssignmentChange[];
  readonly topics: readonly GroupTopicChange[];
  /** Incarnations of topics, and when each was deleted. */
  readonly deletedTopics: ReadonlyMap<string, number>;
  /** By which hosts' clocks may differ from the service's. */
  readonly skewMs: number;
}

export interface Place {
  readonly topic: string;
  readonly partition: number;
}

/** One call of a session, as whoever made it saw it. */
export interface MemberCall {
  readonly kind: 'poll' | 'heartbeat' | 'commits' | 'leave';
  readonly caller: string;
  /** Absent: it joins. */
  readonly memberId?: string;
  readonly begin: number;
  readonly end?: number;
  /** The answer was made and did not arrive. */
  readonly lost?: boolean;
  readonly positions: readonly (Place & { readonly epoch: number; readonly offset: number })[];
  readonly commit: readonly (Place & { readonly epoch: number; readonly offset: number })[];
  readonly release: readonly (Place & { readonly epoch: number })[];
  readonly answer?: MemberAnswer | { readonly error: string };
}

export interface MemberAnswer {
  readonly memberId: string;
  readonly assigned: readonly (Place & { readonly epoch: number; readonly offset: number; readonly error?: string })[];
  readonly revoked: readonly (Place & { readonly epoch: number })[];
  readonly commits: readonly (Place & { readonly offset: number; readonly error?: string })[];
  readonly records: readonly (Place & { readonly offset: number; readonly record: string })[];
}

/** A record that a handler came to its end with. */
export interface Handled extends Place {
  readonly memberId: string;
  readonly epoch: number;
  readonly record: string;
  readonly at: number;
}

interface Change<T> {
  readonly at: number;
  readonly groupId: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

export interface PositionChange extends Change<Position> {
  readonly topicId: string;
  readonly partition: number;
}

export interface MemberChange extends Change<{ memberId: string; lastSeenAt: number; sessionTimeoutMs: number }> {
  readonly key: string;
}

export interface GroupChange extends Change<{ version: number }> {
  readonly group: string;
}

export interface AssignmentChange extends Change<Plan> {
  readonly version: number;
}

export interface GroupTopicChange extends Change<{ name: string; known: number }> {
  readonly topicId: string;
}

/** A promise that was broken, and by what. */
export interface GroupViolation {
  readonly kind:
    | 'epoch went back'
    | 'one epoch, two owners'
    | 'commit went back'
    | 'taken with another offset'
    | 'past the watermark'
    | 'commit not kept'
    | 'fenced without reason'
    | 'record skipped'
    | 'given without owning'
    | 'given wrong records'
    | 'given after it was taken'
    | 'repeat differs'
    | 'expired too early'
    | 'taken too early'
    | 'taken by a session that is over'
    | 'released by nobody'
    | 'changed under a live member'
    | 'changed by nobody'
    | 'removed while it lives'
    | 'assignment changed'
    | 'added partition begins late'
    | 'late'
    | 'unbalanced'
    | 'left over'
    | 'unexpected error'
    | 'no end';
  readonly what: string;
}

export function isAnswer(call: MemberCall): call is MemberCall & { readonly answer: MemberAnswer } {
  return call.answer !== undefined && !('error' in call.answer);
}

export const textOf = ({ topic, partition }: Place) => `${topic}#${partition}`;
