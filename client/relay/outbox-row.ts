import { hasLoneSurrogateEscape } from '../../shared/wire/json-text.ts';
import type { Encoder } from '../codec.ts';
import { ValidationError } from '../errors.ts';
import { type EncodedRecord, encodeMessage } from '../producer-record.ts';
import type { MessageHeaders } from '../producer-words.ts';
import type { ValueType } from './outbox-table-sql.ts';

/** A row as it is read. */
export interface OutboxRow {
  /** Decimal: it may be above 2^53. */
  readonly id: string;
  readonly topic: string;
  readonly key: string | null;
  /** Bytes where the column is `bytea`, else text. */
  readonly value: string | Uint8Array | null;
  /** JSON text. */
  readonly headers: string | null;
  /** Epoch ms, decimal; null: it is infinite. */
  readonly createdMs: string | null;
}

/** The values are bytes already. */
const AS_THEY_ARE: Encoder<Uint8Array> = { encode: (value) => value };

/**
 * The record that a row stands for: the same one, however often it is asked for.
 * @throws {ValidationError} @throws {RecordTooLarge} the row cannot be sent as it is
 */
export async function recordOf(row: OutboxRow, valueType: ValueType): Promise<EncodedRecord> {
  if (row.createdMs === null) throw new ValidationError('Its created_at is infinite');
  const timestamp = Number(row.createdMs);
  const headers = row.headers === null ? undefined : (JSON.parse(row.headers) as MessageHeaders | null);
  const message = {
    ...{ key: row.key, value: bytesOf(row.value, valueType), timestamp },
    ...(headers !== null && headers !== undefined && { headers }),
  };
  return await encodeMessage(AS_THEY_ARE, message, { topic: row.topic, index: 0, now: timestamp });
}

function bytesOf(value: OutboxRow['value'], valueType: ValueType): Uint8Array | null {
  if (value === null || value instanceof Uint8Array) return value;
  const bytes = Buffer.from(value);
  if (valueType === 'json' || valueType === 'jsonb') {
    if (value.trim() === 'null') throw new ValidationError('Its value is the JSON null; SQL NULL is a tombstone');
    if (hasLoneSurrogateEscape(bytes)) throw new ValidationError('Its value has half of a surrogate pair');
  }
  return bytes;
}
