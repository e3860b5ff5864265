import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LocalBackbone, startLocalBackbone } from '../../local/embedding.ts';
import { INLINE_DEAD_LETTER_BYTES_MAX } from '../../shared/domain/limits.ts';

interface Event {
  readonly id: string;
  readonly data: number;
}

/** What an endpoint answers to a batch: its status; undefined: nothing, ever. */
type Answer = (events: readonly Event[]) => number | undefined;

let backbone: LocalBackbone;
let server: Server;
let url: string;
/** By path: how the endpoint there answers, and what it has been sent. */
const answers = new Map<string, Answer>();
const taken = new Map<string, Event[]>();
const failures: string[] = [];

beforeEach(async () => {
  for (const map of [answers, taken]) map.clear();
  failures.length = 0;
  backbone = await startLocalBackbone({ onFailure: (message, error) => failures.push(`${message}: ${error}`) });
  server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const events = JSON.parse(Buffer.concat(pieces).toString()) as Event[];
    const path = request.url!;
    const status = answers.has(path) ? answers.get(path)!(events) : 204;
    if (status === undefined) return;
    if (status === 204) taken.set(path, [...(taken.get(path) ?? []), ...events]);
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  await backbone.dispose();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function call(method: string, path: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${backbone.url}${path}`, { method, headers, body: JSON.stringify(body) });
  expect(answer.ok, await answer.text()).toBe(true);
}

const subscribe = (name: string, topic: string, change: object = {}) =>
  call('PUT', `/v1/subscriptions/${name}`, { topics: [topic], target: { http: { url: `${url}/${name}` } }, ...change });
const append = (topic: string, from: number, count: number) =>
  call('POST', `/v1/topics/${topic}/records`, {
    records: Array.from({ length: count }, (_, i) => ({ key: `k${from + i}`, value: from + i })),
  });
const values = (name: string) => new Set((taken.get(`/${name}`) ?? []).map(({ data }) => data));

describe('in one process', () => {
  it('what is appended is pushed to everybody who subscribed, whatever fails on the way', async () => {
    await call('PUT', '/v1/topics/orders', { partitions: 2 });
    let calls = 0;
    answers.set('/flaky', () => [503, 204, 500, 429, 204][calls++ % 5]!);
    const retry = { maxAttempts: 20, minBackoffMs: 10, maxBackoffMs: 20 };
    await subscribe('flaky', 'orders', { retry, batch: { maxRecords: 5, maxBytes: 10_000 } });
    await subscribe('calm', 'orders');
    for (let i = 0; i < 8; i++) await append('orders', i * 5, 5);
    await expect.poll(() => values('calm').size, { timeout: 5_000 }).toBe(40);
    await expect.poll(() => values('flaky').size, { timeout: 20_000 }).toBe(40);
    const next = new Map<string, number>();
    for (const { id } of taken.get('/flaky')!) {
      const [partition, offset] = id.split(':') as [string, string];
      // Again, perhaps, but never ahead.
      expect(Number(offset)).toBeLessThanOrEqual(next.get(partition) ?? 0);
      next.set(partition, Math.max(next.get(partition) ?? 0, Number(offset) + 1));
    }
    expect(failures).toEqual([]);
  }, 30_000);

  it('what has become a dead letter comes again when it is redriven, with the same id, and is one no more', async () => {
    await call('PUT', '/v1/topics/orders', { partitions: 1 });
    answers.set('/mended', () => 500);
    await subscribe('mended', 'orders', { retry: { maxAttempts: 1, minBackoffMs: 10, maxBackoffMs: 10 } });
    const value = 'x'.repeat(2 * INLINE_DEAD_LETTER_BYTES_MAX);
    await call('POST', '/v1/topics/orders/records', { records: [{ value: 1 }, { value }] });
    const letters = async () => {
      const answer = await fetch(`${backbone.url}/v1/subscriptions/mended/dead-letters?state=stored`);
      return ((await answer.json()) as { deadLetters: { id: string }[] }).deadLetters.length;
    };
    await expect.poll(letters, { timeout: 10_000 }).toBe(2);
    answers.delete('/mended');
    await call('POST', '/v1/subscriptions/mended/dead-letters/redrive', { filter: { topic: 'orders' } });
    await expect.poll(() => (taken.get('/mended') ?? []).length, { timeout: 10_000 }).toBe(2);
    expect(taken.get('/mended')).toMatchObject([
      { id: 'orders-0:0', data: 1 },
      { id: 'orders-0:1', data: value },
    ]);
    const all = `${backbone.url}/v1/subscriptions/mended/dead-letters`;
    await expect.poll(async () => (await fetch(all)).text()).toBe('{"deadLetters":[]}');
    expect(failures).toEqual([]);
  }, 30_000);

  it('those that hang keep nobody waiting', async () => {
    await call('PUT', '/v1/topics/stuck', { partitions: 50 });
    await call('PUT', '/v1/topics/orders', { partitions: 1 });
    answers.set('/hung', () => undefined);
    await subscribe('hung', 'stuck', { timeoutMs: 20_000 });
    await subscribe('healthy', 'orders');
    await append('stuck', 0, 400);
    for (let i = 0; i < 10; i++) {
      await append('orders', i, 1);
      // Half of what the others hang for, on a machine that has much else to do.
      await expect.poll(() => values('healthy').size, { timeout: 10_000, interval: 5 }).toBe(i + 1);
    }
  }, 30_000);
});
