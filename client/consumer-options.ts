import { FETCH_BYTES_MAX, FETCH_RECORDS_MAX, FETCH_WAIT_MS_MAX, NAME_CHARS_MAX } from '../shared/domain/limits.ts';
import { type Decoder, json } from './codec.ts';
import type { TopicPartition } from './consumer-errors.ts';
import * as limits from './consumer-limits.ts';
import { InvalidOptions } from './errors.ts';
import { TIMER_MS_MAX } from './limits.ts';
import { integer, known, name, oneOf } from './option-checks.ts';
import { policyOf, type RetryPolicy } from './retry.ts';

/**
 * When offsets are committed. `afterProcessing`: at least once, a record may come again after a crash.
 * `beforeProcessing`: at most once, a commit before each call of the handler, which is never repeated; what it had in
 * hand when it failed or the process died is not seen again, nor is it a dead letter: `record.dropped` tells. `manual`: by `commitOffsets` alone.
 */
export type CommitMode = 'afterProcessing' | 'beforeProcessing' | 'manual';

export interface HandlerRetry {
  /** Calls of the handler in all before `onFailure` decides. */
  readonly maxAttempts: number;
  /** Upper end of the first pause; doubles with each. */
  readonly minBackoffMs: number;
  readonly maxBackoffMs: number;
}

export interface ConsumerOptions<T = unknown> {
  readonly groupId: string;
  /** Makes a static member: a restart within the session gets the same partitions, and nobody else moves. */
  readonly instanceId?: string;
  /** Default: JSON. */
  readonly codec?: Decoder<T>;
  /** A member that is not heard of for so long loses its partitions. */
  readonly sessionTimeoutMs?: number;
  /** Of one poll, over all partitions. */
  readonly maxRecords?: number;
  /** Of one poll's answer. */
  readonly maxBytes?: number;
  readonly commit?: CommitMode;
  /** How long processed offsets wait for a commit at most. They also ride on each poll. */
  readonly autoCommitIntervalMs?: number;
  /** Where the group begins in a partition that it never had. An offset once committed is never replaced by it. */
  readonly autoOffsetReset?: 'earliest' | 'latest' | 'none';
  /** When retention was faster than the group: stand still (default), or jump; either way `offset.out_of_range` tells. */
  readonly onOutOfRange?: 'stay' | 'earliest' | 'latest';
  /**
   * Pauses between two looks at a partition that bring nothing grow from one to the other. After data there is none. A
   * poll looks at 32 partitions: who holds more makes more of them.
   */
  readonly minPollMs?: number;
  readonly maxPollMs?: number;
  /**
   * Lets the backbone hold a poll that has nothing to bring, up to 20 s. Records come at once, and the function that
   * holds it costs Lambda time all the while: about as much as if it worked. 0 (default): never.
   */
  readonly longPollMs?: number;
  /** A handler that neither ends nor calls `heartbeat` for so long is given up, and the consumer leaves the group. */
  readonly processingTimeoutMs?: number;
  readonly handlerRetry?: Partial<HandlerRetry>;
  readonly onFailure?: 'deadLetter' | 'halt';
  /** Dead letters in a row on one partition after which the consumer stops instead: an outage. 0: never. */
  readonly haltAfterDeadLetters?: number;
  /** How calls of the backbone are repeated; `withinMs`: how long it may be away before the consumer gives up. */
  readonly retry?: Partial<RetryPolicy>;
  /** Before partitions are released: whatever is in hand has ended, the commit follows. */
  readonly onRevoked?: (partitions: readonly TopicPartition[]) => void | Promise<void>;
}

/** What `consumer` goes by: nothing is left open. */
export type Settings<T> = Required<Omit<ConsumerOptions<T>, 'instanceId' | 'onRevoked' | 'handlerRetry' | 'retry'>> &
  Pick<ConsumerOptions<T>, 'instanceId' | 'onRevoked'> & {
    readonly handlerRetry: HandlerRetry;
    readonly retry: RetryPolicy;
  };

