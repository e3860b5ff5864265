import type { AppendCall, AppendPart, BoundsCall, History, ReadCall } from './history.ts';
import { Random } from './simulator/random.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

const TOPIC = 'orders';
const DAY_MS = 24 * 3_600_000;
const PAUSE_MS = 20;
const CALL_TIMEOUT_MS = 30_000;
/** Every so many requests one has a value that is too large for a slot. */
const LARGE_EVERY = 12;
const LARGE_BYTES = 60_000;

interface Placed {
  readonly partition: number;
  readonly offset?: number;
  readonly timestamp?: string | number;
  readonly error?: { readonly code: string };
}

interface Page {
  readonly records: readonly { readonly offset: number; readonly value: { readonly id: string } }[];
  readonly nextOffset: number;
}

interface Bounds {
  readonly partition: number;
  readonly logStartOffset: number;
  readonly highWatermark: number;
  readonly logEndOffset: number;
}

/**
 * Producers, readers and a dashboard that talk HTTP to a backbone which is killed and started again under them, and who
 * note what they see, on one clock.
 */
export class HttpCallers {
  readonly appends: Writable<AppendCall>[] = [];
  readonly reads: ReadCall[] = [];
  readonly bounds: BoundsCall[] = [];
  /** Where the backbone is; undefined while it is down. */
  url: string | undefined;
  readonly #random = new Random(Date.now());
  readonly #partitions: number;
  #over = false;
  #names = 0;

  constructor(partitions: number) {
    this.#partitions = partitions;
  }

  /** Starts everybody. @returns what ends once `finish` was called and everybody has his last answer */
  start(producers: number): Promise<unknown> {
    const all = Array.from({ length: producers }, () => this.#untilOver(() => this.#produce()));
    for (let partition = 0; partition < this.#partitions; partition++) {
      let position = 0;
      all.push(
        this.#untilOver(async () => {
          position = await this.#read(`reader ${partition}`, partition, position, 200);
        }),
      );
    }
    return Promise.all([...all, this.#untilOver(() => this.#askBounds())]);
  }

  finish(): void {
    this.#over = true;
  }

  get answered(): number {
    return this.appends.filter(({ answer }) => answer !== undefined && 'parts' in answer).length;
  }

  /** Reads everything, to the end, and adds it to what was seen. The backbone must be up, and stay so. */
  async history(): Promise<History> {
    const stored: History['stored'][number][] = [];
    const ends = await this.#askBounds();
    for (const { partition, logEndOffset } of ends) {
      for (let position = 0; position < logEndOffset; ) {
        const before = this.reads.length;
        position = await this.#read(`last ${partition}`, partition, position, 1_000);
        for (const { offset, record } of this.reads.slice(before).flatMap(({ records }) => records)) {
          stored.push({ topicId: TOPIC, partition, base: offset, records: [record] });
        }
      }
    }
    const { appends, reads, bounds } = this;
    return { appends, reads, bounds, topics: [], stored, payloads: [] };
  }

  async #untilOver(act: () => Promise<unknown>): Promise<void> {
    while (!this.#over) {
      // What fails because the backbone is down is tried again by whoever wants it.
      await act().catch((error: unknown) => {
        if (!(error instanceof TypeError) && !(error instanceof DOMException)) throw error;
      });
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * this.#random.next()));
    }
  }

  async #produce(): Promise<void> {
    const name = `n${++this.#names}`;
    const keyed = this.#random.chance(0.6);
    const padding = this.#names % LARGE_EVERY === 0 ? this.#random.hex(LARGE_BYTES / 2) : '';
    const records = Array.from({ length: this.#random.between(1, 5) }, (_, i) => ({
      partition: this.#random.between(0, this.#partitions - 1),
      value: { id: `${name}/${i}`, padding },
    }));
    const once = { key: `key-${name}`, fingerprint: name, lifeMs: DAY_MS };
    for (;;) {
      const done = await this.#append(records, keyed ? once : undefined);
      // Without a key a caller must not repeat what may have been stored; with one it repeats until it knows.
      if (done || !keyed || (this.#over && this.url === undefined)) return;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  async #append(
    records: readonly { partition: number; value: { id: string } }[],
    once: AppendCall['once'],
  ): Promise<boolean> {
    if (this.url === undefined) return false;
    const ids = records.map(({ value }) => value.id);
    const call: Writable<AppendCall> = { topic: TOPIC, records: ids, begin: performance.now(), ...(once && { once }) };
    this.appends.push(call);
    try {
      const response = await fetch(`${this.url}/v1/topics/${TOPIC}/records`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(once && { 'idempotency-key': once.key }) },
        body: JSON.stringify({ records }),
        signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
      });
      const body = (await response.json()) as { code?: string; duplicate: boolean; offsets: Placed[] };
      call.end = performance.now();
      if (body.code !== undefined) {
        call.answer = { error: body.code };
        return false;
      }
      const parts = partsOf(body.offsets, ids);
      call.answer = { duplicate: body.duplicate, parts };
      return parts.every((part) => !('error' in part));
    } catch (error) {
      if (error instanceof TypeError || error instanceof DOMException || error instanceof SyntaxError) return false;
      throw error;
    }
  }

  async #read(reader: string, partition: number, from: number, waitMs: number): Promise<number> {
    const begin = performance.now();
    const path = `partitions/${partition}/records?offset=${from}&maxRecords=1000&waitMs=${waitMs}`;
    const page = await this.#get<Page>(path);
    if (page === undefined) return from;
    const records = page.records.map(({ offset, value }) => ({ offset, record: value.id }));
    const end = performance.now();
    this.reads.push({ reader, topicId: TOPIC, partition, from, to: page.nextOffset, begin, end, records });
    return page.nextOffset;
  }

  async #askBounds(): Promise<readonly Bounds[]> {
    const begin = performance.now();
    const answer = await this.#get<{ partitions: readonly Bounds[] }>('partitions');
    if (answer === undefined) return [];
    const end = performance.now();
    for (const { partition, logStartOffset: logStart, highWatermark } of answer.partitions) {
      this.bounds.push({ of: 'partitions', topicId: TOPIC, partition, begin, end, logStart, highWatermark });
    }
    return answer.partitions;
  }

  /** @returns undefined while the backbone is down, or refuses for now */
  async #get<T>(path: string): Promise<T | undefined> {
    if (this.url === undefined) return undefined;
    const response = await fetch(`${this.url}/v1/topics/${TOPIC}/${path}`, {
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    });
    const body = (await response.json()) as T & { code?: string };
    if (response.ok) return body;
    if (response.status === 503 || response.status === 429) return undefined;
    throw new Error(`GET ${path}: ${response.status} ${body.code}`);
  }
}

function partsOf(offsets: readonly Placed[], ids: readonly string[]): AppendPart[] {
  const byPartition = new Map<number, { readonly placed: Placed; readonly records: string[] }>();
  for (const [i, placed] of offsets.entries()) {
    const known = byPartition.get(placed.partition);
    if (known === undefined) byPartition.set(placed.partition, { placed, records: [ids[i]!] });
    else known.records.push(ids[i]!);
  }
  return [...byPartition].map(([partition, { placed, records }]) => {
    if (placed.error !== undefined) return { partition, error: placed.error.code, records };
    return { partition, base: placed.offset!, at: Number(new Date(placed.timestamp!)), records };
  });
}
