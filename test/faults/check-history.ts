import { checkKeys } from './check-keys.ts';
import { checkReads } from './check-reads.ts';
import { checkUploads } from './check-uploads.ts';
import {
  type AppendCall,
  EXPECTED_ERRORS,
  type History,
  type Indexed,
  logOf,
  NOTHING_STORED,
  nameOf,
  type Place,
  partsOf,
  type Violation,
} from './history.ts';

/**
 * Decides whether a history keeps the invariants A1 to A6 and the promises of idempotent appends and of uploads. Pure.
 *
 * @returns what was broken; nothing: the history is one that a correct backbone can have
 */
export function checkHistory(history: History): Violation[] {
  const places = new Map<string, Place[]>();
  for (const batch of history.stored) {
    for (const [i, record] of batch.records.entries()) {
      const there = places.get(record);
      if (there === undefined) places.set(record, [{ batch, offset: batch.base + i }]);
      else there.push({ batch, offset: batch.base + i });
    }
  }
  const callsOf = new Map<string, AppendCall[]>();
  for (const call of history.appends) {
    for (const record of call.records) {
      const known = callsOf.get(record);
      if (known === undefined) callsOf.set(record, [call]);
      else known.push(call);
    }
  }
  const indexed = { ...history, places, callsOf };
  return [
    ...checkAcknowledged(indexed),
    ...checkStored(indexed),
    ...checkOverlaps(indexed),
    ...checkOrder(indexed),
    ...checkIncarnations(indexed),
    ...checkKeys(indexed),
    ...checkReads(indexed),
    ...checkUploads(indexed),
  ];
}

/** A2: what was acknowledged is stored, at the offsets that were told, in one piece (A5). */
function checkAcknowledged({ appends, places }: Indexed): Violation[] {
  const found: Violation[] = [];
  for (const call of appends) {
    for (const part of partsOf(call)) {
      if ('error' in part) {
        if (!EXPECTED_ERRORS.has(part.error))
          found.push({ kind: 'unexpected error', what: `${part.error} for ${nameOf(call)}` });
        continue;
      }
      for (const [i, record] of part.records.entries()) {
        const there = places
          .get(record)
          ?.some(({ batch, offset }) => offset === part.base + i && batch.partition === part.partition);
        if (there) continue;
        const elsewhere =
          places
            .get(record)
            ?.map(({ batch, offset }) => `${logOf(batch)}@${offset}`)
            .join(', ') ?? 'nowhere';
        found.push({
          kind: 'lost acknowledgement',
          what: `${record} was acknowledged at ${part.partition}@${part.base + i} and is ${elsewhere}`,
        });
        break;
      }
    }
    const { answer } = call;
    if (answer !== undefined && 'error' in answer && !EXPECTED_ERRORS.has(answer.error)) {
      found.push({ kind: 'unexpected error', what: `${answer.error} for ${nameOf(call)}` });
    }
  }
  return found;
}

/** What is stored was sent, not refused, and is there no more often than its callers were left in doubt. */
function checkStored({ places, callsOf }: Indexed): Violation[] {
  const found: Violation[] = [];
  for (const [record, copies] of places) {
    const calls = callsOf.get(record);
    if (calls === undefined) {
      found.push({ kind: 'phantom', what: `nobody sent ${record}` });
      continue;
    }
    const outcomes = calls.map((call) => outcomeFor(call, record));
    if (outcomes.every((outcome) => outcome === 'refused')) {
      found.push({
        kind: 'refused yet stored',
        what: `${record}, at ${copies.map(({ offset }) => offset).join(', ')}`,
      });
    }
    if (calls.some(({ once }) => once !== undefined)) continue;
    const most = outcomes.filter((outcome) => outcome !== 'refused').length;
    if (copies.length > most) {
      const where = copies.map(({ batch, offset }) => `${logOf(batch)}@${offset}`).join(', ');
      found.push({ kind: 'duplicate', what: `${record} is at ${where}; at most ${most} are accounted for` });
    }
  }
  return found;
}

