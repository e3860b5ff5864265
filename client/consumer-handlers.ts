import type { TopicPartitionOffset } from './consumer-errors.ts';
import type { HeldPartition } from './consumer-partition.ts';
import { InvalidOptions } from './errors.ts';
import type { ReceivedMessage } from './messages.ts';

/** What every handler gets beside its messages. */
export interface HandlerTools {
  /**
   * Aborted when the partition went to another member, when the handler is given up, or when a stop will not wait any
   * longer: what is done from then on may be done by others too.
   */
  readonly signal: AbortSignal;
  /**
   * A sign of life: `processingTimeoutMs` begins anew. The session itself is kept without it.
   * @throws {PartitionLost}
   */
  heartbeat(): Promise<void>;
  /** Fetches no more of this partition; what the handler did not get comes again later. @returns what resumes it */
  pause(): () => void;
}

export interface EachMessagePayload<T> extends HandlerTools {
  readonly topic: string;
  readonly partition: number;
  readonly message: ReceivedMessage<T>;
}

/** Messages of one partition, in order; never empty. */
export interface Batch<T> {
  readonly topic: string;
  readonly partition: number;
  readonly messages: readonly ReceivedMessage<T>[];
  firstOffset(): number;
  lastOffset(): number;
}

export interface EachBatchPayload<T> extends HandlerTools {
  readonly batch: Batch<T>;
  /** Everything up to this message's offset is processed. @throws {InvalidOptions} for what is no offset, as '7' */
  resolveOffset(offset: number): void;
  /** Commits what is processed if `autoCommitIntervalMs` has passed since the last commit. */
  commitOffsetsIfNecessary(): Promise<void>;
  /** What is processed and not committed. */
  uncommittedOffsets(): readonly TopicPartitionOffset[];
  /** False once the consumer stops: resolve what is done, and return. */
  isRunning(): boolean;
  /** Whether what is in hand is no longer to be processed: the partition was lost, revoked, paused, or a `seek` went elsewhere. */
  isStale(): boolean;
}

export interface RunOptions<T> {
  readonly eachMessage?: (payload: EachMessagePayload<T>) => void | Promise<void>;
  readonly eachBatch?: (payload: EachBatchPayload<T>) => void | Promise<void>;
  /** Whether a batch whose handler returns is processed as a whole. Default: true; else `resolveOffset` alone counts. */
  readonly eachBatchAutoResolve?: boolean;
  /** Partitions that are handled at the same time. Default: 1. */
  readonly partitionsConsumedConcurrently?: number;
  /** Aborted: as `stop`, but handlers in hand are not waited for. */
  readonly signal?: AbortSignal;
}

export const RUN_OPTIONS: readonly (keyof RunOptions<unknown>)[] = [
  'eachMessage',
  'eachBatch',
  'eachBatchAutoResolve',
  'partitionsConsumedConcurrently',
  'signal',
];

/** What handlers may ask of the consumer that calls them. */
export interface HandlerHost {
  isRunning(): boolean;
  isPaused(held: HeldPartition): boolean;
  pause(held: HeldPartition): () => void;
  commitIfDue(): Promise<void>;
  uncommitted(): readonly TopicPartitionOffset[];
}

/** The call of a user's handler with some messages of a partition, the first of its queue. */
export type HandlerCall<T> = (
  held: HeldPartition,
  messages: readonly ReceivedMessage<T>[],
  now: () => number,
  progress?: HandlerProgress,
) => Promise<void>;

/** What has been processed: a partition's offset, unless it is something else. */
export interface HandlerProgress {
  readonly processed: number;
  /** Everything below `offset` is processed. */
  resolve(offset: number): void;
}

/** @returns how the handler is called, and whether it takes more than one message at a time */
export function handlerCallOf<T>(
  options: RunOptions<T>,
  host: HandlerHost,
): { call: HandlerCall<T>; batched: boolean } {
  const { eachMessage, eachBatch, eachBatchAutoResolve = true } = options;
  if (eachBatch === undefined) {
    return {
      batched: false,
      async call(held, [message], now, progress = held) {
        const { jumps } = held;
        await eachMessage!(
          withTools(held, host, now, { topic: held.topic, partition: held.partition, message: message! }),
        );
        if (!held.lost && held.jumps === jumps) progress.resolve(message!.offset + 1);
      },
    };
  }
  return {
    batched: true,
    async call(held, messages, now, progress = held) {
      const { jumps } = held;
      const isCurrent = () => !held.lost && held.jumps === jumps;
      const end = messages.at(-1)!.offset + 1;
      const own: Omit<EachBatchPayload<T>, keyof HandlerTools> = {
        batch: batchOf(held, messages),
        resolveOffset: (offset) => {
          if (!Number.isSafeInteger(offset)) {
            throw new InvalidOptions(`'offset' must be that of a message, not ${JSON.stringify(offset)}`);
          }
          if (isCurrent() && offset + 1 > progress.processed) progress.resolve(Math.min(offset + 1, end));
        },
        commitOffsetsIfNecessary: () => host.commitIfDue(),
        uncommittedOffsets: () => host.uncommitted(),
        isRunning: () => host.isRunning(),
        isStale: () => !isCurrent() || held.revoked || host.isPaused(held),
      };
      await eachBatch(withTools(held, host, now, own));
      if (eachBatchAutoResolve && isCurrent()) progress.resolve(end);
    },
  };
}

function withTools<P extends object>(
  held: HeldPartition,
  host: HandlerHost,
  now: () => number,
  own: P,
): P & HandlerTools {
  const tools: HandlerTools = {
    get signal() {
      return held.handlerSignal; // made only for those who look at it
    },
    async heartbeat() {
      held.signal.throwIfAborted();
      held.busySince = now();
    },
    pause: () => host.pause(held),
  };
  return Object.assign(tools, own);
}

function batchOf<T>({ topic, partition }: HeldPartition, messages: readonly ReceivedMessage<T>[]): Batch<T> {
  return {
    topic,
    partition,
    messages,
    firstOffset: () => messages[0]!.offset,
    lastOffset: () => messages.at(-1)!.offset,
  };
}
