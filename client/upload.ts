import { createHash } from 'node:crypto';
import { UPLOAD_BYTES_MAX } from '../shared/domain/limits.ts';
import { JSON_TYPE } from '../shared/wire/media-type.ts';
import type { Connection } from './connection.ts';
import { ValidationError } from './errors.ts';
import { UPLOAD_TIMEOUT_MS_DEFAULT } from './limits.ts';
import { retrying } from './retry.ts';
import { pathOf } from './transport.ts';

/** A payload that was uploaded, to be the value of one message within a day. */
export class Upload {
  constructor(
    readonly topic: string,
    readonly uploadId: string,
    /** Bytes. */
    readonly size: number,
    /** 64 hex digits. */
    readonly sha256: string,
    /** Epoch ms. */
    readonly expiresAt: number,
  ) {}
}

export interface UploadOptions {
  readonly signal?: AbortSignal;
  /** One transfer. Default: 15 min. */
  readonly timeoutMs?: number;
}

/**
 * Uploads a payload of up to 5 GB straight to the bucket. A `Blob` is read twice and never held in memory as a whole:
 * `fs.openAsBlob(path)` gives one of a file. Repeated while it fails in a way that may pass.
 *
 * @throws {ValidationError} when it is empty, too large, or neither of the two
 * @throws {ApiError} @throws {ConnectionError} @throws {RequestTimeout} @throws {Aborted}
 */
export async function upload(
  connection: Connection,
  topic: string,
  payload: Uint8Array | Blob,
  { signal, timeoutMs = UPLOAD_TIMEOUT_MS_DEFAULT }: UploadOptions = {},
): Promise<Upload> {
  if (!(payload instanceof Uint8Array || payload instanceof Blob)) {
    throw new ValidationError('An upload must be a Uint8Array or a Blob');
  }
  const size = payload instanceof Blob ? payload.size : payload.length;
  if (size < 1 || size > UPLOAD_BYTES_MAX) {
    throw new ValidationError(`An upload must have 1 to ${UPLOAD_BYTES_MAX} bytes, not ${size}`);
  }
  const sha256 = await sha256Of(payload);
  const announced = await connection.call({
    method: 'POST',
    path: pathOf('topics', topic, 'uploads'),
    body: { type: JSON_TYPE, bytes: JSON.stringify({ size, sha256 }) },
    signal,
  });
  const { uploadId, url, headers, expiresAt } = announced.json<Announced>();
  const request = { method: 'PUT', headers, body: payload } as const;
  const { retry, surroundings, transport } = connection;
  await retrying(() => transport.outside(url, request, { timeoutMs, signal }), {
    ...{ ...retry, withinMs: Math.max(retry.withinMs, timeoutMs), signal, surroundings },
  });
  return new Upload(topic, uploadId, size, sha256, expiresAt);
}

interface Announced {
  readonly uploadId: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly expiresAt: number;
}

async function sha256Of(payload: Uint8Array | Blob): Promise<string> {
  const hash = createHash('sha256');
  if (payload instanceof Uint8Array) return hash.update(payload).digest('hex');
  for await (const chunk of payload.stream()) hash.update(chunk);
  return hash.digest('hex');
}
