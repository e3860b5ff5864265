import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createSocketServer, type Server, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { HTTP } from 'cloudevents';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseTargetUrl } from '../../../shared/domain/target-url.ts';
import { HttpTarget } from '../../../shared/target/http.ts';
import { post } from '../../../shared/target/http-call.ts';
import { checkTarget, pinnedLookup } from '../../../shared/target/resolve.ts';
import { readBatchAnswer } from '../../../shared/wire/batch-answer.ts';
import { secretText } from '../../../shared/wire/webhook-signature.ts';
import { deliveryBatch, soon } from '../../support/deliveries.ts';
import { target } from '../../support/target-ports.ts';

const SECRET = secretText(Buffer.alloc(32, 1));
const OLD_SECRET = secretText(Buffer.alloc(32, 2));
const BATCH = deliveryBatch([{ key: 'k', value: '{"a":1}' }, { value: '2' }, { value: 'three' }]);
const DEPLOYED = { loopback: false, ownHosts: [] };

interface Received {
  readonly request: IncomingMessage;
  readonly body: string;
}

async function listening<S extends Server>(server: S): Promise<S & { readonly port: number }> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return Object.assign(server, { port: (server.address() as AddressInfo).port });
}

/** An endpoint on a port of its own, and what it gets. */
async function endpoint(answer: (response: ServerResponse, received: Received) => void) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push({ request, body });
    answer(response, received.at(-1)!);
  });
  const { port } = await listening(server);
  return { received, url: `http://127.0.0.1:${port}/hook` };
}

/** A server that says these bytes to whoever has sent it something. */
async function rawEndpoint(say: (socket: Socket) => void): Promise<string> {
  const server = createSocketServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => say(socket));
  });
  return `http://127.0.0.1:${(await listening(server)).port}/`;
}

/** Says the start, and then the rest, piece by piece, for as long as somebody listens. */
function trickle(socket: Socket, start: string, rest = 'x'): void {
  socket.write(start);
  const timer = setInterval(() => socket.write(rest), 20);
  socket.on('close', () => clearInterval(timer));
}

