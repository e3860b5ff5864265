import type { OpenedLetter } from '../domain/dead-letter.ts';
import { readKeptRecord } from './dead-letter-record.ts';
import { laneOf } from './lane-of.ts';
import { PayloadCorrupt } from './payload-corrupt.ts';
import { uploadIdOf, uploadPayload } from './upload-value.ts';

/** The record that a dead letter keeps, as it is delivered, or why there is none. */
export function openKeptRecord(bytes: Uint8Array, offset: number): OpenedLetter | string {
  try {
    const kept = readKeptRecord(bytes);
    if (!('record' in kept)) return kept.form;
    const { key, value, headers, timestamp } = kept.record;
    const record = { offset, timestamp, key, value, headers, json: kept.form === 'json' };
    const opened = { record, ...(key !== null && { lane: laneOf(key) }) };
    if (kept.form !== 'upload') return opened;
    const stored = value ?? new Uint8Array();
    return { ...opened, upload: { ...uploadPayload(stored), uploadId: uploadIdOf(stored) } };
  } catch (error) {
    if (error instanceof PayloadCorrupt) return 'payload_corrupt';
    throw error;
  }
}
