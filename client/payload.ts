import { createHash } from 'node:crypto';
import type { Connection } from './connection.ts';
import { PayloadInvalid, type TopicPartitionOffset } from './consumer-errors.ts';
import { Aborted } from './errors.ts';
import { eitherSignal, LATE, within } from './surroundings.ts';
import { pathOf } from './transport.ts';

/** Where an uploaded value is to be had. */
export interface UploadLink {
  /** A presigned GET, good for about an hour after the record was read. */
  readonly url: string;
  /** Bytes. */
  readonly size: number;
  /** 64 hex digits. */
  readonly sha256: string;
}

/** What `payload` may be told. */
export interface PayloadOptions {
  readonly signal?: AbortSignal;
}

/** Statuses with which S3 refuses a URL that has expired. */
const EXPIRED = [400, 403];

/** Downloads uploaded values. */
export class Payloads {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * The bytes as they come, at most one chunk in memory. Size and SHA-256 are known to be right once the last chunk was
   * given: what is made of the bytes before that is provisional.
   * @throws {PayloadInvalid} when the download is refused, breaks off, or brings other bytes than were uploaded
   */
  async *chunks(
    place: TopicPartitionOffset,
    link: UploadLink,
    { signal }: PayloadOptions = {},
  ): AsyncGenerator<Uint8Array, void, void> {
    const enough = new AbortController();
    const stop = eitherSignal(enough.signal, signal);
    const hash = createHash('sha256');
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
    let size = 0;
    try {
      const body = (await this.#open(place, link, stop.signal)).getReader();
      reader = body;
      for (;;) {
        const { done, value } = await this.#attempt(link, () => body.read(), stop.signal);
        if (done) break;
        size += value.length;
        if (size > link.size) throw new PayloadInvalid(`The payload is longer than its ${link.size} bytes`, link);
        hash.update(value);
        yield value;
      }
    } finally {
      enough.abort('enough'); // nobody reads on
      stop.forget();
      await reader?.cancel().catch(() => {}); // whatever the connection says is of no interest
    }
    if (size !== link.size) {
      throw new PayloadInvalid(`The payload ended at ${size} of ${link.size} bytes`, link, { retryable: true });
    }
    if (hash.digest('hex') !== link.sha256.toLowerCase())
      throw new PayloadInvalid('The payload is not what was uploaded: its SHA-256 differs', link);
  }

  /** All bytes, verified. @throws {PayloadInvalid} */
  async bytes(place: TopicPartitionOffset, link: UploadLink, options?: PayloadOptions): Promise<Uint8Array> {
    const bytes = new Uint8Array(link.size);
    let at = 0;
    for await (const chunk of this.chunks(place, link, options)) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    return bytes;
  }

  /** The record may have been read long ago: an expired URL is replaced by a new one, once. */
  async #open(place: TopicPartitionOffset, link: UploadLink, signal: AbortSignal) {
    let response = await this.#get(link, link.url, signal);
    if (EXPIRED.includes(response.status)) {
      await response.body?.cancel();
      response = await this.#get(link, await this.#newUrl(place, link, signal), signal);
    }
    if (response.ok && response.body !== null) return response.body;
    await response.body?.cancel();
    throw new PayloadInvalid(`The payload's download was refused with status ${response.status}`, link, {
      retryable: response.status >= 500 || response.status === 429,
    });
  }

  #get(link: UploadLink, url: string, signal: AbortSignal): Promise<Response> {
    return this.#attempt(link, () => this.#connection.transport.fetch(url, { signal }), signal);
  }

  async #newUrl(place: TopicPartitionOffset, link: UploadLink, signal: AbortSignal): Promise<string> {
    const { topic, partition, offset } = place;
    const answer = await this.#connection.call({
      method: 'GET',
      path: pathOf('topics', topic, 'partitions', partition, 'records'),
      query: { offset, maxRecords: 1 },
      signal,
    });
    const [record] = answer.json<{ records: { offset: number; value?: Partial<UploadLink> }[] }>().records;
    const { url, sha256 } = (record?.offset === offset && record.value) || {};
    if (url !== undefined && sha256 === link.sha256) return url;
    throw new PayloadInvalid('The record of this payload is no longer there', link);
  }

  /** One step of a download: it may take as long as one attempt of any call. */
  async #attempt<T>(link: UploadLink, act: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { transport, surroundings } = this.#connection;
    const { timeoutMs } = transport;
    const done = await within(act(), timeoutMs, surroundings, signal).catch((cause: unknown) => {
      if (signal.aborted) throw new Aborted(signal);
      throw new PayloadInvalid('The payload could not be downloaded', link, { cause, retryable: true });
    });
    if (done !== LATE) return done;
    throw new PayloadInvalid(`Nothing of the payload came for ${timeoutMs} ms`, link, { retryable: true });
  }
}
