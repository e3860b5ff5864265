import { gzipSync } from 'node:zlib';
import { describe } from 'vitest';
import { REQUEST_BYTES_MAX } from '../../shared/domain/limits.ts';
import { encodeRecordBatch } from '../../shared/wire/record-batch.ts';
import type { Sent } from '../support/gateway-call.ts';
import { refusingApi, says } from '../support/refusals.ts';

const POST = 'POST';
const RECORDS = '/v1/topics/orders/records';
const INVALID = [400, 'invalid_request'] as const;

const as = (type: string, body: string | Uint8Array, headers = {}): Sent => ({
  body,
  headers: { 'content-type': type, ...headers },
});
const json = (text: string) => as('application/json', text);
const ndjson = (text: string) => as('application/x-ndjson', text);
/** A good record and one that is not. */
const bad = (more: object): Sent => ({ body: { records: [{ value: 1 }, { value: 2, ...more }] } });
const badText = (fields: string) => json(`{"records":[{"value":1},{${fields}}]}`);
const at = (index: number, ...words: string[]) => ({ index, ...says(...words) });
const records = (count: number) => Array.from({ length: count }, () => ({ value: 1 }));

describe('POST records', () => {
  const refuses = refusingApi();

  refuses(POST, RECORDS, ...INVALID, {
    'a body that is no JSON': [json('{"records":')],
    'no body': [{}],
    'a body that is no object': [{ body: [] }],
    'no records': [{ body: {} }, says('records')],
    'an empty list of records': [{ body: { records: [] } }, says('records')],
    'records that are no list': [{ body: { records: {} } }, says('records')],
    'a field beside the records': [{ body: { records: records(1), acks: 1 } }, says('acks')],
    'bytes that are no UTF-8': [{ body: Buffer.from('7b22ff227d', 'hex') }, says('UTF-8')],
  });

  refuses(POST, RECORDS, ...INVALID, {
    'a record that is no object': [{ body: { records: [{ value: 1 }, 5] } }, at(1)],
    'a record without a value': [{ body: { records: [{ value: 1 }, { key: 'k' }] } }, at(1, 'value')],
    'an unknown field': [bad({ topic: 'x' }), at(1, 'topic')],
    'a key that is no text': [bad({ key: 7 }), at(1, 'key')],
    'half a surrogate pair as a key': [badText('"key":"\\ud800","value":1'), at(1, 'key')],
    'the other half as a key': [badText('"key":"\\udfff","value":1'), at(1, 'key')],
    'half a pair in a header name': [badText('"value":1,"headers":{"\\ud800":"x"}'), at(1, 'header')],
    'half a pair in a header': [badText('"value":1,"headers":{"x":"\\udfff"}'), at(1, 'header')],
    'half a pair within a value': [badText('"value":{"a":["\\udfff"]}'), at(1, 'value')],
    'an unknown encoding': [bad({ valueEncoding: 'hex' }), at(1, 'valueEncoding')],
    'base64 without padding': [bad({ value: '/wD+gA', valueEncoding: 'base64' }), at(1, 'value')],
    'base64 for URLs': [bad({ value: '_wD-gA==', valueEncoding: 'base64' }), at(1, 'value')],
    'headers without values': [bad({ headers: [['a']] }), at(1, 'headers')],
    'a header that is a number': [bad({ headers: { a: 1 } }), at(1, 'header "a"')],
    'a negative partition': [bad({ partition: -1 }), at(1, 'partition')],
    'half a partition': [bad({ partition: 0.5 }), at(1, 'partition')],
    'a timestamp before 1970': [bad({ timestamp: -1 }), at(1, 'timestamp')],
    'a timestamp that is a text': [bad({ timestamp: '2026' }), at(1, 'timestamp')],
  });

  const TOO_LARGE = { value: 'x'.repeat(4 * 1024 * 1024) };
  const wrong = [{ value: 1 }, { value: 1, partition: -1 }, 'x', { key: 1, value: 1 }, { value: 1 }];
  const elsewhere = [{ value: 1 }, { value: 1, partition: 3 }, { value: 1, partition: 99 }, { value: 1 }];
  refuses(POST, RECORDS, ...INVALID, {
    'several bad records, naming each': [{ body: { records: wrong } }, { index: 1, indexes: [1, 2, 3] }],
    'unknown partitions, naming each': [{ body: { records: elsewhere } }, { index: 1, indexes: [1, 2], partitions: 3 }],
    'several that are bad in several ways, naming each': [
      { body: { records: [{ value: 1 }, TOO_LARGE, { value: 1, partition: -1 }, { value: 1, partition: 99 }, 'x'] } },
      { index: 1, indexes: [1, 2, 3, 4] },
    ],
    'one too large and one for an unknown partition': [
      { body: { records: [{ value: 1, partition: 3 }, TOO_LARGE, { value: 1 }] } },
      { index: 0, indexes: [0, 1] },
    ],
    'a line that is no JSON': [ndjson('{"id":"a"}\n\n{"id"\n'), { index: 1, line: 3 }],
  });

  refuses(POST, `${RECORDS}?key=/id`, ...INVALID, {
    'a key pointer for JSON': [bad({}), { parameter: 'key' }],
    'a key that is an object': [ndjson('{"id":"a"}\n{"id":{}}\n'), at(1, 'key')],
  });
  refuses(POST, `${RECORDS}?key=id`, ...INVALID, { 'a pointer that is none': [ndjson('{"id":"a"}\n'), says('key')] });
  refuses(POST, `${RECORDS}?acks=1`, ...INVALID, { 'an unknown parameter': [bad({}), says('acks')] });
  refuses(POST, '/v1/topics/a%20b/records', ...INVALID, { 'an illegal name': [bad({}), { field: 'topic' }] });

  refuses(POST, '/v1/topics/nobody/records', 404, 'topic_not_found', {
    'an unknown topic': [bad({}), { topic: 'nobody' }],
  });
  refuses(POST, '/v1/topics/__proto__/records', 404, 'topic_not_found', {
    'a topic named like what every object has': [bad({}), { topic: '__proto__' }],
  });

  refuses(POST, RECORDS, 413, 'request_too_large', {
    '1,001 records': [{ body: { records: records(1_001) } }, { maxRecords: 1_000 }],
    '1,001 lines': [ndjson('1\n'.repeat(1_001)), { maxRecords: 1_000 }],
    '100,000 tiny records': [{ body: { records: records(100_000) } }, { maxRecords: 1_000 }],
    'a body beyond the limit': [{ body: Buffer.alloc(REQUEST_BYTES_MAX + 1, ' ') }, { maxBytes: REQUEST_BYTES_MAX }],
    'gzip that inflates past the limit': [
      as('application/json', gzipSync(Buffer.alloc(REQUEST_BYTES_MAX + 1, ' ')), { 'content-encoding': 'gzip' }),
      { maxBytes: REQUEST_BYTES_MAX },
    ],
  });
  refuses(POST, RECORDS, 413, 'record_too_large', {
    'a record beyond 4 MB': [
      { body: { records: [{ value: 1 }, { value: 'x'.repeat(4 * 1024 * 1024) }] } },
      { index: 1 },
    ],
  });

  const body = '{"records":[{"value":1}]}';
  refuses(POST, RECORDS, 415, 'unsupported_media_type', {
    'plain text': [as('text/plain', body), { accepted: ['application/json', 'application/x-ndjson'] }],
    'a form': [as('application/x-www-form-urlencoded', body)],
    'another charset': [as('application/json; charset=utf-16', body)],
    'an encoding that is not gzip': [
      as('application/json', body, { 'content-encoding': 'br' }),
      { accepted: ['gzip'] },
    ],
  });

  const keyed = (key: string): Sent => as('application/json', body, { 'idempotency-key': key });
  refuses(POST, RECORDS, ...INVALID, {
    'an empty idempotency key': [keyed(''), { field: 'Idempotency-Key' }],
    'an idempotency key of 256 characters': [keyed('k'.repeat(256)), { field: 'Idempotency-Key' }],
    'an idempotency key beyond ASCII': [keyed('ключ'), { field: 'Idempotency-Key' }],
    'an idempotency key in Latin-1': [keyed('caf\u00e9'), { field: 'Idempotency-Key' }],
    'a tab in an idempotency key': [keyed('a\tb'), { field: 'Idempotency-Key' }],
    'a DEL in an idempotency key': [keyed('a\x7f'), { field: 'Idempotency-Key' }],
    'a line end in an idempotency key': [keyed('a\n'), { field: 'Idempotency-Key' }],
  });
  refuses(POST, RECORDS, ...INVALID, {
    'a bad record that comes with a key': [{ ...bad({ partition: -1 }), headers: { 'idempotency-key': 'k' } }, at(1)],
    'an unknown partition that comes with a key': [
      { ...bad({ partition: 3 }), headers: { 'idempotency-key': 'k' } },
      { index: 1, partitions: 3 },
    ],
  });
});

