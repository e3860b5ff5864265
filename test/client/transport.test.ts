import { once } from 'node:events';
import { createServer } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ApiError } from '../../client/api-error.ts';
import { Aborted, ConnectionError, InvalidOptions, MalformedAnswer, RequestTimeout } from '../../client/errors.ts';
import { pathOf } from '../../client/transport.ts';
import { Vertebra } from '../../client/vertebra.ts';
import { type FaultyProxy, openFaultyProxy, problem } from '../support/faulty-proxy.ts';

let server: FaultyProxy;
beforeAll(async () => {
  server = await openFaultyProxy();
});
afterAll(() => server.close());
beforeEach(() => {
  server.fault = () => ({ status: 200, body: '{"ok":true}', headers: { 'content-type': 'application/json' } });
});

const transport = () => new Vertebra({ endpoint: server.url, clientId: 'tests' }).connection.transport;
const post = { method: 'POST', path: '/v1/x' } as const;
const get = { method: 'GET', path: '/v1/x' } as const;
const thrownBy = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  );

describe('a call', () => {
  it('sends method, path, query, headers and body, and gives the answer', async () => {
    const answer = await transport().call({
      ...post,
      query: { at: '2026-01-01T00:00:00+02:00', limit: 3, key: 'a b+c', none: undefined },
      body: { type: 'application/json', bytes: '{"é":1}' },
      headers: { 'idempotency-key': 'k' },
    });
    expect(answer.status).toBe(200);
    expect(answer.json()).toEqual({ ok: true });
    const sent = server.passed.at(-1)!;
    expect(sent.method).toBe('POST');
    expect(sent.target).toBe('/v1/x?at=2026-01-01T00%3A00%3A00%2B02%3A00&limit=3&key=a%20b%2Bc');
    expect(sent.headers).toMatchObject({
      'content-type': 'application/json',
      'idempotency-key': 'k',
      'user-agent': expect.stringMatching(/^vertebra\/\S+ tests$/),
    });
    expect(sent.body.toString()).toBe('{"é":1}');
  });

  it('may take for ever', async () => {
    expect((await transport().call({ ...get, timeoutMs: Number.POSITIVE_INFINITY })).status).toBe(200);
  });

  it('packs a body when told to', async () => {
    await transport().call({ ...post, body: { type: 'text/plain', bytes: 'a'.repeat(1_000), gzip: true } });
    const { headers, body } = server.passed.at(-1)!;
    expect(headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(body).toString()).toBe('a'.repeat(1_000));
  });

  it('reaches an API that lies below a path', async () => {
    await new Vertebra({ endpoint: `${server.url}/stage/` }).connection.transport.call(get);
    expect(server.passed.at(-1)!.target).toBe('/stage/v1/x');
  });

  it('escapes every part of a path, and refuses what would lead elsewhere', () => {
    expect(pathOf('topics', 'a b?', 'partitions', 3)).toBe('/v1/topics/a%20b%3F/partitions/3');
    for (const name of ['', '.', '..', 'a/b', '\n/'])
      expect(() => pathOf('topics', name)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    expect(pathOf('topics', '__proto__', '...')).toBe('/v1/topics/__proto__/...');
  });
});

describe('an answer other than 2xx', () => {
  it('is an error with what the problem says', async () => {
    server.fault = () => problem(416, 'offset_out_of_range', { logStartOffset: 5, highWatermark: 9 });
    const error = await thrownBy(transport().call(get));
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({
      ...{ status: 416, code: 'offset_out_of_range', detail: 'It is offset_out_of_range', requestId: 'req-1' },
      ...{ data: { logStartOffset: 5, highWatermark: 9 }, retryable: false, effect: 'none' },
    });
  });

  it.each([
    ['throttled', 429, true, 'none'],
    ['unavailable', 503, true, 'none'],
    ['outcome_unknown', 504, true, 'unknown'],
    ['internal', 500, true, 'unknown'],
    ['idempotency_in_progress', 409, true, 'unknown'],
    ['topic_not_found', 404, false, 'none'],
    ['a_code_that_came_later', 409, false, 'none'],
  ] as const)('that says %s (%i) is retryable: %s, and of effect: %s', async (code, status, retryable, effect) => {
    server.fault = () => problem(status, code);
    expect(await thrownBy(transport().call(post))).toMatchObject({ code, retryable, effect });
  });

  it.each([
    [413, '{"message":"Request Entity Too Large"}', 'request_too_large', false, 'none'],
    [403, '{"message":"Forbidden"}', 'forbidden', false, 'none'],
    [429, '{"message":"Too Many Requests"}', 'throttled', true, 'none'],
    [502, '<html>', 'http_502', true, 'unknown'],
    [503, '{"message":"Service Unavailable"}', 'unavailable', true, 'unknown'],
    [504, '{"message":"Endpoint request timed out"}', 'outcome_unknown', true, 'unknown'],
    [302, '', 'http_302', false, 'none'],
  ] as const)('that a gateway made by itself (%i %s) means %s', async (status, body, code, retryable, effect) => {
    server.fault = () => ({ status, body });
    expect(await thrownBy(transport().call(post))).toMatchObject({ status, code, retryable, effect });
  });

  it.each([
    [{ 'retry-after': '7' }, {}, 7_000],
    [{ 'retry-after': '7' }, { retryAfterMs: 6_200 }, 6_200],
    [{ 'retry-after': 'soon' }, {}, undefined],
  ])('tells how long to wait: %j %j', async (headers, data, retryAfterMs) => {
    server.fault = () => ({
      ...problem(429, 'throttled', data),
      headers: { ...headers, 'content-type': 'application/problem+json' },
    });
    expect(await thrownBy(transport().call(post))).toMatchObject({ retryAfterMs });
  });

  it('tells how long to wait when the header is a date', async () => {
    server.fault = () => ({ status: 429, headers: { 'retry-after': new Date(Date.now() + 90_000).toUTCString() } });
    const { retryAfterMs } = (await thrownBy(transport().call(post))) as ApiError;
    expect(retryAfterMs).toBeGreaterThan(80_000);
    expect(retryAfterMs).toBeLessThanOrEqual(90_000);
  });

  it('has no effect when nothing was to be changed', async () => {
    server.fault = () => problem(500, 'internal');
    expect(await thrownBy(transport().call(get))).toMatchObject({ effect: 'none' });
  });

  it('of 200 that is no JSON is found malformed where it is read', async () => {
    server.fault = () => ({ status: 200, body: '<html>' });
    const answer = await transport().call(post);
    expect(() => answer.json()).toThrow(MalformedAnswer);
  });
});

describe('no answer', () => {
  it('because nobody listens is known to have no effect', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as { port: number };
    closed.close();
    await once(closed, 'close');
    const { transport: nowhere } = new Vertebra({ endpoint: `http://127.0.0.1:${port}` }).connection;
    const error = await thrownBy(nowhere.call(post));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ code: 'connection_failed', retryable: true, effect: 'none' });
    expect(String(error)).toContain(`http://127.0.0.1:${port}`);
  });

  it('because the connection broke leaves open what was done', async () => {
    server.fault = () => 'drop';
    expect(await thrownBy(transport().call(post))).toMatchObject({ code: 'connection_failed', effect: 'unknown' });
    expect(await thrownBy(transport().call(get))).toMatchObject({ code: 'connection_failed', effect: 'none' });
  });

  it('in time is a timeout that leaves it open as well', async () => {
    server.fault = () => 'hang';
    const error = await thrownBy(transport().call({ ...post, timeoutMs: 30 }));
    expect(error).toBeInstanceOf(RequestTimeout);
    expect(error).toMatchObject({ retryable: true, effect: 'unknown', data: { timeoutMs: 30 } });
  });

  it('is no shorter when the credentials do not come', async () => {
    const auth = { apiKey: () => new Promise<string>(() => {}) };
    const { transport: waiting } = new Vertebra({ endpoint: server.url, auth }).connection;
    expect(await thrownBy(waiting.call({ ...post, timeoutMs: 30 }))).toMatchObject({
      ...{ code: 'request_timeout', effect: 'none' },
    });
  });

  it('is waited for no longer than the caller wants', async () => {
    let arrive = () => {};
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    server.fault = () => {
      arrive();
      return 'hang';
    };
    const stop = new AbortController();
    const call = thrownBy(transport().call({ ...post, signal: stop.signal }));
    await arrived;
    stop.abort('enough');
    expect(await call).toMatchObject({ code: 'aborted', effect: 'unknown', cause: 'enough' });
    expect(await thrownBy(transport().call({ ...post, signal: stop.signal }))).toMatchObject({ effect: 'none' });
    expect(await thrownBy(transport().call({ ...post, signal: AbortSignal.abort() }))).toBeInstanceOf(Aborted);
  });
});

describe('an endpoint', () => {
  it.each(['VERTEBRA_ENDPOINT', 'VERTEBRA_URL'])('is taken from %s when none is given', async (variable) => {
    process.env[variable] = server.url;
    try {
      expect((await new Vertebra().connection.transport.call(get)).status).toBe(200);
    } finally {
      delete process.env[variable];
    }
    expect(() => new Vertebra()).toThrow(/No endpoint.*VERTEBRA_ENDPOINT/);
  });

  it.each(['', 'orders', 'ftp://a', 'https://user:pw@a', 'https://a?b'])('that is %j is refused', (endpoint) => {
    expect(() => new Vertebra({ endpoint })).toThrow(InvalidOptions);
  });

  it.each([
    [{ requestTimeoutMs: 0 }, 'requestTimeoutMs'],
    [{ clientId: 'a\nb' }, 'clientId'],
    [{ brokers: ['localhost:9092'] }, "no option 'brokers'"],
    [{ retry: { withinMs: Number.NaN } }, 'retry.withinMs'],
  ])('with %j is refused', (options, name) => {
    expect(() => new Vertebra({ endpoint: server.url, ...options })).toThrow(name);
  });
});
