import { wasDelivered } from './check-positions.ts';
import type { PositionChange, PushHistory, PushViolation, TargetCall } from './history.ts';
import { isForeign, isOfLine, type LineHistory, slotsBetween } from './index.ts';
import { keyOf, passes } from './record-sink.ts';

/** As in `check-positions.ts` and `check-calls.ts`. */
const EXPIRY_TOLERANCE_MS = 30_000;
const LEASE_SKEW_MS_MAX = 9_500;

/** What a partition and the lanes of its parked keys do together: each key in order, and nothing lost between them. */
export function checkParking(lines: readonly LineHistory[], history: PushHistory): PushViolation[] {
  return lines
    .filter(({ lane, subscription }) => lane === undefined && subscription.onFailure === 'park')
    .flatMap((partition) => {
      const lanes = lines.filter(({ lane, line }) => lane !== undefined && line === partition.line);
      const calls = [partition, ...lanes].flatMap((line) => line.calls).toSorted((a, b) => a.sentAt - b.sentAt);
      const whole = { ...partition, calls };
      return [
        ...[partition, ...lanes].flatMap((line) =>
          line.calls.flatMap((call) => checkOrder(whole, line, call, history)),
        ),
        ...checkOverlaps(whole, history),
        ...lanes.flatMap((lane) => [...checkAhead(whole, lane), ...checkTakenBack(whole, lane, history)]),
      ];
    });
}

/** Before a record is sent, those before it of its key are settled: delivered, kept as dead letters, or gone. */
function checkOrder(
  whole: LineHistory,
  { changes }: LineHistory,
  { epoch, sentAt, records }: TargetCall,
  history: PushHistory,
): PushViolation[] {
  // Of one who was fenced meanwhile, and does not know it yet, it is asked what there was when it took it.
  const ownedFrom = changes.find(({ after }) => after?.epoch === epoch)?.at ?? sentAt;
  const floor = whole.changes.findLast((change) => change.at <= ownedFrom && isStart(change))?.after?.committed ?? 0;
  const lastOf = new Map(records.map(({ record, offset }) => [keyOf(record), offset]));
  const own = new Set(records.map(({ offset }) => offset));
  return slotsBetween(whole.slots, floor, records.at(-1)!.offset).flatMap((slot) =>
    slot.records.flatMap((record, i): PushViolation[] => {
      const offset = slot.base + i;
      if (offset < floor || own.has(offset) || offset >= (lastOf.get(keyOf(record)) ?? 0)) return [];
      if (isSettled(whole, offset, record, slot.at, sentAt, history)) return [];
      const told = `${record}@${offset} of ${keyOf(record)} is not settled, and ${[...own]} are sent`;
      return [{ kind: 'key out of order', what: `${nameOf(whole)} at ${sentAt}: ${told}` }];
    }),
  );
}

/** Where a position begins, or somebody has put it: what lies before is nobody's, also what was parked. */
function isStart(change: PositionChange): boolean {
  const { before, after } = change;
  if (before === undefined) return true;
  return isForeign(change) && (after!.committed !== before.committed || (before.parked && !after!.parked) === true);
}

function isSettled(
  whole: LineHistory,
  offset: number,
  record: string,
  storedAt: number,
  at: number,
  { retentionMs, skewMs }: PushHistory,
): boolean {
  if (!passes(whole.subscription.filter, record) || wasDelivered(whole, offset, at, 0)) return true;
  if ((whole.letters.get(offset)?.at ?? Number.POSITIVE_INFINITY) <= at) return true;
  return storedAt + retentionMs <= at + 2 * skewMs + EXPIRY_TOLERANCE_MS;
}

/** Two calls that end in time have no key in common, whoever makes them, unless somebody moved the position meanwhile. */
function checkOverlaps(whole: LineHistory, { skewMs }: PushHistory): PushViolation[] {
  if (skewMs > LEASE_SKEW_MS_MAX) return [];
  const begun = whole.calls.filter(({ begin }) => begin !== undefined).toSorted((a, b) => a.begin! - b.begin!);
  return begun.flatMap((call, i): PushViolation[] => {
    const keys = new Set(call.records.map(({ record }) => keyOf(record) ?? 'none'));
    const other = begun
      .slice(Math.max(0, i - 8), i)
      .find(
        ({ lane, isInTime, end = 0, records }) =>
          lane !== call.lane &&
          isInTime &&
          end > call.begin! &&
          records.some(({ record }) => keys.has(keyOf(record) ?? 'keyless')),
      );
    if (other === undefined) return [];
    const isMoved = whole.changes.some((one) => one.at >= other.sentAt - 1 && one.at <= call.begin! && isForeign(one));
    if (isMoved) return [];
    const at = `${nameOf(whole)}: ${other.records[0]!.offset} at ${other.begin} to ${other.end}`;
    return [{ kind: 'two calls at once', what: `${at}, ${call.records[0]!.offset} at ${call.begin}` }];
  });
}

/** A lane gives nothing that its partition has not passed over. */
function checkAhead(whole: LineHistory, { calls }: LineHistory): PushViolation[] {
  return calls.flatMap(({ sentAt, records }): PushViolation[] => {
    const most = Math.max(
      ...whole.changes
        .filter(({ at }) => at <= sentAt)
        .flatMap(({ before, after }) => [before, after])
        .map((one) => one?.committed ?? 0),
    );
    const ahead = records.find(({ offset }) => offset >= most);
    if (ahead === undefined) return [];
    return [
      { kind: 'lane ahead of its partition', what: `${nameOf(whole)} at ${sentAt}: ${ahead.offset}, it is at ${most}` },
    ];
  });
}

/** A key that is back has nothing left between its lane and where its partition goes on. */
function checkTakenBack(whole: LineHistory, lane: LineHistory, history: PushHistory): PushViolation[] {
  return lane.changes.flatMap(({ at, before, after }): PushViolation[] => {
    if (before === undefined || after !== undefined || at >= whole.deletedAt) return [];
    const change = whole.changes.findLast((one) => one.at <= at);
    // A seek has removed it, or it went with its topic: else there is no end, for its partition still passes it over.
    if (change?.after === undefined || isForeign(change) || change.after.parked?.has(lane.lane!)) return [];
    return slotsBetween(lane.slots, before.committed, change.after.committed).flatMap((slot) =>
      slot.records.flatMap((record, i): PushViolation[] => {
        const offset = slot.base + i;
        if (offset < before.committed || offset >= change.after!.committed || !isOfLine(lane, record)) return [];
        if (isSettled(whole, offset, record, slot.at, at, history)) return [];
        return [{ kind: 'key lost', what: `${nameOf(whole)} at ${at}: ${record}@${offset} was not given` }];
      }),
    );
  });
}

function nameOf({ name, topicId, partition }: LineHistory): string {
  return `${name} ${topicId}.${partition}`;
}
