import { isDelivered } from './check-positions.ts';
import { lineOf, type PositionChange, type PushHistory, type PushViolation, type TargetCall } from './history.ts';
import { isForeign, isOfLine, type LineHistory, slotsBetween } from './index.ts';
import { keyOf, passes } from './record-sink.ts';

/** As in `check-positions.ts` and `check-calls.ts`. */
const EXPIRY_TOLERANCE_MS = 30_000;
const LEASE_SKEW_MS_MAX = 9_500;
/** Calls of one partition and its parked keys that are under way at once, at most. */
const CALLS_MAX = 40;

interface Stored {
  readonly offset: number;
  readonly record: string;
  /** Epoch ms. */
  readonly at: number;
}

/** A partition, and the lanes of its parked keys. */
interface Whole {
  readonly partition: LineHistory;
  readonly lanes: readonly LineHistory[];
  /** What is for its target, by key; ascending. */
  readonly records: ReadonlyMap<string | null, readonly Stored[]>;
  /** When calls began, and were told, that delivered a record, by offset. */
  readonly delivered: ReadonlyMap<number, readonly { readonly sentAt: number; readonly toldAt: number }[]>;
}

/** What a partition and the lanes of its parked keys do together: each key in order, and nothing lost between them. */
export function checkParking(lines: readonly LineHistory[], history: PushHistory): PushViolation[] {
  return lines
    .filter(({ lane, parks }) => lane === undefined && parks)
    .flatMap((partition) => {
      const whole = wholeOf(partition, lines);
      const { lanes } = whole;
      return [
        ...partition.allCalls.flatMap((call) => checkOrder(whole, call, history)),
        ...checkOverlaps(whole, history),
        ...checkTogether(whole, history),
        ...lanes.flatMap((lane) => [...checkAhead(whole, lane), ...checkTakenBack(whole, lane, history)]),
      ];
    });
}

function wholeOf(partition: LineHistory, lines: readonly LineHistory[]): Whole {
  const lanes = lines.filter(({ lane, line }) => lane !== undefined && line === partition.line);
  const records = new Map<string | null, Stored[]>();
  for (const { base, at, records: own } of slotsBetween(partition.slots, 0, Number.POSITIVE_INFINITY)) {
    for (const [i, record] of own.entries()) {
      if (passes(partition.subscription.filter, record)) {
        addTo(records, keyOf(record, partition.keys), { offset: base + i, record, at });
      }
    }
  }
  const delivered = new Map<number, { sentAt: number; toldAt: number }[]>();
  for (const { records: given, sentAt, toldAt, told } of partition.allCalls) {
    if (told === undefined || toldAt === undefined) continue;
    for (const { offset } of given) if (isDelivered(told, offset)) addTo(delivered, offset, { sentAt, toldAt });
  }
  return { partition, lanes, records, delivered };
}

function addTo<K, T>(lists: Map<K, T[]>, key: K, member: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [member]);
  else list.push(member);
}

/** Before a record is sent, those before it of its key are settled: delivered, kept as dead letters, or gone. */
function checkOrder(whole: Whole, call: TargetCall, history: PushHistory): PushViolation[] {
  const { sentAt, records } = call;
  const start = startOf(whole.partition, ownedFrom(whole, call));
  const own = new Set(records.map(({ offset }) => offset));
  const lastOf = new Map(records.map(({ record, offset }) => [keyOf(record, history.keys), offset]));
  return [...lastOf].flatMap(([key, last]): PushViolation[] => {
    const range = [start?.after?.committed ?? 0, last] as const;
    const unsettled = unsettledOf(whole, key, start, range, sentAt, history).find(({ offset }) => !own.has(offset));
    if (unsettled === undefined) return [];
    const told = `${unsettled.record}@${unsettled.offset} of ${key} is not settled, and ${[...own]} are sent`;
    return [{ kind: 'key out of order', what: `${nameOf(whole.partition)} at ${sentAt}: ${told}` }];
  });
}

/** When the run took what it calls for: of one who was fenced since, and does not know it yet, that is what it goes by. */
function ownedFrom({ partition, lanes }: Whole, { lane, epoch, sentAt }: TargetCall): number {
  const { changes } = lane === undefined ? partition : (lanes.find((one) => one.lane === lane) ?? partition);
  return changes.find(({ after }) => after?.epoch === epoch)?.at ?? sentAt;
}

/** Where a position began, or somebody has put it: what lies before is nobody's, also what was parked. */
function startOf({ changes }: LineHistory, at: number): PositionChange | undefined {
  return changes.findLast((change) => change.at <= at && isStart(change));
}

function isStart(change: PositionChange): boolean {
  const { before, after } = change;
  if (before === undefined) return true;
  if (!isForeign(change)) return false;
  return after!.committed !== before.committed || (before.parked !== undefined && after!.parked === undefined);
}

/** @param start what was sent before counts no more, for somebody wanted it sent again */
function unsettledOf(
  { partition, records, delivered }: Whole,
  key: string | null,
  start: PositionChange | undefined,
  [from, to]: readonly [number, number],
  at: number,
  { retentionMs, skewMs }: PushHistory,
): Stored[] {
  const { isOnce, effects, letters } = partition;
  const since = start?.at ?? 0;
  return (records.get(key) ?? []).filter(({ offset, at: storedAt }) => {
    if (offset < from || offset >= to) return false;
    if (storedAt + retentionMs <= at + 2 * skewMs + EXPIRY_TOLERANCE_MS) return false;
    if ((letters.get(offset)?.at ?? Number.POSITIVE_INFINITY) <= at) return false;
    // Whatever is told: what counts is what was done.
    if (isOnce) return !effects.some((effect) => effect.offset === offset && effect.at <= at);
    return !delivered.get(offset)?.some((call) => call.sentAt >= since && call.toldAt <= at);
  });
}