/** @throws {InvalidOptions} naming the option that is unknown or cannot be meant */
export function settingsOf<T>(options: ConsumerOptions<T>, retry: RetryPolicy): Settings<T> {
  if (typeof options !== 'object' || options === null) throw new InvalidOptions('A consumer has options');
  const byDefault: Omit<Settings<T>, 'groupId' | 'handlerRetry' | 'retry'> = {
    codec: json<T>(),
    sessionTimeoutMs: limits.SESSION_TIMEOUT_MS_DEFAULT,
    maxRecords: limits.MAX_RECORDS_DEFAULT,
    maxBytes: limits.MAX_BYTES_DEFAULT,
    commit: 'afterProcessing',
    autoCommitIntervalMs: limits.AUTO_COMMIT_INTERVAL_MS_DEFAULT,
    autoOffsetReset: 'earliest',
    onOutOfRange: 'stay',
    minPollMs: limits.MIN_POLL_MS_DEFAULT,
    maxPollMs: Math.max(limits.MAX_POLL_MS_DEFAULT, options.minPollMs ?? 0),
    longPollMs: 0,
    processingTimeoutMs: limits.PROCESSING_TIMEOUT_MS_DEFAULT,
    onFailure: 'deadLetter',
    haltAfterDeadLetters: limits.HALT_AFTER_DEAD_LETTERS_DEFAULT,
  };
  known('A consumer', options, [...Object.keys(byDefault), ...WITHOUT_DEFAULT]);
  known("'handlerRetry'", options.handlerRetry, ['maxAttempts', 'minBackoffMs', 'maxBackoffMs']);
  const settings: Settings<T> = {
    ...{ ...byDefault, ...defined(options) },
    handlerRetry: {
      maxAttempts: limits.HANDLER_ATTEMPTS_DEFAULT,
      minBackoffMs: limits.HANDLER_MIN_BACKOFF_MS_DEFAULT,
      maxBackoffMs: limits.HANDLER_MAX_BACKOFF_MS_DEFAULT,
      ...defined(options.handlerRetry ?? {}),
    },
    retry: policyOf({ withinMs: limits.RECONNECT_WITHIN_MS_DEFAULT, ...defined(options.retry ?? {}) }, retry),
  };
  check(settings);
  return settings;
}

/** Options that stand for nothing when they are absent, and those that are looked at one by one. */
const WITHOUT_DEFAULT = ['groupId', 'instanceId', 'onRevoked', 'handlerRetry', 'retry'];

function check<T>(settings: Settings<T>): void {
  name('groupId', settings.groupId, /^(?!\.{1,2}$)[A-Za-z0-9._-]+$/, NAME_CHARS_MAX);
  if (settings.instanceId !== undefined) name('instanceId', settings.instanceId, /./, limits.INSTANCE_ID_CHARS_MAX);
  // Each record would fail in it, and become a dead letter.
  if (typeof settings.codec?.decode !== 'function') {
    throw new InvalidOptions("'codec' must be a codec, such as json() or bytes()");
  }
  if (settings.onRevoked !== undefined && typeof settings.onRevoked !== 'function') {
    throw new InvalidOptions("'onRevoked' must be a function");
  }
  integer('sessionTimeoutMs', settings.sessionTimeoutMs, limits.SESSION_TIMEOUT_MS_MIN, limits.SESSION_TIMEOUT_MS_MAX);
  integer('maxRecords', settings.maxRecords, 1, FETCH_RECORDS_MAX);
  integer('maxBytes', settings.maxBytes, 1, FETCH_BYTES_MAX);
  integer('longPollMs', settings.longPollMs, 0, FETCH_WAIT_MS_MAX);
  integer('minPollMs', settings.minPollMs, 1, settings.maxPollMs);
  integer('maxPollMs', settings.maxPollMs, settings.minPollMs, limits.SESSION_TIMEOUT_MS_MAX);
  integer('autoCommitIntervalMs', settings.autoCommitIntervalMs, 0, Number.MAX_SAFE_INTEGER);
  integer('processingTimeoutMs', settings.processingTimeoutMs, 1, TIMER_MS_MAX);
  integer('haltAfterDeadLetters', settings.haltAfterDeadLetters, 0, Number.MAX_SAFE_INTEGER);
  integer('handlerRetry.maxAttempts', settings.handlerRetry.maxAttempts, 1, Number.MAX_SAFE_INTEGER);
  integer('handlerRetry.maxBackoffMs', settings.handlerRetry.maxBackoffMs, 0, Number.MAX_SAFE_INTEGER);
  integer('handlerRetry.minBackoffMs', settings.handlerRetry.minBackoffMs, 0, settings.handlerRetry.maxBackoffMs);
  oneOf('commit', settings.commit, ['afterProcessing', 'beforeProcessing', 'manual']);
  oneOf('autoOffsetReset', settings.autoOffsetReset, ['earliest', 'latest', 'none']);
  oneOf('onOutOfRange', settings.onOutOfRange, ['stay', 'earliest', 'latest']);
  oneOf('onFailure', settings.onFailure, ['deadLetter', 'halt']);
}

/** What is undefined is as if it were not there. */
function defined<O extends object>(options: O): O {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as O;
}