/** What one call's caller may conclude about one of its records. */
function outcomeFor(call: AppendCall, record: string): 'stored' | 'unknown' | 'refused' {
  const { answer } = call;
  if (answer === undefined) return 'unknown';
  if ('error' in answer) return NOTHING_STORED.has(answer.error) ? 'refused' : 'unknown';
  const part = answer.parts.find(({ records }) => records.includes(record));
  if (part === undefined) return 'refused';
  if ('error' in part) return NOTHING_STORED.has(part.error) ? 'refused' : 'unknown';
  return 'stored';
}

/** A1: no offset is given twice. */
function checkOverlaps({ stored }: Indexed): Violation[] {
  const holders = new Map<string, string>();
  const found: Violation[] = [];
  for (const batch of stored) {
    for (const [i, record] of batch.records.entries()) {
      const offset = `${logOf(batch)}@${batch.base + i}`;
      const other = holders.get(offset);
      if (other !== undefined && other !== record)
        found.push({ kind: 'overlap', what: `${other} and ${record} at ${offset}` });
      holders.set(offset, record);
    }
  }
  return found;
}

/** A1: what was acknowledged before another append began has lower offsets. Repeats count as their first call. */
function checkOrder({ appends, places, callsOf }: Indexed): Violation[] {
  interface Acknowledged {
    readonly record: string;
    readonly offset: number;
    readonly begin: number;
    readonly end: number;
  }
  const byLog = new Map<string, Acknowledged[]>();
  for (const call of appends) {
    if (call.end === undefined) continue;
    for (const part of partsOf(call)) {
      if ('error' in part) continue;
      const record = part.records[0]!;
      const there = (places.get(record) ?? []).filter(
        ({ batch, offset }) => offset === part.base && batch.partition === part.partition,
      );
      // In two incarnations at the same offset: which of them answered cannot be told.
      const [place] = there;
      if (place === undefined || there.length > 1) continue;
      const begin = Math.min(...callsOf.get(record)!.map((other) => other.begin));
      const list = byLog.get(logOf(place.batch)) ?? [];
      byLog.set(logOf(place.batch), list);
      list.push({ record, offset: part.base, begin, end: call.end });
    }
  }
  const found: Violation[] = [];
  for (const [log, list] of byLog) {
    // By the time of the answer; the highest offset acknowledged so far must lie below whatever begins later.
    const ended = list.toSorted((a, b) => a.end - b.end);
    const begun = list.toSorted((a, b) => a.begin - b.begin);
    let highest: Acknowledged | undefined;
    let next = 0;
    for (const later of begun) {
      while (next < ended.length && ended[next]!.end < later.begin) {
        const earlier = ended[next++]!;
        if (highest === undefined || earlier.offset > highest.offset) highest = earlier;
      }
      if (highest === undefined || later.offset > highest.offset) continue;
      found.push({
        kind: 'reorder',
        what: `${log}: ${later.record}@${later.offset} began after ${highest.record}@${highest.offset} was acknowledged`,
      });
    }
  }
  return found;
}

/** A6: nothing that begins after DELETE has answered is acknowledged into what was deleted. */
function checkIncarnations({ appends, topics, places }: Indexed): Violation[] {
  const found: Violation[] = [];
  for (const made of topics) {
    if (made.made === undefined || made.end === undefined) continue;
    const gone = topics.find(
      ({ topic, deleted, begin, end }) => deleted && end !== undefined && topic === made.topic && begin > made.end!,
    );
    if (gone === undefined) continue;
    for (const call of appends) {
      if (call.topic !== made.topic || call.begin <= gone.end!) continue;
      for (const part of partsOf(call)) {
        if ('error' in part) continue;
        const inside = places
          .get(part.records[0]!)
          ?.some(({ batch, offset }) => batch.topicId === made.made && offset === part.base);
        const outside = places.get(part.records[0]!)?.some(({ batch }) => batch.topicId !== made.made);
        if (inside && !outside) {
          found.push({ kind: 'stored after delete', what: `${part.records[0]} began after ${made.made} was gone` });
        }
      }
    }
  }
  return found;
}
