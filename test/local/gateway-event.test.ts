import { describe, expect, it } from 'vitest';
import { type ReceivedRequest, toEvent } from '../../local/gateway-event.ts';

const request = (over: Partial<ReceivedRequest> = {}): ReceivedRequest => ({
  method: 'GET',
  target: '/v1/topics/orders',
  httpVersion: '1.1',
  rawHeaders: ['Host', '127.0.0.1:4100', 'User-Agent', 'curl/8.5.0'],
  body: Buffer.alloc(0),
  sourceIp: '127.0.0.1',
  port: 4100,
  requestId: 'Y2FsbC1udW1iZXI=',
  receivedAt: Date.UTC(2020, 2, 12, 19, 3, 58, 390),
  ...over,
});
const eventOf = (over: Partial<ReceivedRequest>) => toEvent(request(over))!.event;
const posted = (contentType: string | null, body: Buffer, more: string[] = []) =>
  eventOf({
    method: 'POST',
    target: '/v1/topics/orders/records',
    rawHeaders: [...(contentType === null ? [] : ['Content-Type', contentType]), ...more],
    body,
  });

describe('the event of a request', () => {
  it('has the shape of payload format 2.0', () => {
    expect(toEvent(request({ target: '/v1/topics/orders?limit=5' }))).toEqual({
      route: { key: 'GET /v1/topics/{topic}', function: 'topics' },
      event: {
        version: '2.0',
        routeKey: 'GET /v1/topics/{topic}',
        rawPath: '/v1/topics/orders',
        rawQueryString: 'limit=5',
        headers: {
          host: '127.0.0.1:4100',
          'user-agent': 'curl/8.5.0',
          'content-length': '0',
          'x-forwarded-for': '127.0.0.1',
          'x-forwarded-port': '4100',
          'x-forwarded-proto': 'http',
        },
        queryStringParameters: { limit: '5' },
        pathParameters: { topic: 'orders' },
        requestContext: {
          accountId: '000000000000',
          apiId: 'local',
          domainName: '127.0.0.1',
          domainPrefix: '127',
          http: {
            method: 'GET',
            path: '/v1/topics/orders',
            protocol: 'HTTP/1.1',
            sourceIp: '127.0.0.1',
            userAgent: 'curl/8.5.0',
          },
          requestId: 'Y2FsbC1udW1iZXI=',
          routeKey: 'GET /v1/topics/{topic}',
          stage: '$default',
          time: '12/Mar/2020:19:03:58 +0000',
          timeEpoch: Date.UTC(2020, 2, 12, 19, 3, 58, 390),
        },
        isBase64Encoded: false,
      },
    });
  });

  it('goes to $default when no route has this method and path', () => {
    for (const over of [
      { method: 'PATCH' },
      { method: 'HEAD' },
      { target: '/v2' },
      { target: '/v1/topics/' },
      { target: '/v1/topics/a/records/1' },
    ]) {
      expect(toEvent(request(over))).toMatchObject({
        route: { function: 'topics' },
        event: { routeKey: '$default', requestContext: { routeKey: '$default' } },
      });
      expect(eventOf(over)).not.toHaveProperty('pathParameters');
    }
  });

  it('joins repeated headers by a comma, in lower case, and lists cookies apart', () => {
    const event = eventOf({
      rawHeaders: ['X-Tag', 'b', 'x-tag', 'a', 'X-TAG', 'b', 'Cookie', 'one=1; two=2', 'cookie', 'three=3'],
    });
    expect(event.headers['x-tag']).toBe('b,a,b');
    expect(event.cookies).toEqual(['one=1', 'two=2', 'three=3']);
    expect(event.headers).not.toHaveProperty('cookie');
  });

  it('joins repeated query parameters by a comma, decoded, and keeps the raw query as sent', () => {
    const event = eventOf({ target: '/v1/topics?x=1&x=2&at=2026-01-01T00%3A00%3A00Z&empty=&q=a+b' });
    expect(event.queryStringParameters).toEqual({ x: '1,2', at: '2026-01-01T00:00:00Z', empty: '', q: 'a b' });
    expect(event.rawQueryString).toBe('x=1&x=2&at=2026-01-01T00%3A00%3A00Z&empty=&q=a+b');
    expect(eventOf({ target: '/v1/topics' })).not.toHaveProperty('queryStringParameters');
  });

  it('decodes the path once, before it looks for a route', () => {
    const event = eventOf({ target: '/v1/topics/%6Frders%2Eeu%2520%C3%A9' });
    expect(event.rawPath).toBe('/v1/topics/orders.eu%20é');
    expect(event.pathParameters).toEqual({ topic: 'orders.eu%20é' });
  });

  it('takes an escaped slash for a separator', () => {
    expect(eventOf({ target: '/v1/topics/a%2Fb' })).toMatchObject({ routeKey: '$default', rawPath: '/v1/topics/a/b' });
    expect(eventOf({ target: '/v1/topics/orders%2Fpartitions' })).toMatchObject({
      routeKey: 'GET /v1/topics/{topic}/partitions',
      pathParameters: { topic: 'orders' },
    });
  });

  it('is refused when an escape in the path is malformed', () => {
    expect(toEvent(request({ target: '/v1/topics/%zz' }))).toBeNull();
    expect(toEvent(request({ target: '/v1/topics/%ff' }))).toBeNull();
  });
});

describe('the body of an event', () => {
  const bytes = Buffer.from([0xff, 0x00, 0xfe, 0x80]);

  it.each([
    'application/json',
    'Application/JSON; charset=utf-8',
    'application/json;charset="utf-8"',
    'text/plain',
    'text/csv; header=present',
    'application/xml',
    'application/javascript',
  ])('is text when its type is %s', (contentType) => {
    expect(posted(contentType, Buffer.from('{"é":1}'))).toMatchObject({ body: '{"é":1}', isBase64Encoded: false });
  });

  it.each([
    'application/octet-stream',
    'application/x-www-form-urlencoded',
    'application/cloudevents+json',
    'application/x-ndjson',
    'application/vnd.kafka.recordbatch',
    'application/jsonp',
    null,
  ])('is base64 when its type is %s', (contentType) => {
    expect(posted(contentType, bytes)).toMatchObject({ body: '/wD+gA==', isBase64Encoded: true });
  });

  it('is base64 when it is compressed, whatever its type', () => {
    const body = (encoding: string) => posted('application/json', bytes, ['Content-Encoding', encoding]);
    expect(body('gzip')).toMatchObject({ body: '/wD+gA==', isBase64Encoded: true });
    expect(body('identity').isBase64Encoded).toBe(false);
  });

  it('is absent when there is none', () => {
    const event = posted('application/octet-stream', Buffer.alloc(0));
    expect(event.isBase64Encoded).toBe(false);
    expect(event).not.toHaveProperty('body');
  });
});
