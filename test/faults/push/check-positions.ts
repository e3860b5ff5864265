import type { Delivered } from '../../../shared/domain/delivery.ts';
import { LANE_LAST_SHARE } from '../../../shared/domain/park-limits.ts';
import type { KeptLetter, PositionChange, PushHistory, PushViolation } from './history.ts';
import { isForeign, isOfLine, isTake, type LineHistory, slotsBetween } from './index.ts';
import { passes } from './record-sink.ts';

/** Own faults of records: they say nothing of their target, and need no attempts. */
const OWN_FAULTS: ReadonlySet<string> = new Set([
  ...['target_too_large', 'payload_missing', 'payload_corrupt', 'parked_too_long'],
]);
/** When a record may be found expired, beside what clocks differ by: what is read may be a little old. */
const EXPIRY_TOLERANCE_MS = 30_000;

/** How a position moves: only past what is settled, and by whoever owns it. */
export function checkPositions(line: LineHistory, history: PushHistory): PushViolation[] {
  const found: PushViolation[] = [];
  const owners = new Map<number, string>();
  let epochOfForeign = 0;
  let row = 0;
  let lastAt = 0;
  for (const change of line.changes) {
    const { at, before, after } = change;
    // What lands after the name was taken away belongs to nobody.
    if (at > line.deletedAt) break;
    if (after === undefined) continue;
    const told = `${line.name} ${line.topicId}.${line.partition} at ${at}`;
    if (before === undefined) {
      if (line.lane === undefined) found.push(...checkStart(line, change, history));
      epochOfForeign = after.epoch;
      row = 0;
      continue;
    }
    if (after.epoch < before.epoch) found.push({ kind: 'epoch went back', what: told });
    if (after.owner !== undefined) {
      const known = owners.get(after.epoch) ?? after.owner;
      if (known !== after.owner) found.push({ kind: 'one epoch, two owners', what: `${told}: ${after.epoch}` });
      owners.set(after.epoch, after.owner);
    }
    if (isForeign(change)) {
      const isSought = history.sought.some(({ name, begin }) => name === line.name && begin <= at);
      if (after.committed !== before.committed && !isSought) found.push({ kind: 'changed by nobody', what: told });
      epochOfForeign = after.epoch;
      row = 0;
      continue;
    }
    if (isTake(change) && before.owner !== undefined && (before.until ?? 0) >= at + 2 * history.skewMs) {
      found.push({ kind: 'taken too early', what: `${told}: ${before.until! - at} ms` });
    }
    if (after.committed < before.committed) found.push({ kind: 'position went back', what: told });
    const settled = settledBy(line, change, epochOfForeign, history);
    found.push(...settled.violations);
    if (wasResumed(line, history, lastAt, at)) row = 0;
    lastAt = at;
    for (const how of settled.outcomes) {
      row = how === 'delivered' ? 0 : row + 1;
      if (row > line.subscription.haltAfterDeadLetters)
        found.push({ kind: 'too many dead letters', what: `${told}: ${row}` });
    }
  }
  return found;
}

/** Whoever resumes it has mended something: what failed before counts no more. */
function wasResumed({ groupId }: LineHistory, { subscriptions }: PushHistory, from: number, to: number): boolean {
  return subscriptions.some(
    ({ at, before, after }) =>
      at >= from && at <= to && after?.group.id === groupId && before?.state !== 'active' && after.state === 'active',
  );
}

/** A position begins no later than what was appended after its subscriber had been answered. */
function checkStart(line: LineHistory, { at, after }: PositionChange, history: PushHistory): PushViolation[] {
  const { topicId, partition, groupId } = line;
  // A seek makes a position where there is none yet.
  if (history.sought.some(({ name, begin }) => name === line.name && begin <= at)) return [];
  const first = history.positions.find((one) => one.groupId === groupId && one.topicId === topicId)!.at;
  const made = history.made.find((made) => made.groupId === groupId && made.end >= first);
  const end = made?.end ?? Number.POSITIVE_INFINITY;
  const missed = slotsBetween(line.slots, 0, after!.committed).find(
    ({ base }) => (history.reservedAt(topicId, partition, base) ?? 0) > end,
  );
  if (missed === undefined) return [];
  return [{ kind: 'begun late', what: `${line.name} ${topicId}.${partition} at ${at}, behind ${missed.records[0]}` }];
}

