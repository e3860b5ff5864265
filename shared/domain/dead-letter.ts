import type { DeliveryRecord } from './delivery.ts';
import { DEAD_LETTER_HISTORY_MAX, PARTITIONS_MAX } from './limits.ts';
import type { Header } from './record.ts';
import type { PartitionId } from './topic.ts';
import type { Payload } from './upload.ts';

/** A record that a group could not handle: within the group, its place in the log names it. */
export interface DeadLetterId extends PartitionId {
  readonly offset: number;
}

export interface DeadLetter extends DeadLetterId {
  /** Name of the topic. */
  readonly topic: string;
  /** The record as it was. */
  readonly payload: KeptPayload;
  /** The record as somebody corrected it: it is given back instead. Absent: nobody did. */
  readonly correction?: KeptPayload;
  /** Why it could not be handled, in the handler's words. */
  readonly error: { readonly name: string; readonly message: string };
  /** Times it was tried. */
  readonly attempts: number;
  /** Times it was given back to its group, and failed again. */
  readonly redrives: number;
  /** Epoch ms from which on it is to be given back to its group; absent: it is not. */
  readonly redriveAt?: number;
  /** Why it failed before it was given back, oldest first; absent: it never was. At most `DEAD_LETTER_HISTORY_MAX`. */
  readonly history?: readonly PastFailure[];
  /** Epoch ms. */
  readonly firstFailedAt: number;
  /** Epoch ms. */
  readonly deadLetteredAt: number;
}

/** A record: its encoding is for whoever wrote it to know; or what is known of its object. */
export type KeptPayload = { readonly bytes: Uint8Array } | { readonly object: Payload };

/** What is to be different in a record that is given back; absent: as it was. */
export interface Correction {
  readonly value?: Uint8Array | null;
  /** The value is a JSON text or null. */
  readonly json?: boolean;
  readonly headers?: readonly Header[];
}

/** Whether it lies, or is on its way back to its group. */
export function stateOf({ redriveAt }: DeadLetter): DeadLetterState {
  return redriveAt === undefined ? 'stored' : 'redriving';
}

export type DeadLetterState = 'stored' | 'redriving';

/** A failure that a redrive followed. */
export interface PastFailure {
  readonly error: { readonly name: string; readonly message: string };
  /** Epoch ms. */
  readonly deadLetteredAt: number;
}

/** A dead letter that is on its way back to its group. */
export interface Redrive extends DeadLetterId {
  /** Epoch ms from which on it may be delivered, or given anew. */
  readonly at: number;
  /** To whom a poll gave it last, by the epoch of the partition's ownership, and how often one did; absent: none has. */
  readonly given?: { readonly epoch: number; readonly times: number };
}

/** The dead letter after a redrive that failed: with one redrive more, and with what it failed of before. */
export function landedAgain(
  letter: DeadLetter,
  error: DeadLetter['error'],
  now: number,
  /** Times that the redrive was tried. */
  attempts = 1,
): DeadLetter {
  const { redriveAt: _, ...rest } = letter;
  const past = { error: letter.error, deadLetteredAt: letter.deadLetteredAt };
  return {
    ...rest,
    error,
    attempts: letter.attempts + attempts,
    redrives: letter.redrives + 1,
    history: [...(letter.history ?? []), past].slice(-DEAD_LETTER_HISTORY_MAX),
    deadLetteredAt: now,
  };
}

/** As callers are told it, `<topicId>.<partition>.<offset>`: deterministic, so that a repeated report is the same letter. */
export function deadLetterIdText({ topicId, partition, offset }: DeadLetterId): string {
  return `${topicId}.${partition}.${offset}`;
}

/** The dead letter that a text names. @returns undefined when it names none */
export function parseDeadLetterId(text: string): DeadLetterId | undefined {
  const match = /^([0-9A-HJKMNP-TV-Z]{26})\.(0|[1-9]\d{0,3})\.(0|[1-9]\d{0,15})$/.exec(text);
  if (match === null) return undefined;
  const [topicId, partition, offset] = [match[1]!, Number(match[2]), Number(match[3])];
  return partition < PARTITIONS_MAX && Number.isSafeInteger(offset) ? { topicId, partition, offset } : undefined;
}

/** The record that a dead letter keeps. `upload`: its value was uploaded, and is to be had there; `lane`: that of its key. */
export interface OpenedLetter {
  readonly record: DeliveryRecord;
  readonly lane?: string;
  readonly upload?: Payload & { readonly uploadId: string };
}
