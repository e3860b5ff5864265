import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { FILL_DEADLINE_MS, SETTLE_AFTER_MS, SLOW_FILL_DEADLINE_MS } from '../../shared/domain/limits.ts';
import { encodeRecordBatch } from '../../shared/wire/record-batch.ts';
import type { Reply } from '../support/gateway-call.ts';
import { HandClock } from '../support/log-bench.ts';
import { undescribed } from '../support/openapi-page.ts';
import { openTopicBench } from '../support/topic-bench.ts';

const clock = new HandClock();
const bench = openTopicBench({ clock, env: { spillAboveBytes: 1_000 } });

interface Stored {
  readonly offsets: readonly { readonly partition: number; readonly offset?: number; readonly error?: object }[];
  readonly duplicate: boolean;
}

const JSON_TYPE = 'application/json';
const NDJSON_TYPE = 'application/x-ndjson';
const BATCH_TYPE = 'application/vnd.kafka.recordbatch';

/** Sends records, or a body as it stands, under a key. */
function once(topic: string, key: string, body: readonly object[] | string | Uint8Array, headers = {}): Promise<Reply> {
  const sent = Array.isArray(body) ? JSON.stringify({ records: body }) : (body as string | Uint8Array);
  return bench.api.post(`${topic}/records`, sent, {
    'content-type': JSON_TYPE,
    'idempotency-key': key,
    ...headers,
  });
}

function onceRaw(topic: string, key: string, batch: Uint8Array, partition = 0): Promise<Reply> {
  const headers = { 'content-type': BATCH_TYPE, 'idempotency-key': key };
  return bench.api.post(`${topic}/partitions/${partition}/records`, batch, headers);
}

/** The values in a partition, once everything in it is settled. */
async function valuesIn(topic: string, partition = 0): Promise<unknown[]> {
  clock.pass(SETTLE_AFTER_MS + 1);
  return (await bench.fetched(topic, 'offset=earliest&values=json', partition)).records.map(({ value }) => value);
}

const batchOf = (...values: string[]) =>
  encodeRecordBatch(
    values.map((value) => ({ key: null, value: Buffer.from(value), headers: [], timestamp: 7 })),
    0,
  );

