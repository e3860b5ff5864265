import { createHash } from 'node:crypto';
import { PayloadInvalid } from './consumer-errors.ts';

/** Where an uploaded value is to be had. */
export interface UploadLink {
  /** A presigned GET, good for an hour or so after the record was read. */
  readonly url: string;
  /** Bytes. */
  readonly size: number;
  /** 64 hex digits. */
  readonly sha256: string;
}

export type Download = (url: string, init: { signal?: AbortSignal }) => Promise<Response>;

/** What `payload` may be told. */
export interface PayloadOptions {
  readonly signal?: AbortSignal;
}

/**
 * The bytes of an upload as they come, at most one chunk in memory. Size and SHA-256 are known to be right once the
 * last chunk was given: what is made of the bytes before that is provisional.
 * @throws {PayloadInvalid} when the download is refused, breaks off, or brings other bytes than were uploaded
 */
export async function* downloadChunks(
  link: UploadLink,
  download: Download,
  { signal }: PayloadOptions = {},
): AsyncGenerator<Uint8Array, void, void> {
  const response = await attempt(link, () => download(link.url, signal ? { signal } : {}), signal);
  if (!response.ok || response.body === null) {
    await response.body?.cancel();
    throw new PayloadInvalid(`The payload's download was refused with status ${response.status}`, link, {
      retryable: response.status >= 500 || response.status === 429,
    });
  }
  const reader = response.body.getReader();
  const hash = createHash('sha256');
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await attempt(link, () => reader.read(), signal);
      if (done) break;
      size += value.length;
      if (size > link.size) throw new PayloadInvalid(`The payload is longer than its ${link.size} bytes`, link);
      hash.update(value);
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {}); // nobody reads on: whatever the connection says is of no interest
  }
  if (size !== link.size) throw new PayloadInvalid(`The payload ended at ${size} of ${link.size} bytes`, link);
  if (hash.digest('hex') !== link.sha256.toLowerCase())
    throw new PayloadInvalid('The payload is not what was uploaded: its SHA-256 differs', link);
}

/** All bytes of an upload, verified. @throws {PayloadInvalid} */
export async function downloadBytes(
  link: UploadLink,
  download: Download,
  options?: PayloadOptions,
): Promise<Uint8Array> {
  const bytes = new Uint8Array(link.size);
  let at = 0;
  for await (const chunk of downloadChunks(link, download, options)) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

async function attempt<T>(link: UploadLink, act: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  try {
    return await act();
  } catch (cause) {
    signal?.throwIfAborted();
    throw new PayloadInvalid('The payload could not be downloaded', link, { cause, retryable: true });
  }
}
