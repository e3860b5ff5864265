import { DEAD_LETTER_HISTORY_MAX, PARTITIONS_MAX } from './limits.ts';
import type { PartitionId } from './topic.ts';

/** A record that a group could not handle: within the group, its place in the log names it. */
export interface DeadLetterId extends PartitionId {
  readonly offset: number;
}

export interface DeadLetter extends DeadLetterId {
  /** Name of the topic. */
  readonly topic: string;
  /** The record as it was: its encoding is for whoever wrote it to know; or what is known of its object. */
  readonly payload:
    | { readonly bytes: Uint8Array }
    | { readonly object: { readonly size: number; readonly sha256: string } };
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
  /** Epoch ms from which on it may be delivered. */
  readonly at: number;
}

/** The dead letter after a redrive that failed: with one redrive more, and with what it failed of before. */
export function landedAgain(letter: DeadLetter, error: DeadLetter['error'], now: number): DeadLetter {
  const { redriveAt: _, ...rest } = letter;
  const past = { error: letter.error, deadLetteredAt: letter.deadLetteredAt };
  return {
    ...rest,
    error,
    attempts: letter.attempts + 1,
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
