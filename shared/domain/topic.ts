import { RETENTION_FOREVER } from './limits.ts';
import type { MaxLag, Quota } from './quota.ts';

/** One incarnation of a topic. A topic that was deleted and made again has another id and shares nothing with it. */
export interface Topic {
  readonly name: string;
  /** ULID of this incarnation. */
  readonly id: string;
  /** Partitions 0 to `partitions` − 1. Grows, never shrinks. */
  readonly partitions: number;
  /** ms, or −1: for ever. */
  readonly retentionMs: number;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Epoch ms: what was appended up to here stays hidden though the retention was lengthened since. 0: nothing. */
  readonly hiddenUntil: number;
  /** Partitions for which there may be heads, where these are more: it is growing, or a growth was broken off. */
  readonly growingTo?: number;
  /** Somebody subscribes to it: what is appended has to be told. */
  readonly subscribed?: true;
  /** How much may be appended; absent: as much as comes. */
  readonly quota?: Quota;
  /** For whom appends wait; absent: for nobody. */
  readonly maxLag?: MaxLag;
}

/** What an append has to know of its topic. */
export type AppendTopic = Pick<Topic, 'id' | 'name' | 'retentionMs'>;

/** An incarnation without a topic: one that is being made, or whose heads and data are to be removed. */
export interface Leftover {
  readonly name: string;
  readonly id: string;
  /** Partitions for which there may be heads. */
  readonly partitions: number;
  /** Epoch ms: when it was announced, or deleted. */
  readonly at: number;
  /** `announced`: its maker may still be at work; `abandoned`: nobody ever knew it. */
  readonly state: 'announced' | 'abandoned' | 'deleted';
  /** Epoch ms at which every head had been closed; absent: nobody has seen to that yet. */
  readonly closedAt?: number;
}

/** Partitions for which there may be heads. */
export function headsOf(topic: Pick<Topic, 'partitions' | 'growingTo'>): number {
  return Math.max(topic.partitions, topic.growingTo ?? 0);
}

/** A deleted incarnation whose data is still being removed. */
export interface DeletedTopic {
  readonly name: string;
  readonly id: string;
  readonly partitions: number;
  /** Epoch ms. */
  readonly deletedAt: number;
}

/** One partition's log: the key of everything stored for it. */
export interface PartitionId {
  readonly topicId: string;
  readonly partition: number;
}

/** When a reservation made at `time` (epoch ms) expires: whole epoch seconds, or 0: never. */
export function expiryOf(retentionMs: number, time: number): number {
  return retentionMs === RETENTION_FOREVER ? 0 : Math.ceil((time + retentionMs) / 1_000);
}

/**
 * Whether what was reserved at `time` with `expiresAt` is gone at `now`: by the expiry it was given, by the present
 * retention, or by an earlier one that hid it.
 */
export function isExpired(
  topic: Pick<Topic, 'retentionMs' | 'hiddenUntil'>,
  what: { readonly time: number; readonly expiresAt: number },
  now: number,
): boolean {
  if (what.expiresAt !== 0 && what.expiresAt * 1_000 <= now) return true;
  if (what.time <= topic.hiddenUntil) return true;
  return topic.retentionMs !== RETENTION_FOREVER && what.time + topic.retentionMs <= now;
}

/** A page of a list, and where the next one begins. */
export interface Page<T> {
  readonly items: readonly T[];
  /** The last item's own sort value, to be handed back; absent on the last page. */
  readonly next?: string;
}

/** A page without what somebody may not see: it may be short, or empty, and yet not be the last. */
export function seenIn<T>(page: Page<T>, isSeen: (item: T) => boolean): Page<T> {
  return { ...page, items: page.items.filter(isSeen) };
}