/** How each record came to be settled that a step has passed. */
function settledBy(line: LineHistory, { at, before, after }: PositionChange, epochFrom: number, history: PushHistory) {
  const violations: PushViolation[] = [];
  const outcomes: ('delivered' | 'dead')[] = [];
  const [from, to] = [before!.committed, after!.committed];
  for (const slot of slotsBetween(line.slots, from, to)) {
    for (const [i, record] of slot.records.entries()) {
      const offset = slot.base + i;
      if (offset < from || offset >= to) continue;
      const told = `${record}@${offset} by ${line.name} ${line.topicId}.${line.partition} at ${at}`;
      if (slot.storedAt > at) {
        violations.push({ kind: 'passed before it was stored', what: told });
        continue;
      }
      if (!passes(line.subscription.filter, record)) continue;
      // Passed over: its lane has it.
      if (!isOfLine(line, record, after!.parked)) continue;
      if (wasDelivered(line, offset, at, epochFrom)) {
        outcomes.push('delivered');
        continue;
      }
      // One who was fenced may keep it even then: it is passed all the same.
      if (slot.at + history.retentionMs <= at + 2 * history.skewMs + EXPIRY_TOLERANCE_MS) continue;
      const letter = line.letters.get(offset);
      if (letter === undefined) {
        violations.push({ kind: 'record skipped', what: told });
        continue;
      }
      if (!OWN_FAULTS.has(letter.error) && !isGivenUp(line, letter)) outcomes.push('dead');
      violations.push(...checkLetter(line, offset, at, history, told));
    }
  }
  return { violations, outcomes };
}

function wasDelivered(line: LineHistory, offset: number, at: number, epochFrom: number): boolean {
  const { calls, effects, isOnce } = line;
  // Whatever is told: what counts is what was done.
  if (isOnce) return effects.some((effect) => effect.offset === offset && effect.at <= at);
  return calls.some(({ records, told, toldAt = at + 1, epoch }) => {
    if (told === undefined || toldAt > at || epoch < epochFrom) return false;
    if (!records.some((record) => record.offset === offset)) return false;
    return isDelivered(told, offset);
  });
}

/** Whether a target that says so has taken a record of its call. */
export function isDelivered(told: Delivered, offset: number): boolean {
  if (told.kind === 'done') return true;
  if (told.kind === 'part') return offset < told.next;
  return 'at' in told && told.at !== undefined && offset < told.at;
}

/** A dead letter is kept and told before its record is passed, and after as many attempts as it has. */
function checkLetter(
  line: LineHistory,
  offset: number,
  at: number,
  history: PushHistory,
  told: string,
): PushViolation[] {
  const found: PushViolation[] = [];
  const letter = line.letters.get(offset)!;
  const id = `${line.topicId}.${line.partition}.${offset}`;
  if (letter.at > at) found.push({ kind: 'dead letter not kept', what: told });
  if (!history.told.some((message) => message.group === line.name && message.id === id && message.at <= at)) {
    found.push({ kind: 'dead letter not told', what: told });
  }
  if (letter.error === 'parked_too_long') found.push(...checkLastCall(line, letter, history, told));
  if (OWN_FAULTS.has(letter.error)) return found;
  const failed = line.allCalls.filter(({ told, toldAt = 0 }) => told?.kind !== 'done' && toldAt <= letter.at);
  if (isGivenUp(line, letter)) {
    // Whoever asks for it need not know whether it was the one that its call failed at.
    const isTried = failed.some(({ records }) => records.some((record) => record.offset === offset));
    if (!isTried) found.push({ kind: 'dead letter without its attempts', what: `${told}: nobody tried it` });
    return found;
  }
  const attempts = failed.filter(({ records, told }) => {
    if (told?.kind !== 'failed') return false;
    return told.at === undefined ? records.length === 1 && records[0]!.offset === offset : told.at === offset;
  });
  if (attempts.length < line.subscription.retry.maxAttempts) {
    found.push({ kind: 'dead letter without its attempts', what: `${told}: ${attempts.length}` });
  }
  return found;
}

/** Whether somebody asked for it. */
function isGivenUp({ changes }: LineHistory, { offset, at }: KeptLetter): boolean {
  return changes.some((change) => change.at <= at && change.after?.about?.giveUp === offset);
}

/** No parked key is given up by itself before the log is about to let its record go; later, where it never failed alone. */
function checkLastCall(
  line: LineHistory,
  letter: KeptLetter,
  { retentionMs, skewMs }: PushHistory,
  told: string,
): PushViolation[] {
  if (isGivenUp(line, letter)) return [];
  const { at: since } = line.slots.find(({ base, last }) => base <= letter.offset && letter.offset <= last)!;
  const share = letter.attempts > 0 ? LANE_LAST_SHARE : LANE_LAST_SHARE / 2;
  const from = since + (1 - share) * retentionMs - 2 * skewMs;
  return letter.at >= from ? [] : [{ kind: 'given up too early', what: `${told}: by ${from - letter.at} ms` }];
}