describe('a request that comes again with its key', () => {
  it.each([
    [JSON_TYPE, '{"records":[{"key":"k","value":1},{"value":2}]}', '/records'],
    [NDJSON_TYPE, '1\n2\n', '/records'],
    [BATCH_TYPE, batchOf('1', '2'), '/partitions/0/records'],
  ])('as %s gets the first answer, and nothing is appended', async (type, body, path) => {
    const topic = await bench.newTopic();
    const headers = { 'content-type': type, 'idempotency-key': 'k'.repeat(255) };
    const first = await bench.api.post(topic + path, body, headers);
    expect(first).toMatchObject({ status: 200 });
    expect(first.json()).toMatchObject({ duplicate: false });
    // Time has passed: the timestamps of records that brought none are still those of then.
    clock.pass(60_000);
    const second = await bench.api.post(topic + path, body, headers);
    expect(second.status).toBe(200);
    expect(second.json()).toEqual({ ...first.json(), duplicate: true });
    expect(undescribed('POST', topic + path, second)).toEqual([]);
    expect(await valuesIn(topic)).toEqual([1, 2]);
  });

  it('tells the timestamps that the records are read with', async () => {
    const topic = await bench.newTopic();
    await once(topic, 'k', [{ value: 1 }, { value: 2, timestamp: 5 }]);
    clock.pass(1_500);
    const { offsets } = (await once(topic, 'k', [{ value: 1 }, { value: 2, timestamp: 5 }])).json<{
      offsets: { timestamp: number }[];
    }>();
    const { records } = await bench.fetched(topic);
    expect(records.map(({ timestamp }) => timestamp)).toEqual(offsets.map(({ timestamp }) => timestamp));
    expect(offsets[0]!.timestamp).toBe(clock.now() - 1_500);
  });

  const record = { key: 'order-17', value: 'text', valueEncoding: 'utf8', headers: { a: '1', b: 'é' } };
  const spellings: Readonly<Record<string, string | Uint8Array>> = {
    'members in another order, white space around them':
      '{ "records" : [ {"headers":{"a":"1","b":"é"}, "valueEncoding":"utf8",\n "value":"text", "key":"order-17"} ] }',
    escapes:
      '{"records":[{"key":"\\u006frder-17","value":"t\\u0065xt","valueEncoding":"utf8","headers":{"a":"1","b":"\\u00e9"}}]}',
    'headers as a list': JSON.stringify({
      records: [
        {
          ...record,
          headers: [
            ['a', '1'],
            ['b', 'é'],
          ],
        },
      ],
    }),
    base64: JSON.stringify({
      records: [
        {
          key: Buffer.from('order-17').toString('base64'),
          keyEncoding: 'base64',
          value: Buffer.from('text').toString('base64'),
          valueEncoding: 'base64',
          headers: [
            ['a', { base64: 'MQ==' }],
            ['b', { base64: Buffer.from('é').toString('base64') }],
          ],
        },
      ],
    }),
    'what is said is what goes without saying': JSON.stringify({ records: [{ ...record, keyEncoding: 'utf8' }] }),
  };

  it.each(Object.entries(spellings))('is the same in another spelling: %s', async (_, spelling) => {
    const topic = await bench.newTopic(4);
    const first = await once(topic, 'k', [record]);
    const second = await once(topic, 'k', spelling);
    expect(second.json()).toEqual({ ...first.json(), duplicate: true });
  });

  it('is the same compressed, and as NDJSON', async () => {
    const topic = await bench.newTopic();
    const body = '{"records":[{"value":{"n": 1.0}}]}';
    const first = await once(topic, 'k', body);
    const zipped = await once(topic, 'k', gzipSync(body), { 'content-encoding': 'gzip' });
    const lines = await once(topic, 'k', '{"n": 1.0}\n', { 'content-type': NDJSON_TYPE });
    for (const reply of [zipped, lines]) expect(reply.json()).toEqual({ ...first.json(), duplicate: true });
  });

  it('gets the first answer though its keys would go elsewhere since partitions were added', async () => {
    const topic = await bench.newTopic(2);
    const records = ['a', 'b', 'c', 'd', 'e'].map((key) => ({ key, value: key }));
    const first = await once(topic, 'k', records);
    await bench.api.put(topic, { partitions: 12 });
    expect((await once(topic, 'k', records)).json()).toEqual({ ...first.json(), duplicate: true });
    const other = (await once(topic, 'other', records)).json<Stored>();
    expect(other.duplicate).toBe(false);
    expect(other.offsets.some(({ partition }) => partition > 1)).toBe(true);
  });

  it('stays where it is though requests without keys are spread', async () => {
    const topic = await bench.newTopic(10);
    bench.spread = 0.75;
    const first = (await once(topic, 'k', [{ value: 1 }])).json<Stored>();
    bench.spread = 0.25;
    const second = (await once(topic, 'k', [{ value: 1 }])).json<Stored>();
    const other = (await once(topic, 'other', [{ value: 1 }])).json<Stored>();
    bench.spread = 0;
    expect(first.offsets).toMatchObject([{ partition: 7 }]);
    expect(second).toEqual({ ...first, duplicate: true });
    expect(other.offsets).toMatchObject([{ partition: 2 }]);
    // The reservation that the repeat did not need holds up nobody.
    expect(await bench.fetched(topic, 'offset=0', 2)).toMatchObject({ records: [{ offset: 1 }], nextOffset: 2 });
  });

  it('is another request in another topic, and in the next one of the same name', async () => {
    const [one, two] = [await bench.newTopic(), await bench.newTopic()];
    await once(one, 'k', [{ value: 1 }]);
    expect((await once(two, 'k', [{ value: 2 }])).json()).toMatchObject({ duplicate: false });
    await bench.api.delete(one);
    await bench.api.put(one, { partitions: 1 });
    expect((await once(one, 'k', [{ value: 3 }])).json()).toMatchObject({ duplicate: false });
    expect([await valuesIn(one), await valuesIn(two)]).toEqual([[3], [2]]);
  });
});

