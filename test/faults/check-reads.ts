import { type BoundsCall, type Indexed, logOf, type ReadCall, type StoredBatch, type Violation } from './history.ts';

/** A3 and what readers are told: nothing is stepped over, nothing is torn or changed, watermarks only grow. */
export function checkReads(history: Indexed): Violation[] {
  const byLog = new Map<string, StoredBatch[]>();
  for (const batch of history.stored) {
    const list = byLog.get(logOf(batch)) ?? [];
    byLog.set(logOf(batch), list);
    list.push(batch);
  }
  return [
    ...history.reads.flatMap((read) => checkRead(read, byLog.get(logOf(read)) ?? [])),
    ...checkBounds(history.bounds, byLog),
  ];
}

function checkRead(read: ReadCall, batches: readonly StoredBatch[]): Violation[] {
  const given = new Map(read.records.map(({ offset, record }) => [offset, record]));
  const found: Violation[] = [];
  const say = (kind: Violation['kind'], what: string) =>
    found.push({
      kind,
      what: `${read.reader} at ${read.begin}..${read.end} read ${logOf(read)} ${read.from}..${read.to}: ${what}`,
    });
  for (const batch of batches) {
    const lost: string[] = [];
    let got = 0;
    for (const [i, record] of batch.records.entries()) {
      const offset = batch.base + i;
      if (offset < read.from || offset >= read.to) continue;
      if (given.has(offset)) got += 1;
      else if (batch.goneFrom === undefined || read.end < batch.goneFrom) lost.push(`${record}@${offset}`);
      if (given.has(offset) && given.get(offset) !== record)
        say('changed', `${given.get(offset)} instead of ${record}@${offset}`);
      given.delete(offset);
    }
    if (lost.length > 0) say(got > 0 ? 'torn batch' : 'step-over', `${lost.join(', ')} not delivered`);
  }
  for (const [offset, record] of given) say('phantom', `${record}@${offset} is not stored there`);
  return found;
}

function checkBounds(bounds: readonly BoundsCall[], byLog: ReadonlyMap<string, readonly StoredBatch[]>): Violation[] {
  const found: Violation[] = [];
  const perLog = new Map<string, BoundsCall[]>();
  for (const call of bounds) perLog.set(logOf(call), [...(perLog.get(logOf(call)) ?? []), call]);
  for (const [log, calls] of perLog) {
    const promised = calls.filter((call) => call.of === 'partitions');
    for (const later of calls) {
      const earlier = promised.filter(({ end }) => end < later.begin);
      const highest = Math.max(...earlier.map((call) => call.highWatermark));
      if (later.of === 'partitions' && later.highWatermark < highest) {
        found.push({
          kind: 'watermark went back',
          what: `${log}: from ${highest} to ${later.highWatermark} at ${later.end}`,
        });
      }
      for (const batch of byLog.get(log) ?? []) {
        const last = batch.base + batch.records.length - 1;
        const gone = batch.goneFrom !== undefined && later.end >= batch.goneFrom;
        if (last < later.logStart && !gone) {
          found.push({
            kind: 'log start above a record',
            what: `${log}: ${later.logStart} at ${later.end}, ${batch.records[0]}@${batch.base}`,
          });
        }
        if (batch.base < later.highWatermark && batch.storedAt !== undefined && batch.storedAt > later.end) {
          found.push({
            kind: 'stored below the watermark',
            what: `${log}: ${batch.records[0]}@${batch.base} came at ${batch.storedAt}, after ${later.highWatermark} was told at ${later.end}`,
          });
        }
      }
    }
  }
  return found;
}
