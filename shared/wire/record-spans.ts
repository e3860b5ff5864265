import { INFLATED_BATCH_BYTES_MAX } from '../domain/limits.ts';
import { AT, type BatchHeader, readBatchHeader } from './batch-header.ts';
import { gunzipWithin } from './gunzip.ts';
import { PayloadCorrupt } from './payload-corrupt.ts';
import { VarintReader } from './varint.ts';

/** Key start, key end, value start, value end, where the headers begin, how many they are, bytes of the record. */
const FIELDS = 7;
/** A start for "null": there are no bytes. */
const NULL = -1;

/** Where the parts of a batch's records lie: a reader picks from `data` without an object per record. */
export class RecordSpans {
  readonly timestamps: Float64Array;
  readonly #spans: Int32Array;

  constructor(
    readonly count: number,
    /** The records, inflated. */
    readonly data: Buffer,
  ) {
    this.timestamps = new Float64Array(count);
    this.#spans = new Int32Array(count * FIELDS);
  }

  /** −1: the key is null. */
  keyStart(i: number): number {
    return this.#spans[i * FIELDS]!;
  }
  keyEnd(i: number): number {
    return this.#spans[i * FIELDS + 1]!;
  }
  /** −1: the value is null. */
  valueStart(i: number): number {
    return this.#spans[i * FIELDS + 2]!;
  }
  valueEnd(i: number): number {
    return this.#spans[i * FIELDS + 3]!;
  }
  /** How many headers the record has. */
  headerCount(i: number): number {
    return this.#spans[i * FIELDS + 5]!;
  }
  /** Bytes of the whole record. */
  recordBytes(i: number): number {
    return this.#spans[i * FIELDS + 6]!;
  }
  /** For each header of the record: name start, name end, value start (−1: null), value end. */
  headers(i: number): readonly number[] {
    const count = this.headerCount(i);
    if (count === 0) return NO_HEADERS;
    const reader = new VarintReader(this.data);
    reader.position = this.#spans[i * FIELDS + 4]!;
    const spans: number[] = [];
    for (let k = 0; k < 2 * count; k++) {
      const length = reader.varint();
      if (length < 0) spans.push(NULL, NULL);
      else spans.push(reader.position, reader.position + length);
      reader.skip(length);
    }
    return spans;
  }

  /** Walks all records once, checking every byte's place. @throws {PayloadCorrupt} */
  fill(header: BatchHeader): this {
    const reader = new VarintReader(this.data);
    for (let i = 0; i < this.count; i++) {
      const length = lengthOf(reader, 0);
      const end = reader.position + length;
      this.#spans[i * FIELDS + 6] = length;
      reader.byte(); // attributes: none has a meaning
      const delta = reader.varlong();
      this.timestamps[i] = header.logAppendTime ? header.maxTimestamp : timestampOf(header.baseTimestamp, delta);
      const offsetDelta = reader.varint();
      if (offsetDelta !== i) throw new PayloadCorrupt(`record ${i} has offset delta ${offsetDelta}`);
      this.#span(reader, i * FIELDS);
      this.#span(reader, i * FIELDS + 2);
      this.#headers(reader, i * FIELDS + 4);
      if (reader.position !== end) throw new PayloadCorrupt(`record ${i} is not as long as it says`);
    }
    if (reader.position === this.data.length) return this;
    throw new PayloadCorrupt(`${this.data.length - reader.position} bytes follow the last record`);
  }

  #span(reader: VarintReader, at: number): void {
    const length = lengthOf(reader, NULL);
    this.#spans[at] = length < 0 ? NULL : reader.position;
    reader.skip(length);
    this.#spans[at + 1] = reader.position;
  }

  #headers(reader: VarintReader, at: number): void {
    const count = lengthOf(reader, 0); // each takes two bytes at least
    this.#spans[at] = reader.position;
    this.#spans[at + 1] = count;
    for (let k = 0; k < count; k++) {
      reader.skip(lengthOf(reader, 0));
      reader.skip(lengthOf(reader, NULL));
    }
  }
}

const NO_HEADERS: readonly number[] = [];

/**
 * Opens a stored batch: header and CRC checked, inflated, every record walked.
 * @throws {PayloadCorrupt} on any damage, or when it inflates past `INFLATED_BATCH_BYTES_MAX`
 */
export function openBatch(bytes: Uint8Array): RecordSpans {
  const header = readBatchHeader(bytes);
  const records = Buffer.from(bytes.buffer, bytes.byteOffset + AT.records, bytes.length - AT.records);
  return new RecordSpans(header.count, header.gzip ? inflate(records) : records).fill(header);
}

/** A length or count that what is left can hold. */
function lengthOf(reader: VarintReader, least: number): number {
  const length = reader.varint();
  if (length >= least && length <= reader.bytes.length - reader.position) return length;
  throw new PayloadCorrupt(`a length of ${length} bytes does not fit`);
}

function timestampOf(base: number, delta: number): number {
  const timestamp = base + delta;
  if (Number.isSafeInteger(timestamp)) return timestamp;
  throw new PayloadCorrupt('a timestamp is beyond 2^53');
}

function inflate(packed: Buffer): Buffer {
  try {
    return gunzipWithin(packed, INFLATED_BATCH_BYTES_MAX);
  } catch (cause) {
    throw new PayloadCorrupt('its gzip cannot be inflated within bounds', { cause });
  }
}
