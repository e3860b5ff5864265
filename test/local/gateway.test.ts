import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import { connect } from 'node:net';
import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';
import { afterEach, describe, expect, it } from 'vitest';
import { type Exchange, type Gateway, type GatewayOptions, openGateway } from '../../local/gateway.ts';

let gateway: Gateway | undefined;
afterEach(async () => {
  await gateway?.close(0);
  gateway = undefined;
});

type Handler = (event: APIGatewayProxyEventV2, context: Context) => unknown;

/** A gateway whose functions all do the same. */
async function serve(handler: Handler, more: Partial<GatewayOptions> = {}): Promise<Gateway> {
  const each = async (event: APIGatewayProxyEventV2, context: Context) => handler(event, context);
  gateway = await openGateway({
    handlers: { produce: each, fetch: each, topics: each, groups: each },
    port: 0,
    ...more,
  });
  return gateway;
}

interface Got {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** By `node:http`, which sends what it is told: `fetch` would tidy paths and headers up. */
function call(path: string, options: RequestOptions = {}, body?: Buffer | string): Promise<Got> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(`${gateway!.url}/`, { path, agent: false, ...options }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
const message = (got: Got) => ({ status: got.status, ...JSON.parse(got.body.toString()) });

describe('a request', () => {
  it('reaches the function of its route with a context, and its answer comes back', async () => {
    const seen: { name: string; key: string; remaining: number }[] = [];
    await serve((event, context) => {
      seen.push({ name: context.functionName, key: event.routeKey, remaining: context.getRemainingTimeInMillis() });
      return {
        statusCode: 201,
        headers: { 'Content-Type': 'application/json', 'X-N': 3 },
        cookies: ['a=1', 'b=2'],
        body: '{}',
      };
    });
    const got = await call('/v1/topics/orders/records', { method: 'POST' }, '{}');
    expect(got).toMatchObject({
      status: 201,
      headers: { 'content-type': 'application/json', 'x-n': '3', 'content-length': '2' },
    });
    expect(got.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(got.headers['apigw-requestid']).toMatch(/^[\w-]{15}=$/);
    await call('/v1/topics/orders/partitions/0/records?offset=0');
    await call('/nowhere');
    expect(seen.map(({ name, key }) => [name, key])).toEqual([
      ['produce', 'POST /v1/topics/{topic}/records'],
      ['fetch', 'GET /v1/topics/{topic}/partitions/{partition}/records'],
      ['topics', '$default'],
    ]);
    expect(seen[0]!.remaining).toBeGreaterThan(28_000);
    expect(seen[0]!.remaining).toBeLessThanOrEqual(29_000);
  });

  it('carries bytes both ways unharmed', async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
    await serve((event) => ({ statusCode: 200, body: event.body, isBase64Encoded: event.isBase64Encoded }));
    const got = await call(
      '/v1/topics/orders/records',
      { method: 'POST', headers: { 'content-type': 'application/octet-stream' } },
      bytes,
    );
    expect(got.body.equals(bytes)).toBe(true);
    expect(got.headers['content-type']).toBe('text/plain; charset=utf-8');
  });

  it('arrives whole when it is sent in chunks', async () => {
    await serve((event) => ({
      statusCode: 200,
      body: `${event.body} ${event.headers['transfer-encoding']} ${event.headers['content-length']}`,
    }));
    const headers = { 'content-type': 'text/plain', 'transfer-encoding': 'chunked' };
    expect((await call('/x', { method: 'POST', headers }, 'hello')).body.toString()).toBe('hello undefined 5');
  });

  it('of method HEAD is answered without a body', async () => {
    await serve((event) => ({ statusCode: 405, body: event.requestContext.http.method }));
    const got = await call('/v1/topics', { method: 'HEAD' });
    expect(got).toMatchObject({ status: 405, headers: { 'content-length': '4' } });
    expect(got.body.length).toBe(0);
  });

  it('may be answered with 204', async () => {
    await serve(() => ({ statusCode: 204 }));
    const got = await call('/v1/topics/orders', { method: 'DELETE' });
    expect(got.status).toBe(204);
    expect(got.headers).not.toHaveProperty('content-length');
  });
});

describe('the gateway itself', () => {
  it('answers 400 to a malformed path', async () => {
    await serve(() => ({ statusCode: 200 }));
    expect(message(await call('/v1/topics/%zz'))).toEqual({ status: 400, message: 'Bad Request' });
  });

  it('takes 10,240 bytes of request line and header values, and answers 431 to one more', async () => {
    await serve((event) => ({ statusCode: 200, body: event.headers['x-fill']!.length.toString() }));
    const { host } = new URL(gateway!.url);
    const others = 'GET /x HTTP/1.1'.length + host.length + 'close'.length;
    const fill = 'f'.repeat(10_240 - others);
    expect((await call('/x', { headers: { 'x-fill': fill } })).status).toBe(200);
    const over = await call('/x', { headers: { 'x-fill': `${fill}f` } });
    expect(message(over)).toEqual({ status: 431, message: 'Request Header Fields Too Large' });
    expect((await call('/x', { headers: { 'x-fill': 'f'.repeat(100_000) } })).status).toBe(431);
  });

  it('answers 413 to more than 10 MB, to a client that waits to be asked and to one that just sends', async () => {
    let calls = 0;
    await serve(() => {
      calls += 1;
      return { statusCode: 200 };
    });
    const body = Buffer.alloc(10 * 1024 * 1024 + 1, 'x');
    const refused = { status: 413, message: 'Request Entity Too Large' };
    expect(message(await call('/x', { method: 'POST' }, body))).toEqual(refused);
    const asked = httpRequest(`${gateway!.url}/x`, {
      method: 'POST',
      headers: { expect: '100-continue', 'content-length': body.length },
    });
    asked.on('continue', () => asked.destroy(new Error('was told to go on')));
    asked.flushHeaders();
    const [response] = await once(asked, 'response');
    expect(response.statusCode).toBe(413);
    asked.destroy();
    expect(calls).toBe(0);
  });

  it('answers 413 to an event that Lambda would not take: 6 MB with its base64 and escapes', async () => {
    await serve(() => ({ statusCode: 200 }));
    const headers = { 'content-type': 'application/octet-stream' };
    const post = (bytes: number) => call('/x', { method: 'POST', headers }, Buffer.alloc(bytes));
    expect((await post(4_700_000)).status).toBe(200);
    expect((await post(4_718_592)).status).toBe(413);
    const quotes = call('/x', { method: 'POST', headers: { 'content-type': 'text/plain' } }, '"'.repeat(3_200_000));
    expect((await quotes).status).toBe(413);
  });

  it('cuts a function off with 503 and lets it run on', async () => {
    const seen: Exchange[] = [];
    let finish = () => {};
    const slow = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let ended = false;
    const late = slow.then(() => {
      ended = true;
      return { statusCode: 200 };
    });
    await serve(() => late, { integrationTimeoutMs: 50, observe: (exchange) => seen.push(exchange) });
    expect(message(await call('/x'))).toEqual({ status: 503, message: 'Service Unavailable' });
    expect(ended).toBe(false);
    finish();
    await late;
    expect(seen).toHaveLength(1);
    expect(String(seen[0]!.error)).toBe('Error: cut off after 50 ms');
  });

  it.each([
    ['throws', () => Promise.reject(new Error('secret detail'))],
    ['answers nothing', () => undefined],
    ['answers no status', () => ({ statusCode: 'fine' })],
    ['answers a body that is not text', () => ({ statusCode: 200, body: { a: 1 } })],
    ['answers a header that is not text', () => ({ statusCode: 200, headers: { a: {} } })],
    ['answers a header that no socket carries', () => ({ statusCode: 200, headers: { a: 'b\nc' } })],
    ['answers more than 6 MB', () => ({ statusCode: 200, body: 'x'.repeat(6 * 1024 * 1024) })],
    ['answers more than 6 MB once escaped', () => ({ statusCode: 200, body: '\n'.repeat(4 * 1024 * 1024) })],
  ])('answers 500 in its own words when a function %s', async (_, handler: Handler) => {
    await serve(handler);
    expect(message(await call('/x'))).toEqual({ status: 500, message: 'Internal Server Error' });
  });

  it('takes a result without a status for the body of a 200', async () => {
    await serve((event) => (event.rawPath === '/text' ? '[1]' : { a: 1 }));
    for (const [path, body] of [
      ['/text', '[1]'],
      ['/object', '{"a":1}'],
    ] as const) {
      const got = await call(path);
      expect(got).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
      expect(got.body.toString()).toBe(body);
    }
  });

  it('outlives clients that go away, before the body has come and before the answer has', async () => {
    let reached = () => {};
    const called = new Promise<void>((resolve) => {
      reached = resolve;
    });
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const seen: Exchange[] = [];
    await serve(
      async (event) => {
        if (event.rawPath !== '/slow') return { statusCode: 200, body: 'alive' };
        reached();
        await finished;
        return { statusCode: 200, body: 'for nobody' };
      },
      { observe: (exchange) => seen.push(exchange) },
    );
    const port = Number(new URL(gateway!.url).port);
    const half = connect(port, '127.0.0.1', () =>
      half.write('POST /half HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\nab', () => half.destroy()),
    );
    await once(half, 'close');
    const gone = connect(port, '127.0.0.1', () => gone.write('GET /slow HTTP/1.1\r\nhost: localhost\r\n\r\n'));
    await called;
    gone.destroy();
    await once(gone, 'close');
    finish();
    expect((await call('/alive')).body.toString()).toBe('alive');
    await expect.poll(() => seen.map((exchange) => exchange.event.rawPath).sort()).toEqual(['/alive', '/slow']);
  });
});

describe('closing', () => {
  it('lets a request under way finish, and takes no more', async () => {
    let finish = () => {};
    let reached = () => {};
    const called = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    await serve(async () => {
      reached();
      await finished;
      return { statusCode: 200, body: 'done' };
    });
    const pending = call('/x');
    await called;
    const closed = gateway!.close(10_000);
    await expect(call('/y')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    finish();
    expect((await pending).body.toString()).toBe('done');
    await closed;
  });

  it('answers 503 to what is still under way at its deadline, and closes idle connections', async () => {
    let reached = () => {};
    const called = new Promise<void>((resolve) => {
      reached = resolve;
    });
    await serve((event) => {
      if (event.rawPath === '/quick') return { statusCode: 200 };
      reached();
      return new Promise(() => {});
    });
    const idle = connect(Number(new URL(gateway!.url).port), '127.0.0.1', () =>
      idle.write('GET /quick HTTP/1.1\r\nhost: localhost\r\n\r\n'),
    );
    await once(idle, 'data');
    const pending = call('/stuck');
    await called;
    const idleClosed = once(idle, 'close');
    await gateway!.close(20);
    expect(message(await pending)).toEqual({ status: 503, message: 'Service Unavailable' });
    await idleClosed;
  });

  it('does not wait for a client that never finishes sending', async () => {
    await serve(() => ({ statusCode: 200 }));
    const stuck = connect(Number(new URL(gateway!.url).port), '127.0.0.1');
    stuck.on('error', () => {});
    await once(stuck, 'connect');
    stuck.write('POST /x HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\nab');
    await call('/x'); // the server has read the other connection by now, too
    const gone = once(stuck, 'close');
    await gateway!.close(20);
    await gone;
  });
});

it('says so when the port is taken', async () => {
  await serve(() => ({ statusCode: 200 }));
  const port = Number(new URL(gateway!.url).port);
  const nobody = async () => ({ statusCode: 200 });
  await expect(
    openGateway({ handlers: { produce: nobody, fetch: nobody, topics: nobody, groups: nobody }, port }),
  ).rejects.toMatchObject({
    code: 'EADDRINUSE',
  });
});
