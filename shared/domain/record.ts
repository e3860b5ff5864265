import type { UploadReference } from './upload.ts';

/** One header; names may repeat and keep their order. A null value is a value of its own. */
export interface Header {
  readonly name: string;
  readonly value: Uint8Array | null;
}

/** A record as a producer hands it over. A null key is "no key", an empty one is a key; a null value is a tombstone. */
export interface ProducedRecord {
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly headers: readonly Header[];
  /** Epoch ms, as the producer gave it; absent: the time at which the backbone took the record. */
  readonly timestamp?: number;
  /** The partition that the producer chose; absent: by key, or any. */
  readonly partition?: number;
  /** Id of the upload that is its value; then `value` is null until it is known what was uploaded. */
  readonly upload?: string;
}

/** Records of one partition, encoded for storage: what one append stores. */
export interface Batch {
  /** Number of records = number of offsets it takes. 1 to `RECORDS_PER_REQUEST_MAX`. */
  readonly count: number;
  /** A Kafka record batch v2 whose base offset is 0; readers patch it. */
  readonly bytes: Uint8Array;
  /** Every value in it is a JSON text (or a tombstone), verified when it was taken in: readers need not parse it again. */
  readonly json: boolean;
  /** Its records whose values are uploads; absent: none. */
  readonly uploads?: readonly BatchUpload[];
}

/** One record of a batch whose value is an upload. */
export interface BatchUpload extends UploadReference {
  /** Its place in the batch, from 0. */
  readonly position: number;
}
