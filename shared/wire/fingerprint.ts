import { createHash } from 'node:crypto';
import type { Batch, ProducedRecord } from '../domain/record.ts';

/*
 * What makes two requests the same: their records, in order, as decoded. The spelling of the request around them
 * (order of JSON members, encodings of the same bytes, white space) makes no difference.
 *
 * Hashed, each number as 8 bytes, big endian, two's complement; each text or byte string behind its length, a null as
 * length −1, and an upload as length −2 and its id: 1, number of records, then per record its partition (−1: none), timestamp (−1: none), key, value, number
 * of headers, and each header's name and value. Of a ready-made batch: 2, partition, bytes.
 */

const RECORDS = 1;
const BATCH = 2;

/** SHA-256 in hex. */
export function fingerprintOfRecords(records: readonly ProducedRecord[]): string {
  const hash = new Fingerprint(RECORDS);
  hash.number(records.length);
  for (const { partition, timestamp, key, value, headers, upload } of records) {
    hash.number(partition ?? -1);
    hash.number(timestamp ?? -1);
    hash.bytes(key);
    if (upload === undefined) hash.bytes(value);
    else hash.upload(upload);
    hash.number(headers.length);
    for (const header of headers) {
      hash.bytes(Buffer.from(header.name));
      hash.bytes(header.value);
    }
  }
  return hash.end();
}

/** SHA-256 in hex. */
export function fingerprintOfBatch(partition: number, { bytes }: Batch): string {
  const hash = new Fingerprint(BATCH);
  hash.number(partition);
  hash.bytes(bytes);
  return hash.end();
}

class Fingerprint {
  readonly #hash = createHash('sha256');

  constructor(kind: number) {
    this.number(kind);
  }

  number(value: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64BE(BigInt(value));
    this.#hash.update(bytes);
  }

  bytes(value: Uint8Array | null): void {
    this.number(value === null ? -1 : value.length);
    if (value !== null) this.#hash.update(value);
  }

  upload(id: string): void {
    this.number(-2);
    this.bytes(Buffer.from(id));
  }

  end(): string {
    return this.#hash.digest('hex');
  }
}
