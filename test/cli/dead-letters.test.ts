import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createTopic, produceLines } from '../support/api-client.ts';
import { command, startedBackbone } from '../support/command-line.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

interface Polled {
  readonly memberId: string;
  readonly assigned: readonly { readonly topic: string; readonly partition: number; readonly epoch: number }[];
  readonly records: readonly { readonly offset: number; readonly value: unknown; readonly headers: unknown }[];
}

describe('vertebra dlq, of a group whose members poll', () => {
  it('gives a dead letter back as it was corrected, in a poll', async () => {
    const { url } = await startedBackbone();
    await createTopic(url, 'orders', { partitions: 1 });
    await produceLines(url, 'orders', ['{"n":1}', '{"n":2}'], '/n');
    const call = async (act: string, body: object): Promise<Polled> => {
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${url}/v1/groups/billing/${act}`, {
        ...{ method: 'POST', headers, body: JSON.stringify(body) },
      });
      expect(answer.status, await answer.clone().text()).toBe(200);
      return (await answer.json()) as Polled;
    };
    const line = (...args: string[]) => command(url, ['dlq', ...args]);
    const joined = await call('poll', { topics: ['orders'] });
    const { memberId, assigned } = joined;
    const { epoch } = assigned[0]!;
    const error = { name: 'Error', message: 'no' };
    await call('dead-letters', {
      ...{ memberId, topic: 'orders', partition: 0, offset: 1, epoch },
      error,
      attempts: 2,
    });

    const id = JSON.parse((await line('list', 'billing', '--json')).out).id as string;
    const headersFile = join(temporaryFolder(), 'headers.json');
    await writeFile(headersFile, '{"mended":"yes"}');
    const usage = { code: 2, out: '' };
    expect(await line('redrive', 'billing', '--value', '1', '--yes')).toMatchObject(usage);
    expect(await line('redrive', 'billing', '--id', id, '--value', 'no JSON')).toMatchObject(usage);
    expect(await line('redrive', 'billing', '--id', id, '--value', '1', '--original')).toMatchObject(usage);
    expect(await line('redrive', 'billing', '--id', `${id}9`, '--original')).toMatchObject({ code: 3 });
    const large = '{"n":98765432109876543210}';
    const sent = await line('redrive', 'billing', '--id', id, '--value', large, '--headers-file', headersFile);
    expect(sent).toMatchObject({ code: 0, err: expect.stringContaining('Delivering 1 dead letter again.') });
    expect((await line('show', 'billing', id)).out).toMatch(/"state": "redriving"[\s\S]*"corrected"/);

    const { records } = await call('poll', { memberId, positions: assigned });
    expect(records).toMatchObject([
      {
        offset: 1,
        value: { n: Number('98765432109876543210') },
        headers: [['mended', 'yes']],
        redriven: 1,
        deadLetter: id,
      },
    ]);
    const redriven = [{ id, epoch, done: true }];
    expect(await call('heartbeat', { memberId, redriven })).toMatchObject({ redriven: [{ id }] });
    expect((await line('list', 'billing')).out).toBe('');
    expect(await line('show', 'billing', id)).toMatchObject({ code: 3 });
  });
});
