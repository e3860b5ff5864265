import type { Correction } from '../domain/dead-letter.ts';
import { type BatchSlot, baseOf } from '../domain/slot.ts';
import { PayloadCorrupt } from './payload-corrupt.ts';
import { decodeRecordBatch, encodeRecordBatch, type StoredRecord } from './record-batch.ts';
import { openBatch, type RecordSpans } from './record-spans.ts';

/*
 * Payload of a dead letter: the record as it was.
 *
 *   form     1 byte   0: a record · 1: a record whose value is a JSON text or null · 2: a record whose value is an upload ·
 *                     3: its payload was missing · 4: its batch was damaged
 *   batch    rest     forms 0 to 2: a Kafka record batch v2 of this one record, base offset 0
 */
const FORMS = ['bytes', 'json', 'upload', 'payload_missing', 'payload_corrupt'] as const;
const BATCH_AT = 1;

type Form = (typeof FORMS)[number];

/** A record as a dead letter keeps it, or why there is none. */
export type KeptRecord =
  | { readonly form: 'bytes' | 'json' | 'upload'; readonly batch: RecordSpans }
  | { readonly form: 'payload_missing' | 'payload_corrupt' };

/** Takes one record out of its slot, to be kept on its own. */
export function encodeKeptRecord(slot: BatchSlot, offset: number): Uint8Array {
  if (slot.unreadable !== undefined) return encode(slot.unreadable);
  const position = offset - baseOf(slot);
  try {
    const records = decodeRecordBatch(slot.batch, 0);
    const record = records[position];
    if (record === undefined || records.length !== slot.count) return encode('payload_corrupt');
    const form = slot.uploads?.has(position) ? 'upload' : slot.json ? 'json' : 'bytes';
    return encode(form, encodeRecordBatch([record], record.timestamp));
  } catch (error) {
    if (error instanceof PayloadCorrupt) return encode('payload_corrupt');
    throw error;
  }
}

/** Reads what `encodeKeptRecord` made; what is damaged since is told as such. */
export function decodeKeptRecord(payload: Uint8Array): KeptRecord {
  const form: Form = FORMS[payload[0]!] ?? 'payload_corrupt';
  if (form === 'payload_missing' || form === 'payload_corrupt') return { form };
  try {
    const batch = openBatch(payload.subarray(BATCH_AT));
    return batch.count === 1 ? { form, batch } : { form: 'payload_corrupt' };
  } catch (error) {
    if (error instanceof PayloadCorrupt) return { form: 'payload_corrupt' };
    throw error;
  }
}

/** As `decodeKeptRecord`, with the record taken apart. @throws {PayloadCorrupt} */
export function readKeptRecord(
  payload: Uint8Array,
):
  | { readonly form: 'bytes' | 'json' | 'upload'; readonly record: StoredRecord }
  | Exclude<KeptRecord, { batch: unknown }> {
  const form: Form = FORMS[payload[0]!] ?? 'payload_corrupt';
  if (form === 'payload_missing' || form === 'payload_corrupt') return { form };
  const [record, ...more] = decodeRecordBatch(payload.subarray(BATCH_AT), 0);
  return record === undefined || more.length > 0 ? { form: 'payload_corrupt' } : { form, record };
}

/** The bytes of a kept record's key; null: it has none. */
export function keyOf(batch: RecordSpans): Buffer | null {
  return batch.keyStart(0) < 0 ? null : batch.data.subarray(batch.keyStart(0), batch.keyEnd(0));
}

/** The key of the record that a dead letter keeps; undefined: there is no record. */
export function keyOfLetter(payload: Uint8Array): Uint8Array | null | undefined {
  const kept = decodeKeptRecord(payload);
  return 'batch' in kept ? keyOf(kept.batch) : undefined;
}

/**
 * The record that a dead letter keeps, with what is to be different in it.
 * @returns why it cannot be corrected: there is no record
 */
export function correctLetter(
  payload: Uint8Array,
  { value, json = false, headers }: Correction,
): Uint8Array | 'payload_missing' | 'payload_corrupt' {
  const kept = readKept(payload);
  if (!('record' in kept)) return kept.form;
  const { key, timestamp, ...was } = kept.record;
  const form = value === undefined ? kept.form : json ? 'json' : 'bytes';
  const record = { key, timestamp, value: value === undefined ? was.value : value, headers: headers ?? was.headers };
  return encode(form, encodeRecordBatch([record], timestamp));
}

function readKept(payload: Uint8Array): ReturnType<typeof readKeptRecord> {
  try {
    return readKeptRecord(payload);
  } catch (error) {
    if (error instanceof PayloadCorrupt) return { form: 'payload_corrupt' };
    throw error;
  }
}

function encode(form: Form, batch: Uint8Array = new Uint8Array()): Uint8Array {
  return Buffer.concat([Buffer.from([FORMS.indexOf(form)]), batch]);
}
