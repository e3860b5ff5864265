import { describe, expect, it } from 'vitest';
import { InvalidRequest, UnsupportedMediaType } from '../../../shared/domain/errors.ts';
import { parseApiRequest, partitionOfPath, topicOf } from '../../../shared/wire/http-request.ts';
import { toNextToken } from '../../../shared/wire/next-token.ts';
import { parseOffsetsAt, parseTopicListing, parseTopicSettings } from '../../../shared/wire/topic-requests.ts';
import { gatewayEvent, type Sent } from '../../support/gateway-call.ts';

const request = (method: string, target: string, sent?: Sent) =>
  parseApiRequest(gatewayEvent(method, target, sent).event);
const put = (sent?: Sent) => parseTopicSettings(request('PUT', '/v1/topics/orders', sent));
const list = (query: string) => parseTopicListing(request('GET', `/v1/topics?${query}`));

describe('the settings of a topic', () => {
  it('may be left out, one by one or all', () => {
    expect(put()).toEqual({});
    expect(put({ body: {} })).toEqual({});
    expect(put({ body: { partitions: 1 } })).toEqual({ partitions: 1 });
    expect(put({ body: { partitions: 1_024, retentionMs: 3_600_000 } })).toEqual({
      partitions: 1_024,
      retentionMs: 3_600_000,
    });
    expect(put({ body: { retentionMs: -1 } })).toEqual({ retentionMs: -1 });
    const quota = { bytesPerSecond: 1, recordsPerSecond: 2, perCaller: { bytesPerSecond: 3 } };
    const maxLag = { groups: ['billing', 'shipping'], records: 1 };
    expect(put({ body: { quota, maxLag } })).toEqual({ quota, maxLag });
    expect(put({ body: { quota: null, maxLag: null } })).toEqual({ quota: null, maxLag: null });
  });

  it.each([
    [{ quota: {} }, "'quota' must say at least one of"],
    [{ quota: [] }, "'quota' must be an object"],
    [{ quota: { bytesPerSecond: 0 } }, "'quota.bytesPerSecond' must be an integer from 1"],
    [{ quota: { recordsPerSecond: 1.5 } }, "'quota.recordsPerSecond' must"],
    [{ quota: { perSecond: 1 } }, "'quota.perSecond' is unknown"],
    [{ quota: { perCaller: {} } }, "'quota.perCaller' must say"],
    [{ quota: { perCaller: { perCaller: {} } } }, "'quota.perCaller.perCaller' is unknown"],
    [{ maxLag: { groups: [], records: 1 } }, "'maxLag.groups' must have 1 to 8 entries, not 0"],
    [{ maxLag: { groups: ['a', 'a'], records: 1 } }, "'maxLag.groups[1]' names the same"],
    [{ maxLag: { groups: ['a b'], records: 1 } }, "'maxLag.groups[0]' must be"],
    [{ maxLag: { groups: ['a'] } }, "'maxLag.records' is required"],
    [{ maxLag: { groups: ['a'], records: 0 } }, "'maxLag.records' must be an integer from 1"],
    [{ partitions: 0 }, "'partitions' must be an integer from 1 to 1024"],
    [{ partitions: 1_025 }, "'partitions' must"],
    [{ partitions: '8' }, "'partitions' must"],
    [{ partitions: 1.5 }, "'partitions' must"],
    [{ partitions: null }, "'partitions' must"],
    [{ retentionMs: 3_599_999 }, "'retentionMs' must be an integer of at least 3600000, or -1 for ever"],
    [{ retentionMs: 0 }, "'retentionMs' must"],
    [{ retentionMs: -2 }, "'retentionMs' must"],
    [{ retentionMs: 2 ** 53 }, "'retentionMs' must"],
    [{ retention: 1 }, "A topic has no field 'retention'"],
    ['{"__proto__": {"partitions": 3}}', "A topic has no field '__proto__'"],
    [[], 'The body must be a JSON object'],
    ['null', 'The body must be a JSON object'],
    ['{"partitions": 3', 'The body is not valid JSON'],
    [Buffer.from('7b22ff223a317d', 'hex'), 'The body is not valid JSON in UTF-8'],
  ])('are refused as %j', (body, detail) => {
    // Bytes come without a type: the gateway makes text of what says that it is JSON.
    const sent = body instanceof Buffer ? { body } : { body, headers: { 'content-type': 'application/json' } };
    expect(() => put(sent)).toThrow(InvalidRequest);
    expect(() => put(sent)).toThrow(detail);
  });

  it('come as JSON, with any parameters and case, and as nothing else', () => {
    for (const type of [
      'application/json; charset=utf-8',
      'Application/JSON',
      'application/json;charset="utf-8"',
      'application/vnd.acme+json',
    ]) {
      expect(put({ body: '{"partitions":3}', headers: { 'content-type': type } })).toEqual({ partitions: 3 });
    }
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=utf-16']) {
      expect(() => put({ body: '{"partitions":3}', headers: { 'content-type': type } })).toThrow(UnsupportedMediaType);
    }
    expect(put({ body: Buffer.from('{"partitions":3}') })).toEqual({ partitions: 3 });
  });
});

