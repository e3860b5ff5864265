import { describe, expect, it } from 'vitest';
import { openTopicBench } from '../support/topic-bench.ts';

const bench = openTopicBench();

// Bytes in hex, because some look alike, and the partition of twelve that Kafka's Java client gives them (F01).
const KEYS = [
  ['f09f8e89', 6],
  ['c3a9', 3],
  ['65cc81', 7],
  ['e697a5e69cac', 3],
  ['d0bad0bbd18ed187', 8],
  ['6b', 8],
  ['efbbbf6b', 1],
  ['00', 8],
  ['f09f91a8e2808df09f91a9e2808df09f91a7e2808df09f91a6', 3],
] as const;
const bytes = KEYS.map(([hex]) => Buffer.from(hex, 'hex'));
const texts = bytes.map((key) => key.toString());
const escaped = texts.map((key) =>
  [...Array(key.length).keys()].map((i) => `\\u${key.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
);

const enveloped = (records: readonly string[]) => `{"records":[${records.join()}]}`;
const JSON_BODY = { 'content-type': 'application/json' };

describe('a key goes to the partition that its bytes name, and comes back as it was', () => {
  it.each([
    ['written out', enveloped(texts.map((key) => JSON.stringify({ key, value: 1 }))), JSON_BODY, ''],
    ['written in escapes', enveloped(escaped.map((key) => `{"key":"${key}","value":1}`)), JSON_BODY, ''],
    [
      'in base64',
      enveloped(bytes.map((key) => `{"key":"${key.toString('base64')}","keyEncoding":"base64","value":1}`)),
      JSON_BODY,
      '',
    ],
    [
      'as a type that the gateway hands over in base64',
      enveloped(texts.map((key) => JSON.stringify({ key, value: 1 }))),
      { 'content-type': 'application/vnd.orders+json' },
      '',
    ],
    [
      'found in a line',
      texts.map((key) => JSON.stringify({ a: { 'é/~': key } })).join('\r\n'),
      { 'content-type': 'application/x-ndjson' },
      `?key=${encodeURIComponent('/a/é~1~0')}`,
    ],
    [
      'found in a line by another spelling',
      escaped.map((key) => `{"\\u00e9":"${key}"}`).join('\n'),
      { 'content-type': 'application/x-ndjson' },
      '?key=/%C3%A9',
    ],
  ])('%s', async (_, body, headers, query) => {
    const topic = await bench.newTopic(12);
    const reply = await bench.api.post(`${topic}/records${query}`, body, headers);
    const { offsets } = reply.json<{ offsets: { partition: number; offset: number }[] }>();
    expect(offsets.map(({ partition }) => partition)).toEqual(KEYS.map(([, partition]) => partition));
    for (const [i, { partition, offset }] of offsets.entries()) {
      const page = await bench.fetched(topic, `offset=${offset}&maxRecords=1`, partition);
      const { key, keyEncoding } = page.records[0] as { key: string; keyEncoding?: 'base64' };
      expect(Buffer.from(key, keyEncoding).toString('hex')).toBe(KEYS[i]![0]);
    }
  });
});