/** Two calls that end in time have no key in common, whoever makes them, unless somebody moved the position meanwhile. */
function checkOverlaps(whole: Whole, { skewMs, keys }: PushHistory): PushViolation[] {
  if (skewMs > LEASE_SKEW_MS_MAX) return [];
  const { allCalls, redrives, changes } = whole.partition;
  const begun = [...allCalls, ...redrives]
    .filter(({ begin }) => begin !== undefined)
    .toSorted((a, b) => a.begin! - b.begin!);
  return begun.flatMap((call, i): PushViolation[] => {
    const own = new Set(call.records.map(({ record }) => keyOf(record, keys)));
    const other = begun
      .slice(Math.max(0, i - CALLS_MAX), i)
      .find(
        ({ lane, isInTime, end = 0, records }) =>
          lane !== call.lane &&
          isInTime &&
          end > call.begin! &&
          records.some(({ record }) => keyOf(record, keys) !== null && own.has(keyOf(record, keys))),
      );
    if (other === undefined) return [];
    const taken = Math.min(ownedFrom(whole, other), ownedFrom(whole, call));
    if (changes.some((one) => one.at >= taken && one.at <= call.begin! && isForeign(one))) return [];
    const at = `${nameOf(whole.partition)}: ${other.records[0]!.offset} at ${other.begin} to ${other.end}`;
    return [{ kind: 'two calls at once', what: `${at}, ${call.records[0]!.offset} at ${call.begin}` }];
  });
}

/** There is a lane, and its mark, exactly while the position passes its key over, and nothing is deleted. */
function checkTogether({ partition, lanes }: Whole, history: PushHistory): PushViolation[] {
  const goneAt = goneAtOf(partition, history);
  const marked = history.marks.filter((mark) => lineOf(mark) === partition.line);
  const all = [...partition.changes, ...lanes.flatMap(({ changes }) => changes), ...marked];
  const inOrder = all.toSorted((a, b) => a.at - b.at);
  const [there, marksThere] = [new Set<string>(), new Set<string>()];
  let parked: ReadonlySet<string> | undefined;
  for (const [i, change] of inOrder.entries()) {
    if (change.at >= goneAt) return [];
    const { lane } = change;
    if (lane === undefined) {
      const { after } = change as PositionChange;
      parked = after && (after.parked ?? new Set());
    } else if ('isThere' in change) setTo(marksThere, lane, change.isThere);
    else setTo(there, lane, change.after !== undefined);
    // What is written together comes together. Once a position is gone, its lanes follow.
    if (inOrder[i + 1]?.at === change.at || parked === undefined) continue;
    const [keys, itsLanes, itsMarks] = [parked, there, marksThere].map((set) => [...set].toSorted().join());
    if (keys === itsLanes && keys === itsMarks) continue;
    const told = `keys ${keys}, lanes ${itsLanes}, marks ${itsMarks}`;
    return [{ kind: 'key and lane apart', what: `${nameOf(partition)} at ${change.at}: ${told}` }];
  }
  return [];
}

function setTo(set: Set<string>, member: string, isThere: boolean): void {
  if (isThere) set.add(member);
  else set.delete(member);
}

function goneAtOf({ topicId, deletedAt }: LineHistory, { topicsGone }: PushHistory): number {
  return Math.min(deletedAt, topicsGone.get(topicId) ?? Number.POSITIVE_INFINITY);
}

/** A lane gives nothing that its partition has not passed over. */
function checkAhead({ partition }: Whole, { calls }: LineHistory): PushViolation[] {
  return calls.flatMap(({ sentAt, records }): PushViolation[] => {
    const most = Math.max(
      ...partition.changes
        .filter(({ at }) => at <= sentAt)
        .flatMap(({ before, after }) => [before?.committed ?? 0, after?.committed ?? 0]),
    );
    const ahead = records.find(({ offset }) => offset >= most);
    if (ahead === undefined) return [];
    const told = `${ahead.offset}, it is at ${most}`;
    return [{ kind: 'lane ahead of its partition', what: `${nameOf(partition)} at ${sentAt}: ${told}` }];
  });
}

/** A key that is back has nothing left between its lane and where its partition goes on. */
function checkTakenBack(whole: Whole, lane: LineHistory, history: PushHistory): PushViolation[] {
  const { partition, records } = whole;
  const goneAt = goneAtOf(partition, history);
  const keys = [...records].filter(([, [first]]) => isOfLine(lane, first!.record)).map(([key]) => key);
  return lane.changes.flatMap(({ at, before, after }): PushViolation[] => {
    if (before === undefined || after !== undefined || at >= goneAt) return [];
    const change = partition.changes.findLast((one) => one.at <= at);
    // A seek has removed it.
    if (change?.after === undefined || isForeign(change)) return [];
    const range = [before.committed, change.after.committed] as const;
    const lost = keys.flatMap((key) => unsettledOf(whole, key, startOf(partition, at), range, at, history));
    return lost.map(({ record, offset }) => {
      return { kind: 'key lost', what: `${nameOf(partition)} at ${at}: ${record}@${offset} was not given` };
    });
  });
}

function nameOf({ name, topicId, partition }: LineHistory): string {
  return `${name} ${topicId}.${partition}`;
}