/** A port on which nobody listens. */
async function freePort(): Promise<number> {
  const server = createSocketServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function send(url: string, deadline = soon()) {
  return target({ http: { url, secret: SECRET } }).send(BATCH, deadline);
}

describe('an HTTP target', () => {
  it('gets a batch of CloudEvents, signed', async () => {
    const { url, received } = await endpoint((response) => response.writeHead(204).end());
    expect(await send(url)).toEqual({ kind: 'done' });
    const [{ request, body }] = received as [Received];
    expect(request.method).toBe('POST');
    expect(request.headers).toMatchObject({
      'content-type': 'application/cloudevents-batch+json',
      'accept-encoding': 'identity',
    });
    const headers = request.headers as Record<string, string>;
    expect(() => new Webhook(SECRET).verify(body, headers)).not.toThrow();
    const events = HTTP.toEvent({ headers, body }) as { id: string; data: unknown }[];
    expect(events.map(({ id, data }) => [id, data])).toEqual([
      ['orders-3:41', { a: 1 }],
      ['orders-3:42', 2],
      ['orders-3:43', 'three'],
    ]);
  });

  it('gets the trace that all records have in common, and no other', async () => {
    const { url, received } = await endpoint((response) => response.end());
    const [one, other] = ['b7ad6b7169203331', '00f067aa0ba902b7'].map((id) => `00-${'a'.repeat(32)}-${id}-01`);
    const traced = (...traces: (string | undefined)[]) =>
      deliveryBatch(traces.map((trace) => ({ value: '1', headers: [['traceparent', trace!]] })));
    const http = { url, secret: SECRET };
    for (const batch of [traced(one, one), traced(one, other)]) await target({ http }).send(batch, soon());
    expect(received.map(({ request }) => request.headers.traceparent)).toEqual([one, undefined]);
  });

  it('gets the same body with the same id, and both signatures while its secret is replaced', async () => {
    const { url, received } = await endpoint((response) => response.end());
    const http = { url, secret: SECRET, previous: { secret: OLD_SECRET, until: Date.now() + 60_000 } };
    await target({ http }).send(BATCH, soon());
    await target({ http: { ...http, previous: { ...http.previous, until: 0 } } }).send(BATCH, soon());
    const [both, one] = received as [Received, Received];
    expect(both.request.headers['webhook-id']).toBe(one.request.headers['webhook-id']);
    const verify = (secret: string, { request, body }: Received) =>
      new Webhook(secret).verify(body, request.headers as Record<string, string>);
    expect(() => verify(SECRET, both)).not.toThrow();
    expect(() => verify(OLD_SECRET, both)).not.toThrow();
    expect(() => verify(SECRET, one)).not.toThrow();
    expect(() => verify(OLD_SECRET, one)).toThrow(/signature/);
  });

  it.each([
    ['', 'text/plain', { kind: 'done' }],
    ['OK', 'text/plain', { kind: 'done' }],
    ['<html></html>', 'text/html', { kind: 'done' }],
    ['{"ok":true}', 'application/json', { kind: 'done' }],
    ['{"batchItemFailures":[]}', 'application/json', { kind: 'done' }],
    ['{"batchItemFailures":[{"itemIdentifier":"orders-3:42"}]}', 'text/plain', { kind: 'failed', at: 42 }],
    ['{"batchItemFailures":[{"itemIdentifier":"orders-3:99"}]}', 'application/json', { kind: 'failed' }],
    ['{"batchItemFailures":[', 'text/plain', { kind: 'failed', error: { name: 'InvalidAnswer' } }],
    ['nonsense', 'application/json', { kind: 'failed', error: { name: 'InvalidAnswer' } }],
  ])('that answers 200 with %s as %s: %j', async (body, type, expected) => {
    const { url } = await endpoint((response) => response.writeHead(200, { 'content-type': type }).end(body));
    expect(await send(url)).toMatchObject(expected);
  });

  it.each([
    [500, {}, 'failed', undefined],
    [400, {}, 'failed', undefined],
    [404, {}, 'failed', undefined],
    [502, { 'retry-after': '5' }, 'failed', undefined],
    [429, {}, 'away', undefined],
    [429, { 'retry-after': '120' }, 'away', 120_000],
    [503, { 'retry-after': '999999999' }, 'away', 3_600_000],
    [503, { 'retry-after': new Date(0).toUTCString() }, 'away', 0],
    [410, {}, 'gone', undefined],
    [301, { location: 'http://169.254.169.254/' }, 'failed', undefined],
    [307, { location: '/elsewhere' }, 'failed', undefined],
  ])('that answers %i %j: %s', async (status, headers, kind, retryAfterMs) => {
    const { url, received } = await endpoint((response) => response.writeHead(status, headers).end('why \u0000\nnot'));
    const delivered = await send(url);
    expect(delivered).toMatchObject({
      kind,
      error: { name: `Http${status}`, message: expect.stringMatching(/: why not$/) },
    });
    expect((delivered as { retryAfterMs?: number }).retryAfterMs).toBe(retryAfterMs);
    expect(received).toHaveLength(1);
  });

  it('of which a long answer is told in 200 characters', async () => {
    const { url } = await endpoint((response) => response.writeHead(500).end('x'.repeat(10_000)));
    const { error } = (await send(url)) as { error: { message: string } };
    expect(error.message).toHaveLength(200);
  });

  it('that refuses connections is away', async () => {
    const url = `http://127.0.0.1:${await freePort()}/`;
    const told = expect.stringMatching(/^(?!.*ECONNREFUSED.*ECONNREFUSED).*ECONNREFUSED/);
    expect(await send(url)).toMatchObject({ kind: 'away', error: { name: 'NoConnection', message: told } });
  });

  it('that does not resolve is away', async () => {
    const refused = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
    expect(await sendBy(() => Promise.reject(refused))).toMatchObject({
      kind: 'away',
      error: { name: 'NoConnection' },
    });
    expect(await sendBy(async () => [])).toMatchObject({ kind: 'away' });
  });
});

/** To a public name, resolved like this. */
function sendBy(resolve: () => Promise<readonly string[]>) {
  return new HttpTarget({
    url: 'https://hooks.example:8443/',
    rules: DEPLOYED,
    contentType: 'application/json',
    record: () => '1',
    body: (records) => `[${records}]`,
    sign: () => ({}),
    readAnswer: readBatchAnswer,
    resolve,
  }).send(BATCH, soon());
}

describe('a hostile endpoint', () => {
  it.each([['127.0.0.1'], ['8.8.8.8', '10.0.0.1'], ['::ffff:169.254.169.254'], ['fd00:ec2::254'], ['nonsense']])(
    'whose name stands for %s is not connected to',
    async (...addresses) => {
      expect(await sendBy(async () => addresses)).toMatchObject({
        kind: 'cannot',
        error: { name: 'TargetNotAllowed' },
      });
      await expect(checkTarget('https://hooks.example/', DEPLOYED, async () => addresses)).rejects.toMatchObject({
        code: 'target_not_allowed',
      });
    },
  );

  it('whose name turns private after it was subscribed is not connected to', async () => {
    const answers = [['8.8.8.8'], ['127.0.0.1']];
    const resolve = async () => answers.shift()!;
    await checkTarget('https://hooks.example:8443/', DEPLOYED, resolve);
    expect(await sendBy(resolve)).toMatchObject({ kind: 'cannot' });
  });

  it('is connected to by the addresses that were looked at, and its name not looked up again', async () => {
    let asked = 0;
    const lookup = pinnedLookup(
      parseTargetUrl('http://localhost:3000/', { loopback: true, ownHosts: [] }),
      async () => {
        asked++;
        return asked === 1 ? ['127.0.0.1'] : ['10.0.0.1'];
      },
    );
    const { url, received } = await endpoint((response) => response.end());
    const { port } = new URL(url);
    const call = { url: new URL(`http://localhost:${port}/`), headers: {}, body: Buffer.from(''), lookup };
    expect(await post({ ...call, deadline: soon() })).toMatchObject({ status: 200 });
    expect([asked, received.length]).toEqual([1, 1]);
  });

  it('that cannot be resolved is not subscribed', async () => {
    const unresolved = checkTarget('https://hooks.example/', DEPLOYED, () => Promise.reject(new Error('ENOTFOUND')));
    await expect(unresolved).rejects.toMatchObject({ code: 'target_not_allowed' });
    await expect(checkTarget('https://8.8.8.8/', DEPLOYED)).resolves.toBeUndefined();
    await expect(checkTarget('https://localhost/', DEPLOYED)).rejects.toMatchObject({ code: 'target_not_allowed' });
  });

  it('of this machine is no target of a deployed backbone', async () => {
    const { url, received } = await endpoint((response) => response.end());
    const deployed = target({ http: { url, secret: SECRET } }, { rules: DEPLOYED });
    expect(await deployed.send(BATCH, soon())).toMatchObject({ kind: 'cannot', error: { name: 'TargetNotAllowed' } });
    expect(received).toEqual([]);
  });

  it.each([
    ['says nothing', (_: Socket) => {}],
    ['has slow headers', (socket: Socket) => trickle(socket, 'HTTP/1.1 200 OK\r\nx-a: ')],
    ['has a slow body', (socket: Socket) => trickle(socket, 'HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n')],
    [
      'only promises',
      (socket: Socket) => trickle(socket, 'HTTP/1.1 102 Processing\r\n\r\n', 'HTTP/1.1 102 Processing\r\n\r\n'),
    ],
  ])('that %s is cut off at the deadline, and has failed', async (_, say) => {
    const url = await rawEndpoint(say);
    const before = Date.now();
    expect(await send(url, soon(150))).toMatchObject({ kind: 'failed' });
    expect(Date.now() - before).toBeLessThan(5_000);
  });

  it('of which a failure is told though its body does not end', async () => {
    const url = await rawEndpoint((socket) =>
      trickle(socket, 'HTTP/1.1 503 No\r\nretry-after: 7\r\ncontent-length: 99\r\n\r\nbusy'),
    );
    expect(await send(url, soon(150))).toMatchObject({ kind: 'away', retryAfterMs: 7_000 });
  });

  it('with an endless body is cut off at 64 KB, and has failed', async () => {
    let written = 0;
    const url = await rawEndpoint((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      const chunk = `1000\r\n${'x'.repeat(4_096)}\r\n`;
      const more = () => {
        while (!socket.destroyed && socket.write(chunk)) written += 4_096;
      };
      socket.on('drain', more);
      more();
    });
    expect(await send(url)).toMatchObject({
      kind: 'failed',
      error: { name: 'InvalidAnswer', message: expect.stringMatching(/65536/) },
    });
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  it.each([
    ['endless headers', `HTTP/1.1 200 OK\r\nx-a: ${'a'.repeat(100_000)}\r\n\r\n`],
    ['no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['an upgrade', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
    ['half an answer', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'],
    ['the end', ''],
  ])('that says %s has failed', async (_, text) => {
    const url = await rawEndpoint((socket) => socket.end(text));
    expect(await send(url)).toMatchObject({ kind: 'failed' });
  });

  it('does not make anybody inflate what it packed', async () => {
    const bomb = gzipSync(Buffer.alloc(16 * 1024 * 1024));
    const { url } = await endpoint((response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb));
    expect(await send(url)).toMatchObject({ kind: 'failed', error: { name: 'InvalidAnswer' } });
    const failing = await endpoint((response) => response.writeHead(500, { 'content-encoding': 'gzip' }).end(bomb));
    expect(await send(failing.url)).toMatchObject({
      kind: 'failed',
      error: { message: 'Internal Server Error' },
    });
  });

  it('without TLS, where TLS is wanted, was never connected to', async () => {
    const url = new URL((await endpoint((response) => response.end())).url.replace('http:', 'https:'));
    const call = post({ url, headers: {}, body: Buffer.from(''), lookup: () => {}, deadline: soon() });
    await expect(call).rejects.toMatchObject({ name: 'CallFailed', sent: false });
  });
});