describe('POST one batch', () => {
  const refuses = refusingApi();
  const RAW = '/v1/topics/orders/partitions/1/records';
  const TYPE = 'application/vnd.kafka.recordbatch';
  const record = { key: null, value: Buffer.from('1'), headers: [] };
  const batch = Buffer.from(encodeRecordBatch([record, record], 0));
  const raw = (bytes: Uint8Array, headers = {}) => as(TYPE, bytes, headers);
  /** The batch with other bytes somewhere. */
  const changed = (offset: number, ...bytes: number[]) => {
    const copy = Buffer.from(batch);
    copy.set(bytes, offset < 0 ? copy.length + offset : offset);
    return raw(copy);
  };

  refuses(POST, RAW, ...INVALID, {
    'an empty body': [raw(Buffer.alloc(0))],
    'half a batch': [raw(batch.subarray(0, 40))],
    'two batches': [raw(Buffer.concat([batch, batch]))],
    'another version': [changed(16, 1), says('magic')],
    'bytes that the CRC does not fit': [changed(-1, 0xee), says('CRC')],
    'an empty idempotency key': [raw(batch, { 'idempotency-key': '' })],
    'an idempotency key of 256 characters': [raw(batch, { 'idempotency-key': 'k'.repeat(256) })],
  });
  refuses(POST, `${RAW}?key=/id`, ...INVALID, { 'a parameter': [raw(batch), says('key')] });
  refuses(POST, '/v1/topics/orders/partitions/-1/records', ...INVALID, {
    'a partition that is no number': [raw(batch), { parameter: 'partition' }],
  });
  refuses(POST, '/v1/topics/orders/partitions/3/records', 404, 'partition_not_found', {
    'an unknown partition': [raw(batch), { topic: 'orders', partition: 3, partitions: 3 }],
  });
  refuses(POST, `/v1/topics/orders/partitions/${Number.MAX_SAFE_INTEGER}/records`, 404, 'partition_not_found', {
    'a partition beyond every topic': [raw(batch)],
  });
  refuses(POST, '/v1/topics/nobody/partitions/0/records', 404, 'topic_not_found', { 'an unknown topic': [raw(batch)] });
  refuses(POST, RAW, 415, 'unsupported_media_type', {
    'a batch without its type': [{ body: batch }, { accepted: [TYPE] }],
    'a batch as another type': [as('application/octet-stream', batch), { accepted: [TYPE] }],
    'a compressed batch that is not gzip': [raw(batch, { 'content-encoding': 'zstd' })],
  });
});
