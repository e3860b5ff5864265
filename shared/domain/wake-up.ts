import type { GroupId } from './group.ts';
import type { PartitionId } from './topic.ts';

/** A subscription of one topic's incarnation, as those know it that wake it. */
export interface Subscriber {
  readonly group: GroupId;
  /** Name of the topic. */
  readonly topic: string;
  /** Partitions that the topic had when it was subscribed to: those added since start at their first record (G5). */
  readonly known: number;
}

/** A hint that there may be something to deliver. It may get lost, doubled, or late: nothing rests on it. */
export interface WakeUp extends PartitionId {
  /** Offset of a record that is there: who is past it need not look. Absent: look in any case. */
  readonly last?: number;
  /** Whom to wake; absent: everybody who subscribed to the topic. */
  readonly to?: Subscriber;
  /** Dead letters of the partition are to be given back. */
  readonly isRedrive?: boolean;
  /** A parked key of the partition: its lane alone is to be served. */
  readonly lane?: string;
  /** Times that a delivery has sent it on. */
  readonly hop: number;
  /** The position's, when it was sent on because somebody was at it, or it had failed. With another one that is over. */
  readonly epoch?: number;
}

/** A wake-up on its way to where those are served that may take long. */
export interface AsideEvent {
  readonly aside: WakeUp;
}

/** As it is sent on: it looks in any case, for it stands for one that would be dropped otherwise. */
export function sentOn({ last: _, epoch: __, ...wakeUp }: WakeUp): WakeUp {
  return { ...wakeUp, hop: wakeUp.hop + 1 };
}

/** A position of a subscription to be looked at, whatever becomes of its wake-ups, until there is nothing to do. */
export interface Pending extends PartitionId {
  readonly to: Subscriber;
  /** Epoch ms from which on there is something to do. */
  readonly dueAt: number;
  /** Dead letters of the partition are to be given back: a mark of its own, beside one for what is behind. */
  readonly isRedrive?: boolean;
  /** The mark of a parked key, there for as long as the key is parked, and due from the start. */
  readonly lane?: string;
}

/** The mark of a parked key: `dueAt` is when it was parked. */
export type LaneMark = Pending & { readonly lane: string };
