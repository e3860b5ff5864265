import { ERROR_MESSAGE_CHARS_MAX, ERROR_NAME_CHARS_MAX } from './consumer-limits.ts';
import { VertebraError } from './errors.ts';

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

export interface TopicPartitionOffset extends TopicPartition {
  readonly offset: number;
}

const nameOf = ({ topic, partition }: TopicPartition) => `partition ${partition} of '${topic}'`;

/** The record exists, but what was in it is missing or damaged in storage, or too large for an answer. */
export class RecordUnreadable extends VertebraError {
  /** @param code `payload_missing`, `payload_corrupt` or `record_too_large`, as the backbone says */
  constructor({ topic, partition, offset }: TopicPartitionOffset, code: string) {
    super(code, `Record ${offset} of ${nameOf({ topic, partition })} cannot be read: ${code}`, {
      data: { topic, partition, offset },
    });
  }
}

/** An uploaded value could not be downloaded, or is not what was uploaded. */
export class PayloadInvalid extends VertebraError {
  constructor(
    message: string,
    { size, sha256 }: { readonly size: number; readonly sha256: string },
    facts: { readonly retryable?: boolean; readonly cause?: unknown } = {},
  ) {
    super('payload_invalid', message, { ...facts, data: { size, sha256 } });
  }
}

/** A record failed as often as it may, and `onFailure` is `halt`; or too many failed in a row. It is not committed. */
export class HandlerFailed extends VertebraError {
  constructor(at: TopicPartitionOffset, attempts: number, why: string, cause: unknown) {
    const { topic, partition, offset } = at;
    super('handler_failed', `Record ${offset} of ${nameOf(at)} failed ${why}: ${saidBy(cause)}`, {
      data: { topic, partition, offset, attempts },
      cause,
    });
  }
}

/** A handler gave no sign of life within `processingTimeoutMs`. What it had in hand is not committed. */
export class ProcessingTimeout extends VertebraError {
  constructor(at: TopicPartitionOffset, timeoutMs: number) {
    const { topic, partition, offset } = at;
    super('processing_timeout', `The handler of record ${offset} of ${nameOf(at)} has not ended in ${timeoutMs} ms`, {
      data: { topic, partition, offset, timeoutMs },
    });
  }
}

/** The partition went to another member, or the membership ended. What a handler does now, others do too. */
export class PartitionLost extends VertebraError {
  constructor({ topic, partition }: TopicPartition, why: string) {
    super('partition_lost', `${nameOf({ topic, partition })} was lost: ${why}`, { data: { topic, partition } });
  }
}

/** The topic was deleted and made anew: what comes now has nothing to do with what was read before. */
export class TopicReplaced extends VertebraError {
  constructor(topic: string) {
    super('topic_replaced', `'${topic}' was deleted and made anew while it was read`, { data: { topic } });
  }
}

/** This consumer does not hold the partition. Nothing was sent. */
export class PartitionNotHeld extends VertebraError {
  constructor({ topic, partition }: TopicPartition) {
    super('partition_not_held', `This consumer does not hold ${nameOf({ topic, partition })}`, {
      data: { topic, partition },
    });
  }
}

/** What a dead letter says of an error: its name and message, cut to what an item should hold. */
export function described(error: unknown): { readonly name: string; readonly message: string } {
  const name = error instanceof Error ? textOf(error.name) : '';
  return { name: cut(name || 'Error', ERROR_NAME_CHARS_MAX), message: cut(saidBy(error), ERROR_MESSAGE_CHARS_MAX) };
}

/** The message of whatever was thrown. Handlers throw anything, and a name or message may be anything as well. */
function saidBy(error: unknown): string {
  return textOf(error instanceof Error ? error.message : error);
}

function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return typeof value; // it has no text, as an object without a prototype
  }
}

/** Text that UTF-8 can stand for: halves of surrogate pairs become U+FFFD, those that the cut makes are left out. */
function cut(text: string, charsMax: number): string {
  const whole = /[\ud800-\udbff]/.test(text.charAt(charsMax - 1)) ? charsMax - 1 : charsMax;
  return Buffer.from(text.slice(0, whole)).toString();
}
