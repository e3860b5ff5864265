import { gunzipSync, gzipSync } from 'node:zlib';
import type { Context } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { type ApiRoute, type ApiRoutes, apiHandler } from '../../functions/api-handler.ts';
import { InvalidRequest, OffsetOutOfRange, Throttled } from '../../shared/domain/errors.ts';
import { LAMBDA_ANSWER_BYTES_MAX, REQUEST_BYTES_MAX } from '../../shared/domain/limits.ts';
import { jsonAnswer } from '../../shared/wire/http-answer.ts';
import { gatewayEvent, type Sent, send } from '../support/gateway-call.ts';
import { OPEN_PORTS } from '../support/open-ports.ts';

const PATH = '/v1/topics/orders/records';
const ROUTE = 'POST /v1/topics/{topic}/records';

const served = (routes: ApiRoutes, corsOrigins: string[] = []) =>
  apiHandler(
    () => OPEN_PORTS,
    () => routes,
    { corsOrigins },
  );

/** Calls a function that has one route, `POST /v1/topics/{topic}/records`. */
function call(route: ApiRoute, sent: Sent = {}, origins: string[] = []) {
  return send({ produce: served({ [ROUTE]: route }, origins) }, 'POST', PATH, sent);
}

const echo: ApiRoute = (request) => ({
  status: 200,
  headers: { 'content-type': 'application/x-test' },
  body: request.readBody(),
});

describe('the body of a request', () => {
  const bytes = Buffer.from('ff00fe80', 'hex');

  it.each([
    ['an octet stream', 'application/octet-stream'],
    ['a form post', 'application/x-www-form-urlencoded'],
    ['a type of its own in JSON', 'application/vnd.acme+json'],
    ['no type at all', undefined],
  ])('arrives byte for byte as %s', async (_, type) => {
    const reply = await call(echo, { body: bytes, headers: type === undefined ? {} : { 'content-type': type } });
    expect(reply.bytes.toString('base64')).toBe('/wD+gA==');
  });

  it('is taken as the event says, base64 or text, whatever its type', async () => {
    const asText = { body: 'aGk=', isBase64Encoded: false };
    expect((await call(echo, { event: asText })).text).toBe('aGk=');
    expect((await call(echo, { event: { ...asText, isBase64Encoded: true } })).text).toBe('hi');
  });

  it('is the same whoever looks, and its text does not stay in the event', async () => {
    const { event } = gatewayEvent('POST', PATH, { body: 'text' });
    const twice: ApiRoute = (request) =>
      jsonAnswer([String(request.readBody()), String(request.readBody()), event.body]);
    const { body } = await served({ [event.routeKey]: twice })(event, {} as Context);
    expect(JSON.parse(body!)).toEqual(['text', 'text', '']);
  });

  it('is decompressed when it says that it is gzip', async () => {
    const reply = await call(echo, { body: gzipSync('{"a":1}'), headers: { 'content-encoding': 'GZIP' } });
    expect(reply.text).toBe('{"a":1}');
  });

  it('is refused with 400 when it says gzip and is not', async () => {
    const reply = await call(echo, { body: 'plain', headers: { 'content-encoding': 'gzip' } });
    expect(reply).toMatchObject({ status: 400, code: 'invalid_request' });
  });

  it('is refused with 415 in any other encoding, naming the one that works', async () => {
    const reply = await call(echo, { body: 'x', headers: { 'content-encoding': 'br' } });
    expect(reply).toMatchObject({ status: 415, code: 'unsupported_media_type' });
    expect(reply.json()).toMatchObject({ accepted: ['gzip'], detail: expect.stringContaining('Content-Encoding') });
  });

  it('is taken up to its limit and refused with 413 one byte above', async () => {
    const seen: ApiRoute = (request) => jsonAnswer(request.readBody().length);
    expect((await call(seen, { body: Buffer.alloc(REQUEST_BYTES_MAX) })).text).toBe(String(REQUEST_BYTES_MAX));
    const reply = await call(seen, { body: Buffer.alloc(REQUEST_BYTES_MAX + 1) });
    expect(reply).toMatchObject({ status: 413, code: 'request_too_large' });
    expect(reply.json()).toMatchObject({ maxBytes: REQUEST_BYTES_MAX });
  });

  it('is refused with 413 when a small gzip body would inflate past the limit', async () => {
    const bomb = gzipSync(Buffer.alloc(REQUEST_BYTES_MAX + 1));
    const reply = await call(echo, { body: bomb, headers: { 'content-encoding': 'gzip' } });
    expect(reply).toMatchObject({ status: 413, code: 'request_too_large' });
  });
});

