import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createTopic, produceLines } from '../support/api-client.ts';
import { command, startedBackbone } from '../support/command-line.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ID = '01J00000000000000000000000.3.8f14e45fceea167a';
/** A record whose handler throws while it stands in the way, as events carry it. */
const REFUSED = Buffer.from('{"id":"K","n":1}').toString('base64');

interface Parked {
  readonly id: string;
  readonly key: string;
}

/** A subscription that has parked the key K at its first record, behind which another one waits. */
async function withParkedKey() {
  const { url } = await startedBackbone();
  await createTopic(url, 'orders', { partitions: 1 });
  const file = join(temporaryFolder(), 'handler.mjs');
  const handler = (body: string) => writeFile(file, `export const handler = async (event) => { ${body} };`);
  await handler(`if (JSON.stringify(event).includes('${REFUSED}')) throw new Error('no')`);
  const line = (...args: string[]) => command(url, args);
  const lambda = pathToFileURL(file).href;
  const policy = ['--max-attempts', '1', '--on-failure', 'park'];
  await line('subscriptions', 'put', 'invoices', '--topic', 'orders', '--lambda', lambda, ...policy);
  await produceLines(url, 'orders', ['{"id":"K","n":1}', '{"id":"L","n":2}', '{"id":"K","n":3}'], '/id');
  const described = async () => (await line('subscriptions', 'describe', 'invoices')).out;
  await expect.poll(described, { timeout: 20_000 }).toMatch(/PARKED[\s\S]* 1\nLag in all: 0\n$/);
  const list = async () =>
    (await line('parked', 'list', 'invoices', '--json')).out
      .split('\n')
      .filter(Boolean)
      .map((text) => JSON.parse(text) as Parked);
  return { line, list, handler, described };
}

describe('vertebra parked', () => {
  it('lists what waits, and tries it again when that is mended', async () => {
    const { line, list, handler, described } = await withParkedKey();
    const [parked, ...others] = await list();
    expect(others).toEqual([]);
    expect(parked).toMatchObject({
      ...{ topic: 'orders', partition: 0, key: 'K', offset: 0, waiting: 2, attempts: 1 },
      ...{ error: { message: 'no' }, nextRetryAt: expect.any(Number) },
    });
    const lines = (await line('parked', 'list', 'invoices')).out.split('\n');
    expect(lines[0]).toMatch(/^ID +TOPIC +PARTITION +KEY +OFFSET +WAITING +ATTEMPTS +SINCE +NEXT TRY +ERROR$/);
    expect(lines[1]).toMatch(new RegExp(`^${parked!.id} +orders +0 +K +0 +2 +1 +20\\S+Z +20\\S+Z +Error: no$`));
    expect((await line('groups', 'describe', 'invoices')).out).toContain('PARKED');

    await handler('');
    const resumed = await line('parked', 'resume', 'invoices', parked!.id);
    expect(resumed).toEqual({ code: 0, out: '', err: 'Trying 1 parked key again.\n' });
    await expect.poll(list, { timeout: 20_000 }).toEqual([]);
    expect(await line('parked', 'list', 'invoices')).toEqual({ code: 0, out: '', err: 'No key is parked.\n' });
    expect(await described()).not.toContain('PARKED');
    expect(await line('parked', 'resume', 'invoices', parked!.id)).toMatchObject({
      code: 3,
      err: expect.stringContaining('parked_key_not_found'),
    });
    expect((await line('parked', 'resume', 'invoices', '--all', '--json')).out).toBe('{"resuming":0}\n');
  });

  it('gives up what fails: it is a dead letter, and its key goes on', async () => {
    const { line, list } = await withParkedKey();
    const given = await line('parked', 'dead-letter', 'invoices', '--all', '--json');
    expect(given).toMatchObject({ code: 0, out: '{"deadLettering":1}\n' });
    await expect.poll(list, { timeout: 20_000 }).toEqual([]);
    const letters = (await line('dlq', 'list', 'invoices', '--json')).out;
    expect(JSON.parse(letters)).toMatchObject({ offset: 0, key: 'K', attempts: 1, error: { message: 'no' } });
    expect((await line('parked', 'dead-letter', 'invoices', '--all')).err).toMatch(/^No parked key has a record/);
    expect((await line('parked', 'resume', 'invoices', '--all')).err).toBe('No parked key waits for its next try.\n');
  });

  it('tells that nothing is tried while the subscription is paused', async () => {
    const { line } = await withParkedKey();
    await line('subscriptions', 'pause', 'invoices');
    const { code, err } = await line('parked', 'resume', 'invoices', '--all');
    expect({ code, lines: err.split('\n') }).toMatchObject({
      code: 0,
      lines: ['Trying 1 parked key again.', expect.stringContaining('invoices is paused'), ''],
    });
  });

  it.each([
    [['resume', 'invoices'], 'or all by --all\n'],
    [['dead-letter', 'invoices'], 'or all by --all\n'],
    [['dead-letter', 'invoices', ID, '--all'], 'or all by --all, not both\n'],
    [['list'], "missing required argument 'subscription'"],
  ])('ends with 2 when it is called wrongly: %j', async (args, complaint) => {
    const result = await command('http://127.0.0.1:1', ['parked', ...args]);
    expect(result).toMatchObject({ code: 2, out: '' });
    expect(result.err).toContain(complaint);
  });

  it('ends with 3 where there is no such subscription, and with 2 where an id is none', async () => {
    const { url } = await startedBackbone();
    const nobody = { code: 3, err: expect.stringContaining('subscription_not_found') };
    expect(await command(url, ['parked', 'list', 'nobody'])).toMatchObject(nobody);
    expect(await command(url, ['parked', 'resume', 'nobody', ID])).toMatchObject(nobody);
    expect(await command(url, ['parked', 'resume', 'nobody', 'x'])).toMatchObject({
      ...{ code: 2, err: expect.stringContaining("'ids[0]'") },
    });
  });

  it('explains itself', async () => {
    const { out } = await command('', ['parked', '--help']);
    for (const word of ['list', 'resume', 'dead-letter', 'Examples:']) expect(out).toContain(word);
  });
});
