import type { Delivered, DeliveryError } from './delivery.ts';
import { SLOW_CALL_MS } from './limits.ts';
import type { Failure, Position, PushState } from './position.ts';
import type { OnFailure, SubscriptionSettings } from './subscription.ts';

/** One call to a target. */
export interface Call {
  /** Offsets of the records it carried, ascending; at least one. */
  readonly offsets: readonly number[];
  /** Every offset before it was read: what lies behind the last record was filtered out. */
  readonly next: number;
  /** There is, or may be, more behind it. */
  readonly hasMore: boolean;
  readonly tookMs: number;
}

/**
 * What follows from a call; `committed`: everything before it is settled.
 *
 * - `went`: go on; `hasMore`: at once.
 * - `retry`: go on from there, at the failure's `retryAt`.
 * - `dead`: the record at `committed` has to be kept as a dead letter, or its key to be parked.
 * - `stop`: nothing more is to be sent until somebody has looked.
 */
export type Outcome =
  | { readonly kind: 'went'; readonly committed: number; readonly push: PushState; readonly hasMore: boolean }
  | { readonly kind: 'retry'; readonly committed: number; readonly push: PushState }
  | { readonly kind: 'dead'; readonly committed: number; readonly push: PushState; readonly letter: Letter }
  | { readonly kind: 'stop'; readonly committed: number; readonly push: PushState; readonly stop: Stop };

/** Why a record is kept as a dead letter. */
export interface Letter {
  readonly error: DeliveryError;
  readonly attempts: number;
  readonly firstFailedAt: number;
  /** Says nothing about the target: its like do not halt the subscription. */
  readonly isRecordsOwnFault: boolean;
}

export interface Stop {
  readonly state: 'paused' | 'halted';
  readonly reason: string;
  readonly error: DeliveryError;
}

/** `insist`: a record that has used its attempts is tried on, for ever. */
export type Policy = Pick<SubscriptionSettings, 'retry' | 'haltAfterDeadLetters'> & {
  readonly onFailure: OnFailure | 'insist';
};

const TOO_LARGE: DeliveryError = { name: 'target_too_large', message: 'the record is too large for its target' };

/**
 * What is remembered of how it went at `committed`. Whoever was called may have moved the position itself, as `processOnce` does, and
 * nobody have come to write of it: a failure of what lies before is none.
 */
export function pushOf({ committed, push = {} }: Pick<Position, 'committed' | 'push'>): PushState {
  return push.failure !== undefined && push.failure.end <= committed ? withoutFailure(push) : push;
}

/** How many records the next call may carry, and the offset that it must not reach; absent: as many as there are. */
export function limitsOf({ failure }: PushState): { readonly records?: number; readonly end?: number } {
  return failure === undefined ? {} : { records: failure.span, end: failure.end };
}

/**
 * What follows from what a target said. Order is kept: nothing behind a record that failed is sent before that one is
 * settled. A batch that failed without naming one is halved until it stands alone; only then do its attempts count.
 *
 * @param chance 0 ≤ n < 1
 */
export function judgeCall(
  push: PushState,
  call: Call,
  delivered: Delivered,
  policy: Policy,
  now: number,
  chance: number,
): Outcome {
  const { offsets } = call;
  if (delivered.kind === 'done') return went(push, call, call.next, call.hasMore);
  if (delivered.kind === 'part') return went(push, call, delivered.next, true);
  const first = offsets[0]!;
  const named = 'at' in delivered ? delivered.at : undefined;
  const committed = named ?? first;
  // What is known of a failure is known of the record at the position, which this call has passed or not.
  const before = committed === first ? push.failure : undefined;
  const failure: Failure = {
    retryAt: now,
    attempts: before?.attempts ?? 0,
    absences: before?.absences ?? 0,
    span: before?.span ?? offsets.length,
    end: before?.end ?? offsets.at(-1)! + 1,
    firstFailedAt: before?.firstFailedAt ?? now,
  };
  const rest = committed === first ? push : withoutRow(push);
  if (delivered.kind === 'too_large') {
    const letter = { error: TOO_LARGE, attempts: failure.attempts, firstFailedAt: now, isRecordsOwnFault: true };
    return { kind: 'dead', committed, push: withoutFailure(rest), letter };
  }
  const { error } = delivered;
  const failed = { ...rest, isSlow: true, lastError: { ...error, at: now } };
  if (delivered.kind === 'cannot' || delivered.kind === 'gone') {
    const state = delivered.kind === 'gone' ? 'paused' : 'halted';
    const reason = delivered.kind === 'gone' ? 'the target wants no more' : 'the target cannot be delivered to';
    return { kind: 'stop', committed, push: { ...failed, failure }, stop: { state, reason, error } };
  }
  const retryIn = (failure: Failure, tries: number, ms = backoffMs(policy.retry, tries, chance)): Outcome => {
    return { kind: 'retry', committed, push: { ...failed, failure: { ...failure, retryAt: now + ms } } };
  };
  if (delivered.kind === 'away') {
    const absences = failure.absences + 1;
    // Who asks for no time, or for one that is over, is not called in a row.
    const ms = Math.max(delivered.retryAfterMs ?? 0, backoffMs(policy.retry, absences, chance));
    return retryIn({ ...failure, absences }, absences, ms);
  }
  if (named === undefined && offsets.length > 1) {
    const halved = { ...failure, absences: 0, span: Math.ceil(offsets.length / 2), end: offsets.at(-1)! + 1 };
    return retryIn(halved, 1);
  }
  const alone = { ...failure, attempts: failure.attempts + 1, absences: 0, span: 1, end: committed + 1 };
  if (alone.attempts < policy.retry.maxAttempts) return retryIn(alone, alone.attempts);
  if (policy.onFailure === 'insist') return retryIn(alone, alone.attempts, insistentWaitMs(policy.retry, chance));
  if (policy.onFailure === 'halt') {
    const reason = `a record failed ${alone.attempts} times`;
    const push = withoutAttempts({ ...failed, failure: alone });
    return { kind: 'stop', committed, push, stop: { state: 'halted', reason, error } };
  }
  const { attempts, firstFailedAt } = alone;
  const letter = { error, attempts, firstFailedAt, isRecordsOwnFault: false };
  // Should it not be kept, it is sent once more, and alone: it is not settled.
  return { kind: 'dead', committed, push: { ...failed, failure: { ...alone, attempts: attempts - 1 } }, letter };
}

