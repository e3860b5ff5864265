import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { json } from '../../client/codec.ts';
import { Connection } from '../../client/connection.ts';
import { fetchedRecords } from '../../client/fetched-records.ts';
import { messageOf } from '../../client/messages.ts';
import { Payloads } from '../../client/payload.ts';
import { Transport } from '../../client/transport.ts';

const PLACE = { topic: 'orders', partition: 3 };
const encode = (text: string) => new TextEncoder().encode(text);

/** The records of an answer of this text. */
function recordsOf(answer: string) {
  return fetchedRecords(JSON.parse(answer).records, encode(answer), PLACE);
}

describe('the records of an answer', () => {
  it('have JSON values byte for byte, wherever they stand and whatever else is called value', () => {
    const values = ['{ "value" : [1 , 2.50] }', '1e400', '"\\u0041"', '[[]]', '{"records":[{"value":0}]}'];
    const records = values.map((value, i) =>
      i % 2 === 0
        ? `{"offset":${i},"value":${value},"headers":[["value","{}"]]}`
        : ` { "headers":[] , "value" : ${value} , "offset": ${i} } `,
    );
    const answer = `{ "x":{"records":[{"value":9}]}, "records" : [${records.join(' ,')}] , "nextOffset":5}`;
    const texts = recordsOf(answer).map(({ value }) => value.kind === 'bytes' && new TextDecoder().decode(value.bytes));
    expect(texts).toEqual(values);
  });

  it('have keys, values and headers in every encoding', () => {
    const answer = JSON.stringify({
      records: [
        {
          offset: 7,
          timestamp: 5,
          key: 'ü',
          value: 'text',
          valueEncoding: 'utf8',
          headers: [
            ['a', 'b'],
            ['a', null],
          ],
        },
        {
          offset: 8,
          key: '/w==',
          keyEncoding: 'base64',
          value: '/w==',
          valueEncoding: 'base64',
          headers: [[{ base64: 'YQ==' }, { base64: '/w==' }]],
        },
        { offset: 9, timestamp: 5, key: '', value: null, headers: [] },
        { offset: 10, error: { code: 'payload_corrupt' } },
        { topic: 'other', partition: 1, offset: 11, key: null, value: 0, headers: [] },
      ],
    });
    const bytes = (value: Uint8Array) => ({ kind: 'bytes', bytes: value });
    const ff = new Uint8Array([0xff]);
    expect(recordsOf(answer)).toEqual([
      {
        ...PLACE,
        offset: 7,
        timestamp: 5,
        key: encode('ü'),
        value: bytes(encode('text')),
        headers: [
          ['a', 'b'],
          ['a', null],
        ],
      },
      { ...PLACE, offset: 8, timestamp: -1, key: ff, value: bytes(ff), headers: [['a', ff]] },
      { ...PLACE, offset: 9, timestamp: 5, key: encode(''), value: { kind: 'tombstone' }, headers: [] },
      {
        ...PLACE,
        offset: 10,
        timestamp: -1,
        key: null,
        value: { kind: 'unreadable', code: 'payload_corrupt' },
        headers: [],
      },
      { topic: 'other', partition: 1, offset: 11, timestamp: -1, key: null, value: bytes(encode('0')), headers: [] },
    ]);
  });
});

describe('a message', () => {
  it('shows its key and headers as text', async () => {
    const headers = [
      ['trace', 'first'],
      ['trace', 'second'],
      ['none', null],
      ['raw', { base64: '4oKs' }],
    ];
    const answer = JSON.stringify({ records: [{ offset: 1, timestamp: 2, key: 'k', value: { n: 1 }, headers }] });
    const message = await messageOf(
      recordsOf(answer)[0]!,
      json<{ n: number }>(),
      payloads(() => Response.error()),
    );
    expect([message.keyText, message.value?.n, message.isTombstone, message.upload]).toEqual(['k', 1, false, null]);
    const shown = ['trace', 'none', 'raw', 'absent'].map((name) => message.header(name));
    expect(shown).toEqual(['first', null, '€', undefined]);
    expect(await message.payload()).toBeNull();
  });
});

const payload = encode('a payload of some length');
const LINK = {
  url: 'http://bucket/old',
  size: payload.length,
  sha256: createHash('sha256').update(payload).digest('hex'),
};

function payloads(fetch: (url: string) => Response | Promise<Response>): Payloads {
  const endpoint = new URL('http://127.0.0.1:1');
  const transport = new Transport({
    ...{ endpoint, sign: async ({ headers }) => ({ ...headers }), userAgent: 'test', timeoutMs: 200 },
    fetch: async (url) => fetch(String(url)),
  });
  return new Payloads(new Connection(transport, { retry: { withinMs: 0 } }));
}

/** An answer of several chunks. */
function body(...chunks: Uint8Array[]): Response {
  return new Response(
    new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(chunk);
        controller.close();
      },
    }),
  );
}

describe('an uploaded value', () => {
  const at = { ...PLACE, offset: 5 };

  it('is put together from its chunks', async () => {
    const source = payloads(() => body(payload.subarray(0, 5), payload.subarray(5)));
    expect(await source.bytes(at, LINK)).toEqual(payload);
  });

  it.each([
    ['shorter', () => body(payload.subarray(1)), 'ended at'],
    ['longer', () => body(payload, payload), 'longer than'],
    ['another', () => body(payload.toReversed()), 'SHA-256'],
    ['refused', () => new Response('no', { status: 500 }), 'status 500'],
    ['silent', () => new Promise<Response>(() => {}), 'Nothing of the payload came'],
    ['stuck', () => new Response(new ReadableStream({ start: (it) => it.enqueue(payload.subarray(1)) })), 'Nothing of'],
    ['unreachable', () => Promise.reject(new TypeError('fetch failed')), 'could not be downloaded'],
  ])('that is %s is no payload', async (_, answer, why) => {
    const failure = expect(payloads(answer).bytes(at, LINK)).rejects;
    await failure.toMatchObject({ code: 'payload_invalid', message: expect.stringContaining(why) });
  });

  it('whose URL has expired is had by a new one, if the record is still there', async () => {
    const urls: string[] = [];
    const answer = (value: object | null) => (url: string) => {
      urls.push(url);
      if (url === 'http://bucket/old') return new Response('Request has expired', { status: 403 });
      if (url === 'http://bucket/new') return body(payload);
      return Response.json({ records: value ? [{ offset: 5, value, valueEncoding: 'url' }] : [] });
    };
    expect(await payloads(answer({ ...LINK, url: 'http://bucket/new' })).bytes(at, LINK)).toEqual(payload);
    expect(urls[1]).toContain('/v1/topics/orders/partitions/3/records?offset=5&maxRecords=1');
    await expect(payloads(answer(null)).bytes(at, LINK)).rejects.toMatchObject({ code: 'payload_invalid' });
    const other = { ...LINK, url: 'http://bucket/new', sha256: '0'.repeat(64) };
    await expect(payloads(answer(other)).bytes(at, LINK)).rejects.toMatchObject({ code: 'payload_invalid' });
  });

  it('is cancelled by a signal', async () => {
    const abort = new AbortController();
    abort.abort(new Error('enough'));
    const source = payloads(() => Promise.reject(abort.signal.reason));
    await expect(source.bytes(at, LINK, { signal: abort.signal })).rejects.toMatchObject({
      code: 'aborted',
      cause: { message: 'enough' },
    });
  });
});
