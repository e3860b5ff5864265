import { describe } from 'vitest';
import { refusingApi, says } from '../support/refusals.ts';

const ORDERS = '/v1/topics/orders';
const RECORDS = `${ORDERS}/partitions/1/records`;
const INVALID = [400, 'invalid_request'] as const;

describe('GET records', () => {
  const refuses = refusingApi();
  const bounds = { logStartOffset: 0, highWatermark: 0 };
  refuses('GET', RECORDS, ...INVALID, { 'no offset': [{}, { parameter: 'offset' }] });
  refuses('GET', `${RECORDS}?offset=9007199254740993`, ...INVALID, {
    'an offset past 2^53': [{}, { parameter: 'offset' }],
  });
  refuses('GET', `${RECORDS}?offset=0&waitMs=60000`, ...INVALID, { 'too long a wait': [{}, { parameter: 'waitMs' }] });
  refuses('GET', `${RECORDS}?offset=1`, 416, 'offset_out_of_range', { 'an offset above the log': [{}, bounds] });
  refuses('GET', `${ORDERS}/partitions/3/records?offset=0`, 404, 'partition_not_found', {
    'an unknown partition': [{}, { topic: 'orders', partition: 3, partitions: 3 }],
  });
  refuses('GET', '/v1/topics/nobody/partitions/0/records?offset=0', 404, 'topic_not_found', {
    'an unknown topic': [{}],
  });
});

describe('topics', () => {
  const refuses = refusingApi();
  refuses('PUT', ORDERS, ...INVALID, {
    'too many partitions': [{ body: { partitions: 1_025 } }, { field: 'partitions' }],
    'too short a retention': [{ body: { retentionMs: 1 } }, { field: 'retentionMs' }],
    'an unknown field': [{ body: { cleanup: 'compact' } }, { field: 'cleanup' }],
    'a body that is no JSON': [{ body: '{', headers: { 'content-type': 'application/json' } }],
  });
  refuses('PUT', ORDERS, 409, 'partitions_cannot_shrink', {
    'fewer partitions': [{ body: { partitions: 2 } }, { topic: 'orders', partitions: 3 }],
  });
  refuses('PUT', '/v1/topics/new', 415, 'unsupported_media_type', {
    'plain text': [{ body: '{}', headers: { 'content-type': 'text/plain' } }],
  });

  const field = { field: 'topic' };
  for (const name of ['.', '..', 'x'.repeat(250), 'a%0A', '%C3%A9', 'a%2520b']) {
    refuses('PUT', `/v1/topics/${name}`, ...INVALID, { [`the name ${name.slice(0, 9)}`]: [{}, field] });
  }
  refuses('PUT', '/v1/topics/', 404, 'not_found', { 'no name': [{}] });

  const nobody = { topic: 'nobody' };
  for (const path of ['', '/partitions', '/offsets?at=latest']) {
    refuses('GET', `/v1/topics/nobody${path}`, 404, 'topic_not_found', { [`an unknown topic${path}`]: [{}, nobody] });
  }
  refuses('DELETE', '/v1/topics/nobody', 404, 'topic_not_found', { 'to delete an unknown topic': [{}, nobody] });
  refuses('GET', `${ORDERS}/offsets?at=2026-02-30T00:00:00Z`, ...INVALID, {
    'no such date': [{}, { parameter: 'at' }],
  });
  refuses('GET', `${ORDERS}/offsets`, ...INVALID, { 'no time': [{}, { parameter: 'at' }] });
  refuses('GET', `${ORDERS}?at=latest`, ...INVALID, { 'an unknown parameter': [{}, says('at')] });
  refuses('GET', '/v1/topics?limit=0', ...INVALID, { 'a page of nothing': [{}, { parameter: 'limit' }] });
  refuses('GET', '/v1/topics?nextToken=x', ...INVALID, { 'a token made up': [{}, { parameter: 'nextToken' }] });
});

describe('the rest', () => {
  const refuses = refusingApi();
  refuses('GET', '/v1/health?deep=true', ...INVALID, { 'health with a parameter': [{}, says('deep')] });
  for (const path of ['/', '/v1', '/v1/queues', '/v2/topics', '/v1/topics/orders/', '/v1/topics/a%2Fb']) {
    refuses('GET', path, 404, 'not_found', { [path]: [{}] });
  }
  refuses('PATCH', ORDERS, 405, 'method_not_allowed', { PATCH: [{ body: {} }, { allowed: ['PUT', 'GET', 'DELETE'] }] });
  refuses('HEAD', ORDERS, 405, 'method_not_allowed', { HEAD: [{}] });
  refuses('POST', '/v1/health', 405, 'method_not_allowed', { 'a method': [{}, { allowed: ['GET'] }] });
});
