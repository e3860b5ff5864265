import type { BucketFacts, QueueFacts, TableFacts } from './deployed-facts.ts';
import type { Finding } from './finding.ts';
import { DELIVER_FUNCTION_TIMEOUT_MS, WAKE_TRIES_MAX } from './limits.ts';

/** How a table must be. */
export interface ExpectedTable {
  readonly keys: string;
  /** Whether it has a stream of keys. */
  readonly hasStream: boolean;
}

export const LOG_TABLE: ExpectedTable = { keys: 'log S, last N', hasStream: true };
export const STATE_TABLE: ExpectedTable = { keys: 'pk S, sk S', hasStream: false };
const EXPIRES_BY = 'expiresAt';
const STREAM_VIEW = 'KEYS_ONLY';
/** As the stack gives it to the wake queue. Source: AWS Lambda, "Using Lambda with Amazon SQS": six times the timeout. */
const WAKE_VISIBILITY_MS = 6 * DELIVER_FUNCTION_TIMEOUT_MS;

/** Where a table differs from what the code rests on. Pure. */
export function driftOfTable(name: string, expected: ExpectedTable, facts: TableFacts): Finding[] {
  const found: Finding[] = [];
  const add = (code: Finding['code'], detail: string) => found.push({ code, subject: `table ${name}`, detail });
  if (facts.keys !== expected.keys) add('table_unusable', `its keys are ${facts.keys}, not ${expected.keys}`);
  if (facts.status !== 'ACTIVE') add('table_unusable', `it is ${facts.status}`);
  if (facts.replicas > 0) add('table_replicated', `it has ${facts.replicas} replicas in other regions`);
  if (expected.hasStream && facts.stream?.view !== STREAM_VIEW) {
    const what = facts.stream === undefined ? 'it has no stream' : `its stream has ${facts.stream.view}`;
    add('stream_changed', `${what}, not ${STREAM_VIEW}: payloads do not go with their slots, nobody is woken`);
  }
  if (facts.expiresBy !== EXPIRES_BY) {
    add('expiry_off', facts.expiresBy === null ? 'nothing in it expires' : `it expires by ${facts.expiresBy}`);
  }
  if (facts.isRecoverable === false) add('recovery_off', 'it cannot be restored to a point in time');
  if (!facts.isProtected && facts.isRecoverable !== undefined) add('deletion_unprotected', 'it can be deleted');
  return found;
}

/** Pure. */
export function driftOfBucket(name: string, { isPrivate, expiringRules = [] }: BucketFacts): Finding[] {
  const subject = `bucket ${name}`;
  return [
    ...(isPrivate === false
      ? [{ code: 'bucket_public', subject, detail: 'public access to it is not blocked' } as const]
      : []),
    ...expiringRules.map(
      (rule) =>
        ({ code: 'bucket_expires_objects', subject, detail: `its lifecycle rule '${rule}' deletes objects` }) as const,
    ),
  ];
}

/** Who may use a queue. Pure. */
function driftOfPolicy(subject: string, { isOpen, requiresTls }: QueueFacts): Finding[] {
  return [
    ...(isOpen ? [{ code: 'queue_open', subject, detail: 'its policy lets in everybody' } as const] : []),
    ...(requiresTls === false
      ? [{ code: 'queue_changed', subject, detail: 'its policy does not turn away requests without TLS' } as const]
      : []),
  ];
}

/** @param deadLetters ARN of the queue that takes what is given up. Pure. */
export function driftOfWakeQueue(facts: QueueFacts, deadLetters: string | undefined): Finding[] {
  const found = driftOfPolicy('wake queue', facts);
  const add = (detail: string) => found.push({ code: 'queue_changed', subject: 'wake queue', detail });
  if (facts.visibilityTimeoutMs < WAKE_VISIBILITY_MS) {
    add(
      `a message comes back after ${facts.visibilityTimeoutMs} ms, while it may still be worked at: ${WAKE_VISIBILITY_MS}`,
    );
  }
  if (facts.delayMs > 0) add(`each message is kept back for ${facts.delayMs} ms`);
  if (facts.deadLetters === undefined) add('what is received too often is not put aside: it comes back for ever');
  else {
    if (deadLetters !== undefined && facts.deadLetters.arn !== deadLetters) {
      add(`what is given up goes to ${facts.deadLetters.arn}, not to the backbone's own queue`);
    }
    if (facts.deadLetters.receivesMax !== WAKE_TRIES_MAX) {
      add(`it gives up after ${facts.deadLetters.receivesMax} tries, not ${WAKE_TRIES_MAX}`);
    }
  }
  return found;
}

/** Pure. */
export function driftOfDeadLetterQueue(facts: QueueFacts): Finding[] {
  const subject = 'dead letter queue';
  const found = driftOfPolicy(subject, facts);
  const { messages } = facts;
  if (messages > 0) {
    found.push({ code: 'dead_messages', subject, detail: `it holds about ${messages} messages`, data: { messages } });
  }
  return found;
}
