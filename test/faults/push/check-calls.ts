import { isDeepStrictEqual } from 'node:util';
import type { Position } from '../../../shared/domain/position.ts';
import type { PushHistory, PushViolation, TargetCall } from './history.ts';
import { isForeign, isOfLine, isTake, type LineHistory, slotsBetween } from './index.ts';
import { passes } from './record-sink.ts';

/** A clock may be this wrong before leases do not hold: they outlive calls by more. */
const LEASE_SKEW_MS_MAX = 9_500;

/** What targets were given: by whom, when, and what. */
export function checkCalls(line: LineHistory, history: PushHistory): PushViolation[] {
  return [
    ...line.calls.flatMap((call) => checkCall(line, call, history)),
    ...checkOverlaps(line, history),
    ...checkWaits(line, history),
    ...checkHalves(line, history),
    ...checkPrompt(line, history),
  ];
}

/** The records of a call are those that follow what its owner has committed: all that are let through, in order. */
function checkCall(line: LineHistory, call: TargetCall, history: PushHistory): PushViolation[] {
  const { epoch, sentAt, records } = call;
  const told = `${line.name} ${line.topicId}.${line.partition}, epoch ${epoch}, offset ${records[0]!.offset}, at ${sentAt}`;
  const state = line.changes.findLast(({ at, after }) => at <= sentAt && after?.epoch === epoch)?.after;
  if (state === undefined) return [{ kind: 'called without owning', what: told }];
  const found: PushViolation[] = [];
  const wrong = wrongIn(line, call, state, history);
  if (wrong !== undefined) found.push({ kind: 'wrong records', what: `${told}: ${wrong}` });
  const { failure } = state.push ?? {};
  // Whoever was called may have settled all that had failed, or it has expired.
  if (failure === undefined || failure.end <= records[0]!.offset) return found;
  if (records.length > failure.span || records.at(-1)!.offset >= failure.end) {
    found.push({ kind: 'more than the span', what: `${told}: ${records.length} of ${failure.span}` });
  }
  const latest = line.changes.findLast(({ at }) => at <= sentAt)?.after;
  if (latest?.epoch === epoch && failure.retryAt > sentAt + 2 * history.skewMs) {
    found.push({ kind: 'tried too early', what: `${told}: ${failure.retryAt - sentAt} ms` });
  }
  return found;
}

function wrongIn(
  line: LineHistory,
  { records, sentAt }: TargetCall,
  { committed, parked }: Pick<Position, 'committed' | 'parked'>,
  { retentionMs, skewMs }: PushHistory,
): string | undefined {
  const { slots, subscription } = line;
  let next = 0;
  for (const slot of slotsBetween(slots, committed, records.at(-1)!.offset + 1)) {
    const mayBeGone = slot.at + retentionMs <= sentAt + 2 * skewMs + 30_000;
    for (const [i, record] of slot.records.entries()) {
      const offset = slot.base + i;
      if (offset < committed || offset > records.at(-1)!.offset || !passes(subscription.filter, record)) continue;
      if (!isOfLine(line, record, parked)) continue;
      const given = records[next];
      if (given?.offset === offset && given.record === record) next += 1;
      else if (!mayBeGone) return `${given?.record}@${given?.offset} instead of ${record}@${offset}`;
    }
  }
  return next === records.length ? undefined : `${records[next]!.record}@${records[next]!.offset} is not there`;
}

/** Of calls that end in time there is one at a time, unless somebody moved the position meanwhile. */
function checkOverlaps(
  { name, calls, redrives, changes, topicId, partition }: LineHistory,
  { skewMs }: PushHistory,
): PushViolation[] {
  if (skewMs > LEASE_SKEW_MS_MAX) return [];
  const found: PushViolation[] = [];
  const begun = [...calls, ...redrives]
    .filter(({ begin }) => begin !== undefined)
    .toSorted((a, b) => a.begin! - b.begin!);
  const foreign = changes.filter(isForeign).map(({ at }) => at);
  for (const [i, call] of begun.entries()) {
    const other = begun.slice(Math.max(0, i - 3), i).find(({ isInTime, end = 0 }) => isInTime && end > call.begin!);
    if (other === undefined) continue;
    // Either may be one who was fenced, and does not know it yet.
    const taken = changes.find(({ after }) => after?.epoch === other.epoch || after?.epoch === call.epoch)?.at ?? 0;
    if (foreign.some((at) => at >= taken && at <= call.begin!)) continue;
    const at = `${name} ${topicId}.${partition}: ${other.records[0]!.offset} at ${other.begin} to ${other.end}`;
    found.push({ kind: 'two calls at once', what: `${at}, ${call.records[0]!.offset} at ${call.begin}` });
  }
  return found;
}

