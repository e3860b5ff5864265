import type { DeliveryRecord } from '../domain/delivery.ts';
import type { Payload } from '../domain/upload.ts';
import { readKeptRecord } from './dead-letter-record.ts';
import { PayloadCorrupt } from './payload-corrupt.ts';
import { uploadIdOf, uploadPayload } from './upload-value.ts';

/** The record that a dead letter keeps, as it is delivered, or why there is none. `upload`: stands for its value. */
export function openKeptRecord(
  bytes: Uint8Array,
  offset: number,
): { readonly record: DeliveryRecord; readonly upload?: Payload & { readonly uploadId: string } } | string {
  try {
    const kept = readKeptRecord(bytes);
    if (!('record' in kept)) return kept.form;
    const { key, value, headers, timestamp } = kept.record;
    const record = { offset, timestamp, key, value, headers, json: kept.form === 'json' };
    if (kept.form !== 'upload') return { record };
    const stored = value ?? new Uint8Array();
    return { record, upload: { ...uploadPayload(stored), uploadId: uploadIdOf(stored) } };
  } catch (error) {
    if (error instanceof PayloadCorrupt) return 'payload_corrupt';
    throw error;
  }
}
