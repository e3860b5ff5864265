import type { Delivered } from '../../../shared/domain/delivery.ts';
import type { Position } from '../../../shared/domain/position.ts';
import type { Subscription } from '../../../shared/domain/subscription.ts';
import type { HeldSlot } from '../simulator/mirror.ts';

/** What targets saw, and what the tables have held of subscriptions: all that a checker needs to know. Epoch ms. */
export interface PushHistory {
  readonly slots: readonly HeldSlot[];
  readonly calls: readonly TargetCall[];
  readonly positions: readonly PositionChange[];
  /** Of parked keys, by which the sweep finds them. */
  readonly marks: readonly MarkChange[];
  readonly subscriptions: readonly SubscriptionItem[];
  /** When each incarnation of a topic was deleted. */
  readonly topicsGone: ReadonlyMap<string, number>;
  /** When each incarnation of a subscription had been asked for, and answered. */
  readonly made: readonly { readonly groupId: string; readonly end: number }[];
  /** From outside. They may land long after they began. */
  readonly sought: readonly { readonly name: string; readonly begin: number }[];
  /** Administrators who have parked keys tried again, or given up; from when on. */
  readonly acted: readonly { readonly name: string; readonly begin: number }[];
  readonly letters: readonly KeptLetter[];
  readonly letterChanges: readonly LetterChange[];
  /** What targets that process each record once have done, in the order of time. */
  readonly effects: readonly Effect[];
  /** Whether all targets are such. */
  readonly isOnce: boolean;
  /** Names of dead letters that were told, with the name of their group, and when. */
  readonly told: readonly { readonly group: string; readonly id: string; readonly at: number }[];
  readonly retentionMs: number;
  /** How many keys records have. */
  readonly keys: number;
  /** By which hosts' clocks may differ from the service's. */
  readonly skewMs: number;
  /**
   * Names of subscriptions whose targets are in no mood, and within how many ms they are to have each record, once it is
   * known of the others how slow they are; but those of keys that fail.
   */
  readonly prompt:
    | {
        readonly names: readonly string[];
        readonly boundMs: number;
        readonly from: number;
        readonly isPoison: (name: string, record: string) => boolean;
      }
    | undefined;
  reservedAt(topicId: string, partition: number, offset: number): number | undefined;
}

/** A position: of a group, in a partition. */
export interface Line {
  readonly groupId: string;
  readonly topicId: string;
  readonly partition: number;
}

/** One call to a target, as the target saw it, and what the delivery was told. */
export interface TargetCall extends Line {
  /** The parked key's that it is of. */
  readonly lane?: string;
  readonly name: string;
  readonly epoch: number;
  readonly records: readonly { readonly offset: number; readonly record: string }[];
  /** Of one record that came back from the dead letters: how often. */
  readonly redrives?: number;
  readonly sentAt: number;
  readonly begin?: number;
  /** When the target was done with it. */
  readonly end?: number;
  /** It ends within the time that a call has. */
  readonly isInTime?: boolean;
  readonly told?: Delivered;
  readonly toldAt?: number;
}

export interface PositionChange extends Line {
  /** Of a parked key's position. */
  readonly lane?: string;
  readonly at: number;
  readonly before: Position | undefined;
  readonly after: Position | undefined;
}

export interface MarkChange extends Line {
  readonly lane: string;
  readonly at: number;
  readonly isThere: boolean;
}

export interface SubscriptionItem {
  readonly at: number;
  readonly before: Subscription | undefined;
  readonly after: Subscription | undefined;
}

export interface KeptLetter extends Line {
  readonly at: number;
  readonly offset: number;
  readonly attempts: number;
  readonly error: string;
}

/** What was done for a record. */
export interface Effect extends Line {
  readonly at: number;
  readonly offset: number;
  /** As the position, and those of parked keys, were just before. */
  readonly position: Position | undefined;
  readonly lanes: ReadonlyMap<string, Position>;
}

/** What is known of a dead letter's way back. */
export interface LetterState {
  readonly redrives: number;
  readonly isMarked: boolean;
}

export interface LetterChange extends Line {
  readonly at: number;
  readonly offset: number;
  readonly before: LetterState | undefined;
  readonly after: LetterState | undefined;
}

/** A promise that was broken, and by what. */
export interface PushViolation {
  readonly kind:
    | 'record skipped'
    | 'passed before it was stored'
    | 'dead letter not kept'
    | 'dead letter not told'
    | 'dead letter without its attempts'
    | 'too many dead letters'
    | 'position went back'
    | 'epoch went back'
    | 'one epoch, two owners'
    | 'changed by nobody'
    | 'taken too early'
    | 'called without owning'
    | 'wrong records'
    | 'more than the span'
    | 'tried too early'
    | 'two calls at once'
    | 'begun late'
    | 'late'
    | 'redriven letter lost'
    | 'landed without a failure'
    | 'redrives stopped for nothing'
    | 'redriven out of order'
    | 'redriven to another'
    | 'effect twice'
    | 'effect of one who was given up'
    | 'effect missing'
    | 'key out of order'
    | 'lane ahead of its partition'
    | 'key lost'
    | 'key and lane apart'
    | 'given up too early'
    | 'unexpected error'
    | 'no end';
  readonly what: string;
}

export const lineOf = ({ groupId, topicId, partition }: Line) => `${groupId} ${topicId}.${partition}`;

/** Of a position, or of a parked key's. */
export const laneLineOf = (one: Line & { readonly lane?: string }) =>
  `${lineOf(one)}${one.lane === undefined ? '' : `#${one.lane}`}`;