describe('another request with a key that was used', () => {
  const first = [
    { key: 'a', value: { n: 1 }, headers: { x: '1', y: '2' } },
    { key: 'b', value: null },
  ];
  const changed = (more: object) => JSON.stringify({ records: [{ ...first[0], ...more }, first[1]] });
  const others: Readonly<Record<string, string>> = {
    'another value': changed({ value: { n: 2 } }),
    'the value in another spelling, for its text is what is stored': JSON.stringify({ records: first }).replace(
      '{"n":1}',
      '{"n": 1}',
    ),
    'another key': changed({ key: 'A' }),
    'an empty key where there was none': changed({ key: '' }),
    'a header more': changed({ headers: { x: '1', y: '2', z: '3' } }),
    'its headers in another order': changed({ headers: { y: '2', x: '1' } }),
    'bytes moved from a header to the next': changed({ headers: { x: '12', y: '' } }),
    'a timestamp': changed({ timestamp: 1 }),
    'a partition': changed({ partition: 0 }),
    'its records in another order': JSON.stringify({ records: first.toReversed() }),
    'a record more': JSON.stringify({ records: [...first, first[1]] }),
    'a record less': JSON.stringify({ records: first.slice(0, 1) }),
    'a text where a tombstone was': JSON.stringify({
      records: [first[0], { key: 'b', value: '', valueEncoding: 'utf8' }],
    }),
  };

  it.each(Object.entries(others))('is refused: %s', async (_, other) => {
    const topic = await bench.newTopic();
    const answer = await once(topic, 'k', first);
    const reply = await once(topic, 'k', other);
    expect(reply.json()).toMatchObject({ status: 422, code: 'idempotency_key_reused' });
    expect(undescribed('POST', `${topic}/records`, reply)).toEqual([]);
    expect(await valuesIn(topic)).toEqual([{ n: 1 }, null]);
    // The key still stands for what it stood for.
    expect((await once(topic, 'k', first)).json()).toEqual({ ...answer.json(), duplicate: true });
  });

  it('is refused for ready-made batches, too: other bytes, or another partition', async () => {
    const topic = await bench.newTopic(2);
    await onceRaw(topic, 'k', batchOf('1'));
    for (const reply of [await onceRaw(topic, 'k', batchOf('2')), await onceRaw(topic, 'k', batchOf('1'), 1)]) {
      expect(reply.json()).toMatchObject({ status: 422, code: 'idempotency_key_reused' });
      expect(undescribed('POST', `${topic}/partitions/0/records`, reply)).toEqual([]);
    }
    expect([await valuesIn(topic), await valuesIn(topic, 1)]).toEqual([[1], []]);
  });
});