/** The first one from then on, of nobody who had been fenced before that epoch and does not know it yet. */
function nextCall(calls: readonly TargetCall[], from: number, epoch: number): TargetCall | undefined {
  return calls.find((call) => call.sentAt >= from && call.epoch >= epoch);
}

/** Whether somebody may have asked for a parked key to be tried at once, by then: that may be done long after. */
function isActedOn({ name, lane }: LineHistory, at: number, { acted }: PushHistory): boolean {
  return lane !== undefined && acted.some((act) => act.name === name && act.begin <= at);
}

/** A target that said when to come again is left alone until then, once that was written down, unless somebody moved on. */
function checkWaits(line: LineHistory, history: PushHistory): PushViolation[] {
  const { name, lane, calls, changes, letters } = line;
  const { skewMs } = history;
  return calls.flatMap(({ told, toldAt, epoch, records }): PushViolation[] => {
    if (told?.kind !== 'away' || told.retryAfterMs === undefined || toldAt === undefined) return [];
    const until = toldAt + told.retryAfterMs - 2 * skewMs;
    const step = changes.find(({ at, before }) => at >= toldAt && before?.epoch === epoch);
    if (step === undefined || isForeign(step) || isTake(step)) return [];
    // The log is about to let a parked record go: it is tried once more before that, and what follows when it is given up.
    const isGivenUp = records.some(({ offset }) => letters.get(offset)?.error === 'parked_too_long');
    if (lane !== undefined && (isGivenUp || (step.after?.push?.failure?.retryAt ?? until) < until)) return [];
    const next = nextCall(calls, step.at, epoch);
    if (next === undefined || next.sentAt >= until) return [];
    if (changes.some((change) => change.at > step.at && change.at <= next.sentAt && isForeign(change))) return [];
    if (isActedOn(line, next.sentAt, history)) return [];
    return [{ kind: 'tried too early', what: `${name} at ${next.sentAt}, ${until - next.sentAt} ms before it was to` }];
  });
}

/** A batch that failed without a name is halved, once that was written down, unless somebody moved on. */
function checkHalves(line: LineHistory, history: PushHistory): PushViolation[] {
  const { name, calls, changes } = line;
  return calls.flatMap(({ told, toldAt, epoch, records }): PushViolation[] => {
    if (told?.kind !== 'failed' || told.at !== undefined || toldAt === undefined || records.length < 2) return [];
    const step = changes.find(({ at, before }) => at >= toldAt && before?.epoch === epoch);
    if (step?.after?.push?.failure === undefined || isTake(step)) return [];
    // A renewal that landed late, or a record that was processed: it tells nothing of how the call went.
    if (isDeepStrictEqual(step.before?.push, step.after.push)) return [];
    const next = nextCall(calls, step.at, epoch);
    if (next === undefined || next.records.length <= Math.ceil(records.length / 2)) return [];
    // Retention has overtaken all of it.
    if (next.records[0]!.offset > records.at(-1)!.offset) return [];
    if (changes.some((change) => change.at > step.at && change.at <= next.sentAt && isForeign(change))) return [];
    if (isActedOn(line, next.sentAt, history)) return [];
    const what = `${name} at ${next.sentAt}: ${next.records.length} after ${records.length} had failed`;
    return [{ kind: 'more than the span', what }];
  });
}

/** Isolation: whoever is quick is not kept waiting by those who are not, nor a key by others. */
function checkPrompt(line: LineHistory, { prompt }: PushHistory): PushViolation[] {
  if (prompt === undefined || !prompt.names.includes(line.name) || line.lane !== undefined) return [];
  const firstAt = new Map<number, number>();
  for (const { records, begin = Number.POSITIVE_INFINITY } of line.calls) {
    for (const { offset } of records) if (!firstAt.has(offset)) firstAt.set(offset, begin);
  }
  const start = line.changes[0]!;
  return slotsBetween(line.slots, start.after?.committed ?? 0, Number.POSITIVE_INFINITY).flatMap((slot) =>
    slot.records.flatMap((record, i): PushViolation[] => {
      const readable = Math.max(
        slot.storedAt,
        start.at,
        ...line.slots.filter(({ base }) => base < slot.base).map(({ storedAt }) => storedAt),
      );
      const waited = (firstAt.get(slot.base + i) ?? Number.POSITIVE_INFINITY) - readable;
      if (readable < prompt.from || waited <= prompt.boundMs || !passes(line.subscription.filter, record)) return [];
      if (prompt.isPoison(line.name, record)) return [];
      return [{ kind: 'late', what: `${line.name} was given ${record}@${slot.base + i} after ${waited} ms` }];
    }),
  );
}
