import { isUtf8 } from 'node:buffer';
import { BackboneError, InvalidRequest, RequestTooLarge } from '../domain/errors.ts';
import { RECORD_BYTES_MAX, RECORDS_PER_REQUEST_MAX } from '../domain/limits.ts';
import type { ProducedRecord } from '../domain/record.ts';
import { type JSON_TYPE, NDJSON_TYPE } from './media-type.ts';
import { keyPathOf, parseLine, splitLines } from './ndjson.ts';
import { FieldFault, quoted, type RecordFault, refuseRecords } from './record-fault.ts';
import { parseRecord } from './record-fields.ts';
import { type SentRecords, scanRecords } from './record-scan.ts';
import { type BodyEncoding, RecordText } from './record-text.ts';

export interface ProduceBody {
  /** 1 to `RECORDS_PER_REQUEST_MAX`. Keys and JSON values are views of the body. */
  readonly records: ProducedRecord[];
  /** Every value is a JSON text or null. */
  readonly json: boolean;
}

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/**
 * Reads the body of `POST …/records`: decoded and inflated.
 * @param keyPointer JSON pointer to the key within each line of NDJSON
 * @param partitions how many the topic has, if that is known: records that name others are at fault as well
 * @throws {InvalidRequest} naming every record at fault
 * @throws {RequestTooLarge} with `maxRecords`
 * @throws {RecordTooLarge} naming the first record that is
 */
export function parseProduceBody(
  body: Uint8Array,
  mediaType: typeof JSON_TYPE | typeof NDJSON_TYPE,
  keyPointer?: string,
  partitions = Number.POSITIVE_INFINITY,
): ProduceBody {
  if (!isUtf8(body)) throw new InvalidRequest('The body is not valid UTF-8');
  if (BYTE_ORDER_MARK.equals(body.subarray(0, BYTE_ORDER_MARK.length))) {
    throw new InvalidRequest('The body begins with a byte order mark; send UTF-8 without one');
  }
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return mediaType === NDJSON_TYPE ? parseLines(bytes, keyPointer) : parseEnvelope(bytes, partitions);
}

function parseEnvelope(body: Buffer, partitions: number): ProduceBody {
  if (!body.includes('\\u')) {
    try {
      return readEnvelope(body, 'latin1', partitions);
    } catch (error) {
      if (!(error instanceof BackboneError)) throw error; // else refuse it below, in words that quote it well
    }
  }
  return readEnvelope(body, 'utf8', partitions);
}

function readEnvelope(body: Buffer, encoding: BodyEncoding, partitions: number): ProduceBody {
  const { sent, text } = scanRecords(body, encoding) ?? parseRecords(body, encoding);
  let json = true;
  const records = takeAll(sent.length, (index) => {
    const parsed = parseRecord(sent[index], text, index);
    json &&= parsed.json;
    refuseUnknownPartition(parsed.record, partitions);
    return parsed.record;
  });
  return { records, json };
}

function parseRecords(body: Buffer, encoding: BodyEncoding): SentRecords {
  const sent = recordsOf(parseJson(body, encoding));
  return { sent, text: RecordText.of(body, sent.length, encoding) };
}

function parseLines(body: Buffer, keyPointer: string | undefined): ProduceBody {
  const keyPath = keyPathOf(keyPointer);
  const lines = splitLines(body);
  if (lines.length === 0) throw noRecords();
  const escapes = body.includes('\\u'); // only they can write half of a surrogate pair
  const records = takeAll(
    lines.length,
    (index) => parseLine(lines[index]!.bytes, keyPath, escapes),
    (index) => lines[index]!.number,
  );
  return { records, json: true };
}

/** All records, or a refusal that names every one at fault. */
function takeAll(
  count: number,
  take: (index: number) => ProducedRecord,
  lineOf?: (index: number) => number,
): ProducedRecord[] {
  const records: ProducedRecord[] = [];
  const faults: RecordFault[] = [];
  const blame = (index: number, fault: Omit<RecordFault, 'index' | 'line'>) =>
    faults.push({ index, ...(lineOf !== undefined && { line: lineOf(index) }), ...fault });
  for (let index = 0; index < count; index++) {
    try {
      const record = take(index);
      const bytes = bytesOf(record);
      if (bytes > RECORD_BYTES_MAX) {
        blame(index, {
          field: 'record',
          detail: `it has ${bytes} bytes; at most ${RECORD_BYTES_MAX} are allowed`,
          bytes,
        });
      }
      records.push(record);
    } catch (error) {
      if (!(error instanceof FieldFault)) throw error;
      blame(index, { field: error.field, detail: error.message });
    }
  }
  if (faults.length > 0) refuseRecords(faults);
  return records;
}

function refuseUnknownPartition({ partition = 0 }: ProducedRecord, partitions: number): void {
  if (partition < partitions) return;
  throw new FieldFault('partition', `must be one of 0 to ${partitions - 1}, which the topic has, not ${partition}`);
}

function bytesOf(record: ProducedRecord): number {
  let bytes = (record.key?.length ?? 0) + (record.value?.length ?? 0);
  for (const header of record.headers) bytes += Buffer.byteLength(header.name) + (header.value?.length ?? 0);
  return bytes;
}

function recordsOf(sent: unknown): unknown[] {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) {
    throw new InvalidRequest('The body must be an object with the field records', { field: 'records' });
  }
  const unknown = Object.keys(sent).find((name) => name !== 'records');
  if (unknown !== undefined) throw new InvalidRequest(`${quoted(unknown)} is not a field of a produce request`);
  const records = (sent as { records?: unknown }).records;
  if (!Array.isArray(records)) throw new InvalidRequest('records must be an array', { field: 'records' });
  if (records.length === 0) throw noRecords();
  if (records.length <= RECORDS_PER_REQUEST_MAX) return records;
  throw new RequestTooLarge(
    `There are ${records.length} records; at most ${RECORDS_PER_REQUEST_MAX} go in one request`,
    {
      maxRecords: RECORDS_PER_REQUEST_MAX,
    },
  );
}

function parseJson(body: Buffer, encoding: BodyEncoding): unknown {
  try {
    return JSON.parse(body.toString(encoding));
  } catch (error) {
    // Only the place is told: the message itself may quote what was sent.
    const place = / at position \d+/.exec((error as Error).message)?.[0] ?? '';
    throw new InvalidRequest(`The body is not valid JSON${place}`);
  }
}

function noRecords(): InvalidRequest {
  return new InvalidRequest('There are no records to append', { field: 'records' });
}
