import type { BatchSlot } from '../domain/slot.ts';
import { decodeKeptRecord } from './dead-letter-record.ts';
import { PayloadCorrupt } from './payload-corrupt.ts';
import { uploadIdOf } from './upload-value.ts';

const NOTHING = new Uint8Array();
/** A slot's own data, none of which a single record has. */
const ALONE = { kind: 'batch', count: 1, at: 0, previous: [], expiresAt: 0, append: '' } as const;

/**
 * The record that a dead letter keeps, as if it lay alone in a slot at its offset: so it is shown like any other.
 *
 * @param payload as `encodeKeptRecord` made it; undefined: it is gone
 * @returns with the id of the upload that is its value, if that is one
 */
export function keptSlot(
  payload: Uint8Array | undefined,
  offset: number,
): { readonly slot: BatchSlot; readonly uploadId?: string } {
  const damaged = (unreadable: NonNullable<BatchSlot['unreadable']>) => {
    return { slot: { ...ALONE, last: offset, batch: NOTHING, json: false, unreadable } };
  };
  if (payload === undefined) return damaged('payload_missing');
  const kept = decodeKeptRecord(payload);
  if (!('batch' in kept)) return damaged(kept.form);
  const slot = { ...ALONE, last: offset, batch: payload.subarray(1), json: kept.form === 'json' };
  if (kept.form !== 'upload') return { slot };
  try {
    const { batch } = kept;
    return { slot, uploadId: uploadIdOf(batch.data.subarray(batch.valueStart(0), batch.valueEnd(0))) };
  } catch (error) {
    if (error instanceof PayloadCorrupt) return damaged('payload_corrupt');
    throw error;
  }
}
