import type { TopicPartition, TopicPartitionOffset } from './consumer-errors.ts';

/** What a consumer tells while it runs. */
export interface ConsumerEvents {
  /** A member now, for the first time or again. `assigned`: what it holds from the start. */
  'group.join': { readonly groupId: string; readonly memberId: string; readonly assigned: readonly TopicPartition[] };
  /** Partitions came; are wanted back and will be released; went to others without that. */
  rebalance: {
    readonly assigned: readonly TopicPartitionOffset[];
    readonly revoked: readonly TopicPartition[];
    readonly lost: readonly TopicPartition[];
  };
  /** A poll was answered. */
  fetch: { readonly records: number; readonly bytes: number; readonly durationMs: number };
  heartbeat: { readonly durationMs: number };
  /** Committed, each offset the next one to read. */
  commit: { readonly offsets: readonly TopicPartitionOffset[] };
  /** Not committed: the backbone refused it for good. */
  'commit.refused': TopicPartitionOffset & { readonly error: Error };
  /** A handler failed; it gets the same record again after `pauseMs`. */
  retry: TopicPartitionOffset & { readonly attempts: number; readonly pauseMs: number; readonly error: unknown };
  'dead.letter': TopicPartitionOffset & { readonly id: string; readonly attempts: number; readonly error: unknown };
  /**
   * A record failed for good and is no dead letter: its offset was committed before, by `beforeProcessing`,
   * `commitOffsets`, or before a `seek` went back.
   */
  'record.dropped': TopicPartitionOffset & { readonly attempts: number; readonly error: unknown };
  /**
   * Retention was faster: `skipped` offsets from `position` on are gone (none: it lies behind the end). The partition stands still until a `seek`, a
   * reset of the group, or `onOutOfRange`.
   */
  'offset.out_of_range': TopicPartition & {
    readonly position: number;
    readonly logStartOffset: number;
    readonly skipped: number;
  };
  /** `onOutOfRange` moved a position. */
  'offset.reset': TopicPartition & { readonly from: number; readonly to: number; readonly skipped: number };
  /** Something is wrong with one topic or partition, the others go on. */
  'topic.error': { readonly topic: string; readonly partition?: number; readonly error: Error };
  /** The backbone could not be reached, or would not answer for now; it is asked again after `pauseMs`. */
  'connection.trouble': { readonly error: Error; readonly attempts: number; readonly pauseMs: number };
  'connection.restored': { readonly afterMs: number };
  /** The consumer cannot go on; `stop` follows. */
  crash: { readonly error: Error };
  stop: { readonly error: Error | undefined };
}

export type ConsumerEvent = keyof ConsumerEvents;
export type Listener<E extends ConsumerEvent> = (event: ConsumerEvents[E]) => void;

/** Tells listeners; what they throw harms nobody but goes to `onFailure`. */
export class Emitter {
  readonly #listeners = new Map<ConsumerEvent, Set<Listener<never>>>();
  readonly #onFailure: (event: ConsumerEvent, error: unknown) => void;

  constructor(onFailure: (event: ConsumerEvent, error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  /** @returns what takes the listener away again */
  on<E extends ConsumerEvent>(event: E, listener: Listener<E>): () => void {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  emit<E extends ConsumerEvent>(event: E, data: ConsumerEvents[E]): void {
    for (const listener of [...(this.#listeners.get(event) ?? [])]) {
      try {
        (listener as Listener<E>)(data);
      } catch (error) {
        this.#onFailure(event, error);
      }
    }
  }
}
