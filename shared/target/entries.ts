import type { Delivered, DeliveryBatch } from '../domain/delivery.ts';
import { byDeadline, type Refusal, refusalOf, refusalOfEntry } from './aws-errors.ts';
import { type Fitted, type Fitting, fitRecord } from './fitting.ts';

/** An entry that was not taken. */
export interface RefusedEntry {
  /** Its place among those sent. */
  readonly index: number;
  readonly code: string;
  readonly message: string;
}

/** How a service takes records: several by one call, each with a result of its own. */
export interface EntryCalls extends Fitting {
  readonly entriesMax: number;
  /** Of all entries of one call together, and of one. */
  readonly bytesMax: number;
  /** What an entry weighs beside its text. */
  readonly overheadBytes: number;
  /** @returns the entries that were not taken */
  readonly send: (entries: readonly Fitted[], signal: AbortSignal) => Promise<readonly RefusedEntry[]>;
}

/**
 * Sends a batch in as many calls as it takes, in order, up to the first record that is not taken: those behind it in the
 * same call may have been, and come again.
 */
export async function sendEntries(batch: DeliveryBatch, deadline: number, calls: EntryCalls): Promise<Delivered> {
  let [entries, bytes]: [Fitted[], number] = [[], 0];
  for (const record of batch.records) {
    const entry = await fitRecord(batch, record, calls.bytesMax - calls.overheadBytes, calls);
    const weight = entry === undefined ? 0 : entry.bytes + calls.overheadBytes;
    if (entry === undefined || entries.length === calls.entriesMax || bytes + weight > calls.bytesMax) {
      const refusal = await call(entries, deadline, calls);
      if (refusal !== undefined) return refusal;
      if (entry === undefined) return { kind: 'too_large', at: record.offset };
      if (Date.now() >= deadline) return { kind: 'part', next: record.offset };
      [entries, bytes] = [[], 0];
    }
    entries.push(entry);
    bytes += weight;
  }
  return (await call(entries, deadline, calls)) ?? { kind: 'done' };
}

/** @returns what became of the lowest record that was not taken */
async function call(entries: readonly Fitted[], deadline: number, calls: EntryCalls): Promise<Refusal | undefined> {
  if (entries.length === 0) return undefined;
  try {
    const refused = await byDeadline(deadline, (signal) => calls.send(entries, signal));
    const lowest = refused.reduce<RefusedEntry | undefined>(
      (low, one) => (low && low.index < one.index ? low : one),
      undefined,
    );
    if (lowest === undefined) return undefined;
    return { ...refusalOfEntry(lowest.code, lowest.message), at: entries[lowest.index]!.record.offset };
  } catch (error) {
    return { ...refusalOf(error), at: entries[0]!.record.offset };
  }
}