/** What follows once a record is kept as a dead letter. @param committed the offset behind it */
export function afterDeadLetter(
  { failure, ...rest }: PushState,
  committed: number,
  letter: Letter,
  { haltAfterDeadLetters }: Policy,
) {
  const push = { ...rest, ...rangeAfter(failure, committed) };
  if (letter.isRecordsOwnFault) return { push };
  const inARow = (push.deadLettersInARow ?? 0) + 1;
  if (inARow < haltAfterDeadLetters) return { push: { ...push, deadLettersInARow: inARow } };
  const reason = `${inARow} dead letters in a row on one partition`;
  return { push: withoutRow(push), stop: { state: 'halted', reason, error: letter.error } satisfies Stop };
}

/** What follows once the key of the record that failed is parked. @param committed the offset behind it */
export function afterParking({ failure, ...rest }: PushState, committed: number, lane: string): PushState {
  const passed = new Map(rest.passed).set(lane, 1);
  return { ...rest, passed, ...rangeAfter(failure, committed) };
}

/** Who resumes what was stopped has mended something: the record's attempts count from the start. */
export function withoutAttempts({ failure, ...push }: PushState): PushState {
  return failure === undefined ? push : { ...push, failure: { ...failure, attempts: 0 } };
}

/**
 * What follows when retention has overtaken what was committed.
 * @param logStart the offset from which on there is something @param count of offsets that are lost by it
 */
export function afterExpiry({ failure, ...rest }: PushState, logStart: number, count: number): PushState {
  return { ...rest, expired: (rest.expired ?? 0) + count, ...rangeAfter(failure, logStart) };
}

/** What follows when the target itself has moved the position, though its call failed. @param committed where it is now */
export function afterMove({ failure, ...rest }: PushState, committed: number): PushState {
  return { ...withoutRow(rest), ...rangeAfter(failure, committed) };
}

/** A range that failed is known until all of it is passed; the attempts were those of a record that is passed. */
function rangeAfter(failure: Failure | undefined, committed: number): { readonly failure?: Failure } {
  if (failure === undefined || committed >= failure.end) return {};
  return { failure: { ...failure, attempts: 0, absences: 0 } };
}

function went(push: PushState, call: Call, committed: number, hasMore: boolean): Outcome {
  const { failure, redrivesFailed, expired, passed, settled, lastError } = push;
  const isSlow = call.tookMs >= SLOW_CALL_MS;
  return {
    kind: 'went',
    committed,
    push: {
      ...rangeAfter(failure, committed),
      ...(redrivesFailed !== undefined && { redrivesFailed }),
      ...(isSlow && { isSlow }),
      ...(expired !== undefined && { expired }),
      ...(passed && { passed }),
      ...(settled !== undefined && { settled }),
      ...(lastError && { lastError }),
    },
    hasMore: hasMore || (failure !== undefined && committed >= failure.end),
  };
}

/** Exponential, with full jitter. Source: AWS Architecture Blog, "Exponential Backoff And Jitter". */
function backoffMs({ minBackoffMs, maxBackoffMs }: Policy['retry'], tries: number, chance: number): number {
  return Math.ceil(chance * Math.min(maxBackoffMs, minBackoffMs * 2 ** Math.min(tries - 1, 40)));
}

/**
 * From one try to the next of a record that is never passed by itself: nine tenths of the longest wait, give or take one, so that
 * keys that failed together do not come back in one moment, for ever. @param chance 0 ≤ n < 1
 */
export function insistentWaitMs({ maxBackoffMs }: Policy['retry'], chance: number): number {
  return Math.ceil(maxBackoffMs * (1 - chance / 5));
}

function withoutFailure({ failure: _, ...push }: PushState): PushState {
  return push;
}

function withoutRow({ deadLettersInARow: _, ...push }: PushState): PushState {
  return push;
}
