import { gzipSync } from 'node:zlib';
import { RECORDS_PER_REQUEST_MAX } from '../shared/domain/limits.ts';
import { RECORD_BATCH_TYPE } from '../shared/wire/media-type.ts';
import { type Container, fetchRecords, produceEvents, putTopic, type Sent } from './backbone.ts';
import { type BenchEvent, orderEvents, sealedEvents } from './event.ts';

/** One request whose memory is measured, after small ones of the same kind. */
export interface MemoryCase {
  readonly path: string;
  readonly warmUp: Sent;
  readonly request: Sent;
}

/** One that is made of smaller ones. */
interface LargeEvent extends BenchEvent {
  readonly value: { readonly parts: readonly object[] };
}

/** Batches behind the one that is fetched, in the topics where there are any. */
const BEHIND = 6;
const RECORDS = RECORDS_PER_REQUEST_MAX;

/** Produces what the cases fetch: 1,000 records of `kb` KB in a batch. */
export async function memoryCases(call: Container, kb: number): Promise<MemoryCase[]> {
  const [warm, alone, crowded] = [`warm-${kb}`, `alone-${kb}`, `crowded-${kb}`];
  const orders = largeEvents(orderEvents, kb);
  const sealed = largeEvents(sealedEvents, kb);
  const warmProduce = produceEvents(warm, orderEvents(10));
  for (const topic of [warm, `orders-${kb}`, alone, crowded]) await call(putTopic(topic));
  await call(warmProduce);
  await call(produceEvents(`orders-${kb}`, orders));
  await call(produceEvents(alone, sealed));
  for (let i = 0; i <= BEHIND; i++) await call(produceEvents(crowded, sealed));

  const warmFetch = fetchRecords(warm, 0, 10);
  const fetch = (topic: string) => fetchRecords(topic, 0, RECORDS);
  const warmBatch = (await call(raw(warmFetch))).body;
  const batch = (await call(raw(fetch(alone)))).body;
  return [
    { path: 'produce, JSON, orders', warmUp: warmProduce, request: produceEvents(warm, orders) },
    { path: 'produce, JSON, orders, gzip', warmUp: zipped(warmProduce), request: zipped(produceEvents(warm, orders)) },
    { path: 'produce, JSON, sealed', warmUp: warmProduce, request: produceEvents(warm, sealed) },
    { path: 'produce, JSON, base64', warmUp: warmProduce, request: produceBase64(warm, sealed) },
    { path: 'produce, raw', warmUp: produceRaw(warm, warmBatch), request: produceRaw(warm, batch) },
    { path: 'fetch, JSON, orders', warmUp: warmFetch, request: fetch(`orders-${kb}`) },
    { path: 'fetch, JSON, orders, gzip', warmUp: zips(warmFetch), request: zips(fetch(`orders-${kb}`)) },
    { path: 'fetch, JSON, sealed', warmUp: warmFetch, request: fetch(alone) },
    { path: 'fetch, JSON, more behind', warmUp: warmFetch, request: fetch(crowded) },
    { path: 'fetch, raw', warmUp: raw(warmFetch), request: raw(fetch(alone)) },
    { path: 'fetch, raw, more behind', warmUp: raw(warmFetch), request: raw(fetch(crowded)) },
  ];
}

/** As most clients send it, and want the answer. */
const zipped = ({ headers, body = Buffer.alloc(0), ...sent }: Sent): Sent => ({
  ...sent,
  headers: { ...headers, 'content-encoding': 'gzip' },
  body: gzipSync(body),
});
const zips = (fetch: Sent): Sent => ({ ...fetch, headers: { 'accept-encoding': 'gzip' } });

const raw = (fetch: Sent): Sent => ({ ...fetch, headers: { accept: RECORD_BATCH_TYPE } });

/** The sealed bytes as values that are no JSON: the body is parsed whole, and its values are decoded. */
function produceBase64(topic: string, events: readonly LargeEvent[]): Sent {
  const sealedIn = ({ parts }: LargeEvent['value']) =>
    parts.map((part) => (part as { sealed: string }).sealed).join('');
  const records = events.map(({ key, value }) => ({ key, value: sealedIn(value), valueEncoding: 'base64' }));
  return { ...produceEvents(topic, []), body: Buffer.from(JSON.stringify({ records })) };
}

function produceRaw(topic: string, body: Buffer): Sent {
  const target = `/v1/topics/${topic}/partitions/0/records`;
  return { method: 'POST', target, headers: { 'content-type': RECORD_BATCH_TYPE }, body };
}

/** Events of so many KB, each made of as many of 1 KB. */
function largeEvents(eventsOf: (count: number) => BenchEvent[], kb: number): LargeEvent[] {
  const parts = eventsOf(RECORDS * kb).map(({ value }) => value);
  return Array.from({ length: RECORDS }, (_, i) => ({
    key: `large-${i}`,
    value: { parts: parts.slice(i * kb, (i + 1) * kb) },
  }));
}
