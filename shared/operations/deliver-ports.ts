import type { DeadLetter, DeadLetterId, OpenedLetter, Redrive } from '../domain/dead-letter.ts';
import type { DeliveryRecord, Target } from '../domain/delivery.ts';
import type { GroupId } from '../domain/group.ts';
import type { Lane, LaneId } from '../domain/lane.ts';
import type { Position, PositionId, PushState } from '../domain/position.ts';
import type { Subscription, SubscriptionChange } from '../domain/subscription.ts';
import type { PartitionId } from '../domain/topic.ts';
import type { Pending, Subscriber, WakeUp } from '../domain/wake-up.ts';
import type { GroupPorts } from './group-ports.ts';
import type { KeepPorts } from './keep-dead-letter.ts';
import type { LetterObjects } from './letter-payload.ts';
import type { LinkingSink } from './link-uploads.ts';
import type { ServedSubscribers } from './served-subscribers.ts';

/** How much one call carries. */
export interface CallRoom {
  readonly records: number;
  readonly bytes: number;
  /** Offset that is not to be reached; absent: none. */
  readonly end?: number;
  /** Lanes whose keys are passed over. */
  readonly parked?: ReadonlySet<string>;
  /** The lane whose keys alone are taken. */
  readonly lane?: string;
}

/** Takes the records of one partition for one call: those that a filter lets through. */
export interface DeliverySink extends LinkingSink {
  readonly records: readonly DeliveryRecord[];
  /** A record that cannot be read, where it comes first: nothing was taken. */
  readonly unreadable: { readonly offset: number; readonly reason: 'payload_missing' | 'payload_corrupt' } | undefined;
  /** The record at an offset of a slot that was taken, as dead letters keep it. */
  keep(offset: number): Uint8Array;
  /** What was passed over for its key is parked, by offset. */
  readonly passed: readonly { readonly offset: number; readonly lane: string }[];
  /** The lane of a record's key. */
  laneOf(key: Uint8Array): string;
  /** Since when, and until when the log keeps a record that was taken: epoch ms; `until` absent: for ever. */
  life(offset: number): { readonly since: number; readonly until?: number };
}

export interface WakePorts {
  readonly subscribers: {
    /** Strongly consistent. */
    of(topicId: string): Promise<readonly Subscriber[]>;
  };
  readonly wakeQueue: {
    wake(wakeUps: readonly WakeUp[], delayMs?: number): Promise<void>;
  };
}

/** All that deliveries need. Writes throw `WriteFailed`, reads `Throttled` or `Unavailable`. */
export interface DeliverPorts extends GroupPorts, KeepPorts, WakePorts {
  readonly deadLetters: KeepPorts['deadLetters'] & {
    /** Strongly consistent. */
    read(group: GroupId, id: DeadLetterId): Promise<DeadLetter | undefined>;
  };
  readonly deadLetterObjects: KeepPorts['deadLetterObjects'] & LetterObjects;
  /** Dead letters that are to be given back. */
  readonly redrives: {
    /** Of a partition, by offset; strongly consistent. */
    first(group: GroupId, partition: PartitionId): Promise<Redrive | undefined>;
    list(group: GroupId, limit: number, of: PartitionId): Promise<readonly Redrive[]>;
    postpone(group: GroupId, letter: DeadLetterId, at: number): Promise<void>;
    /** Its letter lies as before. */
    recall(group: GroupId, letter: DeadLetterId): Promise<void>;
    /** Removes the letter; its objects, if it has some, stay. @returns false: it is gone, or marked anew */
    end(group: GroupId, letter: DeadLetterId, seen: { readonly redriveAt?: number }): Promise<boolean>;
    /** It failed, and stands as given. @returns false: as of `end` */
    land(group: GroupId, letter: DeadLetter, seen: { readonly redriveAt?: number }): Promise<boolean>;
  };
  /** The record that a dead letter keeps, or why there is none. */
  openLetter(bytes: Uint8Array, offset: number): OpenedLetter | string;
  readonly subscriptions: {
    /** Strongly consistent. */
    read(name: string): Promise<Subscription | undefined>;
    /** @returns undefined: it is no longer as seen */
    change(seen: Subscription, to: SubscriptionChange): Promise<Subscription | undefined>;
  };
  readonly pushPositions: {
    /** @returns false: it is no longer as seen, or is owned */
    take(
      position: PositionId,
      seen: Pick<Position, 'epoch' | 'committed'>,
      by: { readonly owner: string; readonly epoch: number; readonly until: number; readonly now: number },
    ): Promise<boolean>;
    /**
     * @param to `until` absent: it is released
     * @returns false: it is no longer this run's; how far it is: whoever was called has moved it itself, and nothing was written
     */
    step(
      position: PositionId,
      by: { readonly owner: string; readonly epoch: number },
      to: { readonly committed: number; readonly epoch: number; readonly until?: number; readonly push: PushState },
    ): Promise<boolean | { readonly committed: number }>;
  };
  /** Of parked keys: each is made, and removed, in one write with what its partition's position passes over. */
  readonly lanes: {
    /** As some replica has them. */
    list(position: PositionId): Promise<readonly (Lane & { readonly lane: string })[]>;
    /** @returns false: the position is no longer its owner's, and nothing was written */
    park(
      to: Subscriber,
      id: LaneId,
      by: { readonly owner: string; readonly epoch: number },
      step: { readonly committed: number; readonly epoch: number; readonly until: number; readonly push: PushState },
      lane: Lane,
    ): Promise<boolean>;
    /** @returns false: position or lane is no longer its owner's, and nothing was written */
    handBack(
      id: LaneId,
      by: { readonly owner: string; readonly epoch: number },
      step: { readonly committed: number; readonly epoch: number; readonly until: number; readonly push: PushState },
      lane: { readonly owner: string; readonly epoch: number },
    ): Promise<boolean>;
    /** @returns false: it is not at this offset any more */
    giveUp(id: LaneId, offset: number): Promise<boolean>;
    /** Unless the key was parked anew. */
    remove(id: LaneId, parkedAt: number): Promise<void>;
  };
  readonly pending: {
    put(pending: Pending): Promise<void>;
  };
  readonly served: ServedSubscribers;
  /** How its target is called. */
  callOf(subscription: Subscription): Target['send'];
  openCall(room: CallRoom, subscription: Subscription): DeliverySink;
  /**
   * Hands a wake-up on to where those are served that may take long, so that they hold up none that are quick. Absent:
   * this is there.
   */
  readonly aside?: (wakeUp: WakeUp) => Promise<void>;
  /** A new ULID each time: of one run. */
  newRunId(): string;
}
