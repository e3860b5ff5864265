import { REGISTER_LENGTH, RETENTION_FOREVER, SETTLE_AFTER_MS } from './limits.ts';
import type { Reserved, Slot } from './slot.ts';
import { isExpired, type Topic } from './topic.ts';

/** A head, as far as it is compared with its log. */
export interface ComparedHead {
  readonly next: number;
  readonly settled: number;
  /** The last reservations, newest first. */
  readonly register: readonly Reserved[];
}

export type HeadBesideLog =
  | { readonly kind: 'fits' }
  /** The log holds what the head has not reserved: the next appends would meet it. */
  | { readonly kind: 'head_behind'; readonly to: number; readonly register: readonly Reserved[] }
  /** The log ends before what the head knows to have been stored. `end`: first offset that it lacks. */
  | { readonly kind: 'log_behind'; readonly end: number }
  /** So many offsets were reserved and never stored: whoever reads next settles them. */
  | { readonly kind: 'abandoned'; readonly offsets: number };

/**
 * Whether a partition's head and its log belong together. Pure. They do not when the two tables were restored to different
 * times. An append under way is no sign of that, nor is what has expired.
 *
 * @param last the log's last slot @param now epoch ms
 */
export function compareHead(
  topic: Pick<Topic, 'retentionMs' | 'hiddenUntil'>,
  head: ComparedHead,
  last: Slot | undefined,
  now: number,
): HeadBesideLog {
  const end = last === undefined ? 0 : last.last + 1;
  if (end > head.next) return { kind: 'head_behind', to: end, register: registerBehind(last!) };
  const missing = missingOf(head, end).filter(
    (reserved) => now - reserved.time > reserved.settleMs && !isExpired(topic, reserved, now),
  );
  if (missing.length === 0) return { kind: 'fits' };
  // What is below `settled` was stored, or voided, and would still be there; voids of a log that is kept for ever are not.
  const wasSettled = topic.retentionMs !== RETENTION_FOREVER && head.settled > end;
  // A writer that dies leaves one reservation, an outage some; that nothing of all that is remembered was stored is neither.
  const remembered = Math.min(head.register.length, REGISTER_LENGTH);
  if (wasSettled || (remembered > 1 && missing.length === remembered)) return { kind: 'log_behind', end };
  return { kind: 'abandoned', offsets: missing.reduce((sum, { count }) => sum + count, 0) };
}

/** The reservations that a head remembers and of which nothing is in the log. */
function missingOf({ next, register }: ComparedHead, end: number): Reserved[] {
  const missing: Reserved[] = [];
  let base = next;
  for (const reserved of register) {
    base -= reserved.count;
    if (base < end) break;
    missing.push(reserved);
  }
  return missing;
}

/** What a head right behind this slot remembers: it, and what it remembers itself. */
function registerBehind(slot: Slot): Reserved[] {
  const time = slot.kind === 'void' ? slot.reservedBy : slot.at;
  const own = { count: slot.count, time, expiresAt: slot.expiresAt, settleMs: SETTLE_AFTER_MS };
  return [own, ...slot.previous].slice(0, REGISTER_LENGTH);
}
