import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createTopic, produceLines } from '../support/api-client.ts';
import { command, startedBackbone } from '../support/command-line.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** A backbone with a topic of one partition, and a function that refuses what says so. */
async function withHandler() {
  const { url } = await startedBackbone();
  await createTopic(url, 'orders', { partitions: 1 });
  const file = join(temporaryFolder(), 'handler.mjs');
  await writeFile(
    file,
    `export const handler = async (event) => { if (JSON.stringify(event).includes('${REFUSED}')) throw new Error('no'); };`,
  );
  const line = (...args: string[]) => command(url, args);
  const lambda = pathToFileURL(file).href;
  return { url, line, lambda };
}

/** `{"id":"bad"}` as events carry it. */
const REFUSED = Buffer.from('{"id":"bad"}').toString('base64');

describe('vertebra subscriptions', () => {
  it('makes one, shows how far it is, and what could not be delivered, which can be shown and purged', async () => {
    const { url, line, lambda } = await withHandler();
    const retry = ['--max-attempts', '1', '--min-backoff', '250ms', '--max-backoff', '5s'];
    const made = await line('subscriptions', 'put', 'invoices', '--topic', 'orders', '--lambda', lambda, ...retry);
    expect(made).toMatchObject({ code: 0, out: '', err: expect.stringContaining('invoices is active') });
    expect(JSON.parse((await line('subscriptions', 'describe', 'invoices', '--json')).out)).toMatchObject({
      retry: { maxAttempts: 1, minBackoffMs: 250, maxBackoffMs: 5_000 },
    });
    await produceLines(url, 'orders', ['{"id":1}', '{"id":"bad"}', '{"id":2}'], '/id');
    const lag = async () =>
      JSON.parse((await line('subscriptions', 'describe', 'invoices', '--json')).out).lag as number;
    await expect.poll(lag, { timeout: 20_000 }).toBe(0);
    const described = await line('subscriptions', 'describe', 'invoices');
    expect(described.out).toMatch(/invoices: active, to file:.*\nLast error: Error: no\n[\s\S]*Lag in all: 0\n/);
    expect((await line('subscriptions', 'list')).out).toMatch(/invoices +active +orders +file:/);

    const [letter] = (await line('dlq', 'list', 'invoices', '--json')).out.split('\n');
    const { id } = JSON.parse(letter!) as { id: string };
    expect((await line('dlq', 'list', 'invoices', '--since', '1h')).out).toContain('Error: no');
    expect(JSON.parse((await line('dlq', 'show', 'invoices', id)).out)).toMatchObject({
      id,
      value: { id: 'bad' },
      attempts: 1,
    });
    expect(await line('dlq', 'show', 'invoices', `${id}9`)).toMatchObject({ code: 3 });
    expect(await line('dlq', 'redrive', 'invoices')).toMatchObject({ code: 2, err: expect.stringContaining('--yes') });
    const dry = await line('dlq', 'redrive', 'invoices', '--dry-run');
    expect(dry.err).toContain('Would deliver 1 dead letter again.');
    const redriven = await line('dlq', 'redrive', 'invoices', '--since', '1h', '--rate', '10', '--json');
    expect(redriven.out).toBe('{"redriving":1,"dryRun":false}\n');
    const again = async () => JSON.parse((await line('dlq', 'show', 'invoices', id)).out) as object;
    await expect.poll(again, { timeout: 20_000 }).toMatchObject({ state: 'stored', redrives: 1, attempts: 2 });
    expect(await line('dlq', 'redrive', 'invoices', '--id', `${id}9`)).toMatchObject({ code: 3 });
    expect(await line('dlq', 'purge', 'invoices')).toMatchObject({ code: 2, err: expect.stringContaining('--yes') });
    expect((await line('dlq', 'purge', 'invoices', '--topic', 'orders', '--json')).out).toBe('{"purged":1}\n');
    expect((await line('dlq', 'list', 'invoices')).out).toBe('');
  });

  it('pauses, seeks, resumes and deletes', async () => {
    const { line, lambda } = await withHandler();
    await line('subscriptions', 'put', 'invoices', '--topic', 'orders', '--lambda', lambda);
    expect((await line('subscriptions', 'pause', 'invoices')).err).toContain('invoices is paused');
    expect((await line('subscriptions', 'seek', 'invoices', '--to', 'earliest')).out).toBe('orders-0 goes on at 0\n');
    expect((await line('subscriptions', 'resume', 'invoices', '--json')).out).toContain('"state":"active"');
    expect(await line('subscriptions', 'rotate-secret', 'invoices')).toMatchObject({ code: 2 });
    expect((await line('subscriptions', 'delete', 'invoices')).err).toContain('Deleted invoices');
    expect(await line('subscriptions', 'describe', 'invoices')).toMatchObject({ code: 3 });
  });

  it('shows a secret once, and a new one when asked', async () => {
    const { line } = await withHandler();
    const http = ['--http', 'http://127.0.0.1:9009/'];
    const { out } = await line('subscriptions', 'put', 'hooks', '--topic', 'orders', ...http);
    expect(out).toMatch(/^whsec_/);
    expect((await line('subscriptions', 'put', 'hooks', ...http)).out).toBe('');
    const rotated = (await line('subscriptions', 'rotate-secret', 'hooks')).out;
    expect(rotated).toMatch(/^whsec_/);
    expect(rotated).not.toBe(out);
  });

  it('takes a filter, and takes it away', async () => {
    const { line, lambda } = await withHandler();
    const filter = JSON.stringify({ value: { type: ['OrderPlaced'] } });
    const put = async (...options: string[]) =>
      JSON.parse((await line('subscriptions', 'put', 'placed', ...options, '--json')).out) as { filter?: object };
    const made = await put('--topic', 'orders', '--lambda', lambda, '--filter', filter);
    expect(JSON.stringify(made.filter)).toBe(filter);
    expect(await put('--filter', 'none')).not.toHaveProperty('filter');
  });

  it.each([
    ['two targets', ['--topic', 'orders', '--http', 'http://127.0.0.1:9009', '--sqs', 'x'], 'exclude'],
    ['no target', ['--topic', 'orders'], 'target'],
    ['a pattern that is none', ['--filter', '{'], 'JSON'],
    ['an offset to begin at', ['--from', '7'], '--from'],
  ])('refuses %s', async (_, options, word) => {
    const { line } = await withHandler();
    expect(await line('subscriptions', 'put', 'wrong', ...options)).toMatchObject({
      code: 2,
      err: expect.stringContaining(word),
    });
  });
});