describe('a refusal', () => {
  it('is a problem document with its code, its data and the id of the request', async () => {
    const { event } = gatewayEvent('POST', PATH);
    const refuse: ApiRoute = () => {
      throw new OffsetOutOfRange(9, 3, 7);
    };
    const reply = await call(refuse, { event: { requestContext: event.requestContext } });
    expect(reply.status).toBe(416);
    expect(reply.headers['content-type']).toBe('application/problem+json');
    expect(reply.json()).toEqual({
      type: 'about:blank',
      title: 'Range Not Satisfiable',
      status: 416,
      code: 'offset_out_of_range',
      detail: expect.any(String),
      logStartOffset: 3,
      highWatermark: 7,
      requestId: event.requestContext.requestId,
    });
  });

  it('for load says when to come back, in whole seconds', async () => {
    const reply = await call(() => {
      throw new Throttled('too fast', 1_200);
    });
    expect(reply).toMatchObject({ status: 429, headers: { 'retry-after': '2' } });
    expect(reply.json()).toMatchObject({ code: 'throttled', retryAfterMs: 1_200 });
  });

  it('of something unexpected says nothing but the id of the request', async () => {
    const reply = await call(() => {
      throw new TypeError('secret of table vertebra-log');
    });
    expect(reply).toMatchObject({ status: 500, code: 'internal' });
    expect(reply.text).not.toContain('secret');
    expect(reply.json().detail).toContain(reply.json().requestId);
  });

  it('of a path that no route has is 404, of a method that it has not is 405 with those it has', async () => {
    const topics = served({});
    expect(await send({ topics }, 'GET', '/v1/nothing')).toMatchObject({ status: 404, code: 'not_found' });
    const reply = await send({ topics }, 'PATCH', '/v1/topics/orders');
    expect(reply).toMatchObject({ status: 405, code: 'method_not_allowed', headers: { allow: 'PUT, GET, DELETE' } });
    expect(reply.json()).toMatchObject({ allowed: ['PUT', 'GET', 'DELETE'] });
  });

  it('comes before the function is cut off: what a writer stored is unknown then', async () => {
    const context = { getRemainingTimeInMillis: () => 520 };
    const never = served({ [ROUTE]: () => new Promise<never>(() => {}) });
    const { event } = gatewayEvent('POST', PATH);
    const result = await never(event, context as Parameters<typeof never>[1]);
    expect(result.statusCode).toBe(504);
    expect(JSON.parse(result.body!)).toMatchObject({ code: 'outcome_unknown' });
  });
});

describe('the start of a function', () => {
  it('that fails is answered with 500, and the next call starts again', async () => {
    let starts = 0;
    const open = () => {
      if (++starts === 1) throw new Error('no configuration yet');
      return OPEN_PORTS;
    };
    const produce = apiHandler(open, () => ({ [ROUTE]: () => jsonAnswer({ starts }) }), { corsOrigins: [] });
    expect(await send({ produce }, 'POST', PATH)).toMatchObject({ status: 500, code: 'internal' });
    expect((await send({ produce }, 'POST', PATH)).json()).toEqual({ starts: 2 });
    expect((await send({ produce }, 'POST', PATH)).json()).toEqual({ starts: 2 });
  });
});

describe('the answer', () => {
  const gzip = { headers: { 'accept-encoding': 'br, gzip;q=0.5' } };
  const long = 'x'.repeat(2_000);

  it('is compressed for whom takes gzip, when that is worth it', async () => {
    const reply = await call(() => jsonAnswer(long), gzip);
    expect(reply.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
    expect(gunzipSync(reply.bytes).toString()).toBe(JSON.stringify(long));
    expect((await call(() => jsonAnswer('short'), gzip)).text).toBe('"short"');
    expect((await call(() => jsonAnswer(long), { headers: { 'accept-encoding': 'gzip;q=0' } })).text).toContain(long);
  });

  it('is compressed when it is a refusal, too', async () => {
    const reply = await call(() => {
      throw new InvalidRequest(long);
    }, gzip);
    expect(JSON.parse(gunzipSync(reply.bytes).toString())).toMatchObject({ code: 'invalid_request', detail: long });
  });

  it('gets through the limit of 6 MB though every byte of it is escaped', async () => {
    const quotes = '"'.repeat(4_600_000);
    const reply = await call(() => ({ status: 200, body: quotes }));
    expect(reply.text).toBe(quotes);
  });

  it('gets through it, too, when only as text: nothing of it is escaped', async () => {
    const long = 'é'.repeat(3_000_000);
    expect((await call(() => ({ status: 200, body: long }))).text).toBe(long);
  });

  it('that cannot get through is a 500 of our own, not a failure of the gateway', async () => {
    const reply = await call(() => ({ status: 200, body: 'x'.repeat(LAMBDA_ANSWER_BYTES_MAX) }));
    expect(reply).toMatchObject({ status: 500, code: 'internal' });
  });
});

describe('pages of other origins', () => {
  const origin = 'https://app.example';
  const from = (name: string) => ({ headers: { origin: name } });

  it('see nothing by default', async () => {
    const reply = await call(() => jsonAnswer(1), from(origin));
    expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
    expect(reply.headers).not.toHaveProperty('vary');
  });

  it('see answers and refusals alike when their origin is configured', async () => {
    const refuse: ApiRoute = () => {
      throw new Throttled('too fast');
    };
    for (const route of [() => jsonAnswer(1), refuse]) {
      const { headers } = await call(route, from(origin), ['https://other.example', origin]);
      expect(headers).toMatchObject({ 'access-control-allow-origin': origin, vary: 'Origin' });
      expect(headers['access-control-expose-headers']).toContain('Retry-After');
      expect(headers).not.toHaveProperty('access-control-allow-credentials');
    }
  });

  it('see nothing when theirs is not', async () => {
    const { headers } = await call(() => jsonAnswer(1), from('https://evil.example'), [origin]);
    expect(headers).not.toHaveProperty('access-control-allow-origin');
    expect(headers.vary).toBe('Origin');
  });

  it('may ask first, with a key and a signature, when their origin is configured', async () => {
    const topics = served({}, [origin]);
    const headers = {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'idempotency-key',
    };
    const reply = await send({ topics }, 'OPTIONS', PATH, { headers });
    expect(reply).toMatchObject({ status: 204, headers: { 'access-control-allow-origin': origin } });
    expect(reply.headers['access-control-allow-methods']).toContain('DELETE');
    expect(reply.headers['access-control-allow-headers']).toMatch(/Authorization.*Idempotency-Key/);
    const other = await send({ topics }, 'OPTIONS', PATH, { headers: { ...headers, origin: 'https://evil.example' } });
    expect(other).toMatchObject({ status: 405 });
    expect(other.headers).not.toHaveProperty('access-control-allow-origin');
  });
});
