/** An upload's own key. It belongs to one incarnation of a topic. */
export interface UploadId {
  readonly topicId: string;
  /** ULID. */
  readonly uploadId: string;
}

/** What was announced of a payload before it was uploaded. */
export interface Payload {
  /** Bytes. */
  readonly size: number;
  /** In hex, lower case. */
  readonly sha256: string;
}

/**
 * Stands for the payload of an upload that is forgotten, so that its request can be laid out once more: a batch that names
 * such an upload is never stored, because it cannot be taken.
 */
export const FORGOTTEN_PAYLOAD: Payload = { size: 0, sha256: '0'.repeat(64) };

/** A payload on its way into the log, or the value of a record in it. */
export interface Upload extends UploadId, Payload {
  /** Epoch ms by which a record must have named it. */
  readonly expiresAt: number;
  /** The slot that it was taken for; absent: none yet. */
  readonly use?: UploadUse;
}

/** A reserved slot, of the upload's own topic, with a record whose value the upload is to be. */
export interface UploadUse {
  readonly partition: number;
  /** Offset of the slot's last record: names the slot, and no other ever. */
  readonly last: number;
  readonly count: number;
  /** Epoch ms of the reservation. */
  readonly at: number;
}

/** A record of a produce request whose value is an upload. */
export interface UploadReference {
  /** The record's place in the request, from 0. */
  readonly index: number;
  /** As the producer gave it: anything. */
  readonly uploadId: string;
}

/** Whether a text may be the id of an upload. */
export function isUploadId(text: string): boolean {
  return /^[0-9A-HJKMNP-TV-Z]{26}$/.test(text);
}
