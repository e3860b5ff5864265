import { PARTITIONS_MAX } from './limits.ts';
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
  /** Times it was given back to its group. */
  readonly redrives: number;
  /** Epoch ms. */
  readonly firstFailedAt: number;
  /** Epoch ms. */
  readonly deadLetteredAt: number;
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
