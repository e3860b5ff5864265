import type { Payload } from '../domain/upload.ts';
import { PayloadCorrupt } from './payload-corrupt.ts';

/** The value that is stored for an upload: a JSON text. That it is one the slot says, not the value itself. */
export function encodeUploadValue(uploadId: string, { size, sha256 }: Payload): Uint8Array {
  return Buffer.from(JSON.stringify({ uploadId, size, sha256 }));
}

/**
 * The value as an answer shows it: where the payload is to be had, as a JSON text.
 * @throws {PayloadCorrupt} when the stored value is none of an upload
 */
export function uploadLink(stored: Uint8Array, url: string): Uint8Array {
  return Buffer.from(JSON.stringify({ url, ...uploadPayload(stored) }));
}

/** What was uploaded, as its stored value tells. @throws {PayloadCorrupt} when the value is none of an upload */
export function uploadPayload(stored: Uint8Array): Payload {
  const { size, sha256 } = parse(stored);
  if (typeof size !== 'number' || typeof sha256 !== 'string') throw new PayloadCorrupt('a value is no upload');
  return { size, sha256 };
}

/** @throws {PayloadCorrupt} when the stored value is none of an upload */
export function uploadIdOf(stored: Uint8Array): string {
  const { uploadId } = parse(stored);
  if (typeof uploadId !== 'string') throw new PayloadCorrupt('a value is no upload');
  return uploadId;
}

function parse(stored: Uint8Array): Partial<Payload & { readonly uploadId: string }> {
  try {
    return { ...JSON.parse(Buffer.from(stored).toString()) };
  } catch (cause) {
    throw new PayloadCorrupt('a value is no upload', { cause });
  }
}