describe('a request whose first call is still running', () => {
  it.each([
    ['of a batch in its slot', 'PutItem', '"batch"', 'x', FILL_DEADLINE_MS],
    ['of a batch that goes to S3', 'PutObject', '', undefined, SLOW_FILL_DEADLINE_MS],
  ])('%s is told to wait, and gets the answer afterwards', async (_, operation, naming, value, deadlineMs) => {
    const topic = await bench.newTopic();
    const records = [{ value: value ?? incompressible(3_000) }];
    const held = bench.api.faults.hold(operation, 'none', naming);
    const first = once(topic, 'k', records);
    await held.arrived;
    const early = await once(topic, 'k', records);
    expect(early.json()).toMatchObject({ status: 409, code: 'idempotency_in_progress', retryAfterMs: deadlineMs });
    expect(early.headers['retry-after']).toBe(String(deadlineMs / 1_000));
    expect(undescribed('POST', `${topic}/records`, early)).toEqual([]);
    held.release();
    expect((await first).json()).toMatchObject({ duplicate: false });
    expect((await once(topic, 'k', records)).json()).toEqual({ ...(await first).json(), duplicate: true });
  });

  it('may be sent twenty times at a time: it is appended once, and all answers are the same', async () => {
    const topic = await bench.newTopic(3);
    const records = [0, 1, 2].map((partition) => ({ partition, value: partition }));
    const replies = await Promise.all(Array.from({ length: 20 }, () => once(topic, 'k', records)));
    const answers = replies.filter(({ status }) => status === 200).map((reply) => reply.json<Stored>());
    expect(replies.every(({ status }) => status === 200 || status === 409)).toBe(true);
    expect(answers.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
    for (const { offsets } of answers) expect(offsets).toEqual(answers[0]!.offsets);
    for (const partition of [0, 1, 2]) expect(await valuesIn(topic, partition)).toEqual([partition]);
    expect((await once(topic, 'k', records)).json()).toEqual({ ...answers[0], duplicate: true });
  });
});

describe('a request whose first call broke off', () => {
  /** The first call gets as far as an attempt of `operation`, which never arrives and is never answered. */
  async function breakOff(topic: string, operation: string, naming: string): Promise<void> {
    const { arrived } = bench.api.faults.hold(operation, 'lose-request', naming);
    void once(topic, 'k', [{ value: 1 }]);
    await arrived;
  }

  it('before it was claimed is a new one', async () => {
    const topic = await bench.newTopic();
    await breakOff(topic, 'PutItem', '"claim"');
    expect((await once(topic, 'k', [{ value: 1 }])).json()).toMatchObject({ duplicate: false });
    expect(await valuesIn(topic)).toEqual([1]);
  });

  it('after that is waited for until the deadline of its writes, then completed', async () => {
    const topic = await bench.newTopic();
    await breakOff(topic, 'PutItem', '"batch"');
    clock.pass(FILL_DEADLINE_MS);
    const before = await once(topic, 'k', [{ value: 1 }]);
    expect(before.json()).toMatchObject({ status: 409, retryAfterMs: 1 });
    expect(before.headers['retry-after']).toBe('1');
    clock.pass(1);
    const after = await once(topic, 'k', [{ value: 1 }]);
    expect(after.status).toBe(200);
    expect((await once(topic, 'k', [{ value: 1 }])).json()).toEqual({ ...after.json(), duplicate: true });
    expect(await valuesIn(topic)).toEqual([1]);
  });

  it.each([
    ['the reservation', 503, 'UpdateItem', 'lose-answer', '.0"'],
    ['the claim', 503, 'PutItem', 'lose-answer', '"claim"'],
    ['the fill, which is throttled,', 429, 'PutItem', 'throttle', '"batch"'],
  ] as const)(
    'at %s is refused with %i, and the repeat is appended, at once and once',
    async (_, status, operation, fault, naming) => {
      const topic = await bench.newTopic();
      bench.api.faults.next(operation, fault, 1, naming);
      expect(await once(topic, 'k', [{ value: 1 }])).toMatchObject({ status });
      const repeat = await once(topic, 'k', [{ value: 1 }]);
      expect(repeat.status).toBe(200);
      expect(await valuesIn(topic)).toEqual([1]);
      expect((await once(topic, 'k', [{ value: 1 }])).json()).toEqual({ ...repeat.json(), duplicate: true });
    },
  );

  it('with no more lost than the answer to its fill was stored, and says so', async () => {
    const topic = await bench.newTopic();
    bench.api.faults.next('PutItem', 'lose-answer', 1, '"batch"');
    const first = await once(topic, 'k', [{ value: 1 }]);
    expect(first.json()).toMatchObject({ offsets: [{ offset: 0 }], duplicate: false });
    expect((await once(topic, 'k', [{ value: 1 }])).json()).toEqual({ ...first.json(), duplicate: true });
  });

  it.each(['lose-answer', 'lose-request'] as const)(
    'in the dark (%s) is 504, and the repeat finds out',
    async (fault) => {
      const topic = await bench.newTopic();
      bench.api.faults.next('PutItem', fault, 1, '"batch"');
      bench.api.faults.next('PutItem', fault, 1, '"void"');
      const first = await once(topic, 'k', [{ value: 1 }]);
      expect(first.json()).toMatchObject({ status: 504, code: 'outcome_unknown' });
      clock.pass(FILL_DEADLINE_MS + 1);
      expect((await once(topic, 'k', [{ value: 1 }])).json()).toMatchObject({ duplicate: true });
      expect(await valuesIn(topic)).toEqual([1]);
    },
  );

  it('halfway is 207, and the repeat completes it: what was acknowledged stays where it is', async () => {
    const topic = await bench.newTopic(2);
    const records = [0, 1, 0].map((partition, i) => ({ partition, value: i }));
    bench.api.faults.next('PutItem', 'throttle', 1, '.1"},"last"');
    const half = await once(topic, 'k', records);
    expect(half.status).toBe(207);
    expect(half.json<Stored>().offsets).toMatchObject([{ offset: 0 }, { error: { code: 'throttled' } }, { offset: 1 }]);
    const whole = await once(topic, 'k', records);
    expect(whole).toMatchObject({ status: 200 });
    expect(whole.json<Stored>().duplicate).toBe(true);
    expect(whole.json<Stored>().offsets).toMatchObject([{ offset: 0 }, { partition: 1 }, { offset: 1 }]);
    expect([await valuesIn(topic), await valuesIn(topic, 1)]).toEqual([[0, 2], [1]]);
    expect((await once(topic, 'k', records)).json()).toEqual(whole.json());
  });
});

/** A text that no compression makes shorter than half of it. */
function incompressible(chars: number): string {
  return Array.from({ length: chars }, () => String.fromCharCode(97 + Math.floor(Math.random() * 26))).join('');
}