describe('a page of topics', () => {
  it('has 100 of those that live unless asked otherwise', () => {
    expect(list('')).toEqual({ deleted: false, limit: 100 });
    expect(list('limit=1000&deleted=true')).toEqual({ deleted: true, limit: 1_000 });
    expect(list('deleted=false')).toMatchObject({ deleted: false });
  });

  it('goes on where the page before ended', () => {
    expect(list(`nextToken=${toNextToken('topics', 'orders.v1')}`)).toMatchObject({ after: 'orders.v1' });
    expect(list(`deleted=true&nextToken=${toNextToken('deletedTopics', '01J#x')}`)).toMatchObject({ after: '01J#x' });
  });

  it.each([
    'limit=0',
    'limit=1001',
    'limit=ten',
    'limit=',
    'deleted=yes',
    'deleted=',
    'nextToken=',
    'nextToken=AAAA',
    'nextToken=%F0%9F%8E%89',
    `nextToken=${toNextToken('deletedTopics', 'orders')}`,
    `nextToken=${toNextToken('topics', 'orders')}%3D`,
    `nextToken=${toNextToken('topics', 'or ders')}`,
    `nextToken=${toNextToken('topics', '')}`,
    'page=2',
    'limit=1&limit=1',
  ])('is refused for %s', (query) => {
    expect(() => list(query)).toThrow(InvalidRequest);
  });
});

describe('the place that offsets are asked for', () => {
  const at = (query: string) => parseOffsetsAt(request('GET', `/v1/topics/orders/offsets?${query}`));

  it('is an end of the log or a time', () => {
    expect(at('at=earliest')).toBe('earliest');
    expect(at('at=latest')).toBe('latest');
    expect(at('at=2026-01-01T02:00:00%2B02:00')).toBe(1_767_225_600_000);
  });

  it('is required, and nothing else', () => {
    expect(() => at('')).toThrow("'at' is required");
    expect(() => at('at=2026-01-01T02:00:00+02:00')).toThrow('%2B02:00');
    expect(() => at('at=1767225600000')).toThrow(InvalidRequest);
  });
});

describe('the names in a path', () => {
  const topic = (name: string) => topicOf(request('GET', `/v1/topics/${name}`));

  it.each([
    'a',
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'UPPER',
    'orders.v1',
    'orders_v1',
    '...',
    'x'.repeat(249),
  ])('%s is a topic', (name) => {
    expect(topic(name)).toBe(name);
  });

  it('are decoded once', () => {
    expect(topic('%61')).toBe('a');
    expect(() => topic('%2561')).toThrow(InvalidRequest);
  });

  it.each(['.', '..', 'x'.repeat(250), 'a%0Ab', 'a%20b', 'caf%C3%A9', 'a:b', 'orders%0A', '%00'])(
    '%s is none',
    (name) => {
      expect(() => topic(name)).toThrow(InvalidRequest);
    },
  );

  it.each(['-1', '01', '1e3', '1.5', 'x', '9007199254740992'])('%s is no partition', (text) => {
    const path = `/v1/topics/orders/partitions/${text}/records?offset=0`;
    expect(() => partitionOfPath(request('GET', path))).toThrow("'partition' must be");
  });
});
