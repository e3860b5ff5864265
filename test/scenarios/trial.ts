import { setTimeout as sleep } from 'node:timers/promises';
import { ulid } from 'ulid';
import { expect } from 'vitest';
import type { Target } from './target.ts';

export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON; a text or bytes as they are. */
  readonly body?: string | Uint8Array | object;
}

/** An answer, read to its end. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  readonly text: string;
  json<T = Record<string, unknown>>(): T;
}

export interface Placed {
  readonly partition: number;
  readonly offset: number;
  readonly timestamp: number;
}

export interface FetchedRecord {
  readonly offset: number;
  readonly key: unknown;
  readonly value: unknown;
  readonly valueEncoding?: string;
  readonly headers: readonly (readonly [string, unknown])[];
}

export interface Fetched {
  readonly topicId: string;
  readonly records: readonly FetchedRecord[];
  readonly nextOffset: number;
  readonly logStartOffset: number;
  readonly highWatermark: number;
}

/** What may be sent again as it is: with an idempotency key nothing is stored twice. */
const ATTEMPTS_MAX = 6;
const PAUSE_MS = 500;
const POLL_MS = 200;
/** One request, on a busy machine, with functions that start cold. */
const REQUEST_TIMEOUT_MS = 60_000;

/**
 * One run of a scenario against a target, by calls of the API alone. Names are its own, so that trials run beside each
 * other and on a backbone that is in use; what it made is removed at its end.
 */
export class Trial {
  readonly target: Target;
  readonly #own = ulid().slice(-10).toLowerCase();
  readonly #removals: string[] = [];

  constructor(target: Target) {
    this.target = target;
  }

  /** A name that no other trial uses. */
  named(name: string): string {
    return `${name}-${this.#own}`;
  }

  /** One request, as any client would send it. */
  async send(method: string, path: string, { headers = {}, body }: Sent = {}): Promise<Reply> {
    const url = new URL(this.target.url + path);
    const bytes = bytesOf(body);
    const named = { ...(isObject(body) && { 'content-type': 'application/json' }), ...headers };
    const signed = await this.target.sign({ method, url, headers: named, body: bytes });
    const answer = await fetch(url, {
      ...{ method, headers: signed, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) },
      ...(bytes && { body: Buffer.from(bytes) }),
    });
    const got = Buffer.from(await answer.arrayBuffer());
    const text = got.toString();
    return { status: answer.status, headers: answer.headers, bytes: got, text, json: () => JSON.parse(text) };
  }

  /** The answer's JSON. Anything but the status fails the scenario, with the answer in the message. */
  async json<T = Record<string, unknown>>(method: string, path: string, sent: Sent = {}, status = 200): Promise<T> {
    const reply = await this.send(method, path, sent);
    expect(`${method} ${path}: ${reply.status}${reply.status === status ? '' : ` ${reply.text}`}`).toBe(
      `${method} ${path}: ${status}`,
    );
    return (reply.text === '' ? undefined : reply.json()) as T;
  }

  /** Makes a topic. @param suffix how its name ends @returns its name */
  async topic(name: string, settings: object = { partitions: 1 }, suffix = ''): Promise<string> {
    const topic = this.named(name) + suffix;
    this.removeLater(`/v1/topics/${topic}`);
    await this.json('PUT', `/v1/topics/${topic}`, { body: settings }, 201);
    return topic;
  }

  /** Appends records; what may be sent again is. @returns where each went */
  async produce(topic: string, records: readonly object[], key: string = ulid()): Promise<readonly Placed[]> {
    const sent = { body: { records }, headers: { 'idempotency-key': key } };
    for (let attempt = 1; ; attempt++) {
      const reply = await this.send('POST', `/v1/topics/${topic}/records`, sent);
      if (reply.status === 200) return reply.json<{ offsets: Placed[] }>().offsets;
      const again = [207, 409, 429, 503].includes(reply.status) && attempt < ATTEMPTS_MAX;
      if (!again) throw new Error(`produce to ${topic}: ${reply.status} ${reply.text}`);
      await sleep(PAUSE_MS);
    }
  }

  /** One fetch. @param query besides the offset */
  fetch(topic: string, offset: number | string = 'earliest', query = '', partition = 0): Promise<Fetched> {
    return this.json('GET', `/v1/topics/${topic}/partitions/${partition}/records?offset=${offset}${query}`);
  }

  /** Everything in a partition, once it is `count` records at least. */
  async records(topic: string, count: number, partition = 0): Promise<readonly FetchedRecord[]> {
    const records: FetchedRecord[] = [];
    let offset: number | string = 'earliest';
    await this.until(`${count} records in ${topic}`, async () => {
      const page: Fetched = await this.fetch(topic, offset, '', partition);
      records.push(...page.records);
      offset = page.nextOffset;
      return records.length >= count;
    });
    return records;
  }

  /** Whether something is in a list, on whichever page. */
  async lists(path: string, member: string, is: (item: { readonly name: string }) => boolean): Promise<boolean> {
    let query = '';
    for (;;) {
      const page = await this.json<Record<string, unknown>>('GET', path + query);
      if ((page[member] as { name: string }[]).some(is)) return true;
      if (page.nextToken === undefined) return false;
      query = `?nextToken=${encodeURIComponent(String(page.nextToken))}`;
    }
  }

  /** Waits for something, as long as the target's patience lasts. */
  async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    const giveUpAt = Date.now() + this.target.patienceMs;
    while (!(await holds())) {
      if (Date.now() > giveUpAt) throw new Error(`waited ${this.target.patienceMs} ms for ${what}`);
      await sleep(POLL_MS);
    }
  }

  /** What is to be deleted when the trial is over; what came last goes first. */
  removeLater(path: string): void {
    this.#removals.push(path);
  }

  /** Removes what was made, whatever came of it. */
  async end(): Promise<void> {
    for (const path of this.#removals.reverse()) await this.send('DELETE', path).catch(() => {});
  }
}

function isObject(body: Sent['body']): boolean {
  return typeof body === 'object' && !(body instanceof Uint8Array);
}

function bytesOf(body: Sent['body']): Uint8Array | undefined {
  if (body === undefined || body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}
