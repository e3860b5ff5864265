import { randomBytes } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { gatewayEvent } from '../support/gateway-call.ts';
import { type Fetched, openTopicBench } from '../support/topic-bench.ts';

const bench = openTopicBench();

describe('a fetch', () => {
  it('goes on where the one before ended, in pages of any size, without a gap', async () => {
    const topic = await bench.newTopic(1);
    const values = Array.from({ length: 25 }, (_, i) => i);
    for (const from of [0, 10, 20]) {
      await bench.api.post(`${topic}/records`, { records: values.slice(from, from + 10).map((value) => ({ value })) });
    }
    const got: unknown[] = [];
    for (let offset = 0; offset < 25; ) {
      const page = await bench.fetched(topic, `offset=${offset}&maxRecords=4`);
      expect(page.records.length).toBeLessThanOrEqual(4);
      expect(page.highWatermark).toBeGreaterThanOrEqual(page.nextOffset);
      got.push(...page.records.map(({ value }) => value));
      offset = page.nextOffset;
    }
    expect(got).toEqual(values);
  });

  it('returns one record whatever maxBytes says', async () => {
    const topic = await bench.newTopic(1);
    await bench.api.post(`${topic}/records`, { records: [{ value: 'x'.repeat(5_000) }, { value: 'y' }] });
    expect((await bench.fetched(topic, 'offset=0&maxBytes=1')).records).toHaveLength(1);
  });

  it('at the end is an empty page, above it 416 with the bounds, or elsewhere by reset', async () => {
    const topic = await bench.newTopic(1);
    await bench.api.post(`${topic}/records`, { records: [{ value: 1 }, { value: 2 }] });
    expect(await bench.fetched(topic, 'offset=2')).toMatchObject({ records: [], nextOffset: 2 });
    expect(await bench.fetched(topic, 'offset=latest')).toMatchObject({ records: [], nextOffset: 2 });
    const above = await bench.api.get(`${topic}/partitions/0/records?offset=3`);
    expect(above.json()).toMatchObject({
      status: 416,
      code: 'offset_out_of_range',
      logStartOffset: 0,
      highWatermark: 2,
    });
    expect((await bench.fetched(topic, 'offset=3&reset=earliest')).records).toHaveLength(2);
    expect(await bench.fetched(topic, 'offset=3&reset=latest')).toMatchObject({ records: [], nextOffset: 2 });
  });

  it('waits for data and answers as soon as it comes', async () => {
    const topic = await bench.newTopic(1);
    const startedAt = Date.now();
    const waiting = bench.fetched(topic, 'offset=0&waitMs=20000');
    await bench.api.post(`${topic}/records`, { records: [{ value: 'late' }] });
    expect((await waiting).records).toMatchObject([{ value: 'late' }]);
    expect(Date.now() - startedAt).toBeLessThan(5_000);
  });

  it('ends its wait in time for the gateway, however long the function took to start', async () => {
    const topic = await bench.newTopic(1);
    const path = `${topic}/partitions/0/records?offset=0&waitMs=20000`;
    const { event } = gatewayEvent('GET', path);
    const requestContext = { ...event.requestContext, timeEpoch: Date.now() - 28_300 };
    const startedAt = Date.now();
    const reply = await bench.api.get(path, { event: { requestContext } });
    expect(reply.json()).toMatchObject({ records: [], nextOffset: 0 });
    expect(Date.now() - startedAt).toBeLessThan(1_500);
  });

  it('gets through everything, however much and however awkward, within one answer of a function each', async () => {
    const topic = await bench.newTopic(1);
    const awkward = '"\\\n\u0001é€'.repeat(2_000);
    let sent = 0;
    for (let i = 0; i < 12; i++) {
      const binary = Array.from({ length: 11 }, () => ({
        value: randomBytes(30_000).toString('base64'),
        valueEncoding: 'base64',
      }));
      const quotes = Array.from({ length: 60 }, () => ({ value: awkward, valueEncoding: 'utf8' }));
      for (const records of [binary, quotes]) {
        const reply = await bench.api.post(`${topic}/records`, { records });
        expect(reply.status).toBe(200);
        sent += records.length;
      }
    }
    const headers = { headers: { 'accept-encoding': 'gzip' } };
    let count = 0;
    for (let offset = 0; offset < sent; ) {
      const path = `${topic}/partitions/0/records?maxBytes=5242880&maxRecords=1000&offset=${offset}`;
      const reply = await bench.api.get(path, offset % 2 === 0 ? {} : headers);
      expect(reply.status).toBe(200);
      const text = reply.headers['content-encoding'] === 'gzip' ? gunzipSync(reply.bytes).toString() : reply.text;
      const page = JSON.parse(text) as Fetched;
      expect(page.records.map((record) => record.offset)).toEqual(page.records.map((_, i) => offset + i));
      count += page.records.length;
      offset = page.nextOffset;
    }
    expect(count).toBe(sent);
  });
});
