import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createTopic, readPartition } from '../support/api-client.ts';
import { command, commandLine, startedBackbone } from '../support/command-line.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

async function withTopic(): Promise<string> {
  const { url } = await startedBackbone();
  await createTopic(url, 'orders', { partitions: 1 });
  return url;
}

const storedIn = async (url: string) =>
  (await readPartition(url, 'orders', 0)).map(({ key, value }) => (key === null ? value : `${key}=${value}`));

function fileOf(name: string, text: string): string {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, text);
  return path;
}

/** An endpoint that describes the topic, and leaves all else to `answer`. @returns its URL */
async function endpoint(answer: (response: ServerResponse) => unknown): Promise<string> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET') return void answer(response);
    response.end(JSON.stringify({ name: 'orders', id: 'x', partitions: 1, retentionMs: 3_600_000, createdAt: 0 }));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('vertebra produce', () => {
  it('appends lines of standard input as they are', async () => {
    const url = await withTopic();
    const result = await command(url, ['produce', 'orders'], { input: 'one\n{"two":2}\n\nlast' });
    expect(result).toMatchObject({ code: 0, out: '' });
    expect(result.err).toMatch(/^4 records delivered in \d+\.\d s \([\d,]+ records\/s\)\n$/);
    expect(await storedIn(url)).toEqual(['one', '{"two":2}', '', 'last']);
  });

  it('takes the format from the name of the file, and keys from values', async () => {
    const url = await withTopic();
    const ndjson = fileOf('orders.ndjson', '{"id":"a","n":12345678901234567890}\nnull\n');
    const csv = fileOf('orders.CSV', 'id,note\nb,"x,y"\n');
    for (const file of [ndjson, csv]) {
      const args = ['produce', 'orders', '--file', file, '--key', '/id'];
      expect(await command(url, args)).toMatchObject({ code: 0 });
    }
    const piped = await command(url, ['produce', 'orders', '--key', '/id'], { input: '{"id":"c"}' });
    expect(piped.code).toBe(0);
    expect(await storedIn(url)).toEqual([
      'a={"id":"a","n":12345678901234567890}',
      null,
      'b={"id":"b","note":"x,y"}',
      'c={"id":"c"}',
    ]);
  });

  it('stops at the first line that is no record: all before it is delivered, nothing behind it', async () => {
    const url = await withTopic();
    const input = '{"n":1}\n{"n":2}\n{"n":\n{"n":4}\n';
    const result = await command(url, ['produce', 'orders', '--format', 'ndjson'], { input });
    expect(result).toMatchObject({ code: 7, out: '' });
    expect(result.err).toMatch(
      /^2 records delivered .*\nvertebra: line 3: the value is not JSON; nothing from this line on was sent\n$/,
    );
    expect(await storedIn(url)).toEqual(['{"n":1}', '{"n":2}']);
    const told = await command(url, ['produce', 'orders', '--format', 'ndjson', '--json'], { input: '{' });
    expect(told.code).toBe(7);
    expect(JSON.parse(told.out)).toEqual({
      ...{ delivered: 0, failed: 0, unknown: 0, skipped: 0 },
      badInput: { line: 1, fault: 'the value is not JSON' },
    });
  });

  it('goes on behind such lines when it is told to', async () => {
    const url = await withTopic();
    const input = 'id\n1\n2,3\n4\n';
    const result = await command(url, ['produce', 'orders', '--format', 'csv', '--skip-invalid'], { input });
    expect(result.code).toBe(0);
    expect(result.err).toMatch(/^line 3 skipped: Invalid Record Length.*\n2 records delivered .*, 1 line skipped\n$/);
    expect(await storedIn(url)).toEqual(['{"id":"1"}', '{"id":"4"}']);
  });

  it('keeps the order of ten thousand lines, and shows on a terminal how far it is', async () => {
    const url = await withTopic();
    const lines = Array.from({ length: 10_000 }, (_, i) => `line ${i}`);
    const result = await command(url, ['produce', 'orders'], { input: lines.join('\n'), isTTY: true });
    expect(result.code).toBe(0);
    expect(result.err).toContain('records/s');
    expect(result.err).toContain('\u001b['); // drawn, not printed
    expect(await storedIn(url)).toEqual(lines);
  });

  it('tells of a line beside the bar, not within it', async () => {
    const url = await withTopic();
    const args = ['produce', 'orders', '--format', 'ndjson', '--skip-invalid'];
    const { code, err } = await command(url, args, { input: '{\n1\n', isTTY: true });
    expect(code).toBe(0);
    expect(err).toContain('\r\u001b[Kline 1 skipped: the value is not JSON\n');
  });

  it('delivers what it has read when it is interrupted', async () => {
    const url = await withTopic();
    const line = commandLine({ env: { VERTEBRA_ENDPOINT: url } });
    const running = line.run('produce', 'orders');
    line.stdin.write('first\nsecond\nhalf a');
    await expect.poll(() => storedIn(url)).toEqual(['first', 'second']);
    line.interrupt();
    expect(await running).toBe(130);
    expect(line.err()).toMatch(/^2 records delivered /);
    expect(await storedIn(url)).toEqual(['first', 'second']);
  });

  it.each([
    [[], 'err', /^1 record delivered .*\nvertebra: the input cannot be read to its end: EIO: i\/o error\n$/],
    [['--json'], 'out', /^\{"delivered":1,.*"unreadable":"EIO: i\/o error"\}\n$/],
  ] as const)('ends with 1 when its input cannot be read to its end: %j', async (more, output, told) => {
    const url = await withTopic();
    const line = commandLine({ env: { VERTEBRA_ENDPOINT: url } });
    const running = line.run('produce', 'orders', ...more);
    line.stdin.write('one\n');
    await expect.poll(() => storedIn(url)).toEqual(['one']);
    line.stdin.destroy(new Error('EIO: i/o error'));
    expect(await running).toBe(1);
    expect(line[output]()).toMatch(told);
  });

  it('reads no faster than it can deliver', async () => {
    const waiting: ServerResponse[] = [];
    let refusing = false;
    const refuse = (response: ServerResponse) => void response.writeHead(400).end();
    const url = await endpoint((response) => (refusing ? refuse(response) : void waiting.push(response)));
    const line = commandLine({ env: { VERTEBRA_ENDPOINT: url } });
    const running = line.run('produce', 'orders');
    const megabyte = Buffer.alloc(1024 * 1024, `${'x'.repeat(1023)}\n`);
    let taken = 0;
    const feed = async () => {
      for (; taken < 100; taken++) if (!line.stdin.write(megabyte)) await once(line.stdin, 'drain');
    };
    feed().catch(() => {}); // its end is the end of the input
    let before = -1;
    const stands = () => {
      const same = taken === before && waiting.length > 0;
      before = taken;
      return same;
    };
    await expect.poll(stands, { interval: 300, timeout: 10_000 }).toBe(true);
    expect(taken).toBeLessThan(40); // `UNDER_WAY_BYTES_MAX` is 16 MB, overhead included
    refusing = true;
    waiting.forEach(refuse);
    line.interrupt();
    expect(await running).toBe(130);
    expect(line.err()).toMatch(
      /^0 records delivered .*\n.*line 1: .*\n[\d,]+ records that were read are not stored\n$/,
    );
  });

  it('tells what was not delivered, and why, though the input goes on', async () => {
    const problem = JSON.stringify({ code: 'forbidden', detail: 'You may not' });
    const url = await endpoint((response) =>
      response.writeHead(403, { 'content-type': 'application/problem+json' }).end(problem),
    );
    const line = commandLine({ env: { VERTEBRA_ENDPOINT: url } });
    const running = line.run('produce', 'orders');
    line.stdin.write('one\ntwo\n');
    expect(await running).toBe(4);
    expect(line.err()).toMatch(
      /^0 records delivered .*\nvertebra: line 1: You may not .*\n2 records that were read are not stored\n$/,
    );
  });

  it('ends with 3 when there is no such topic or partition, before it reads anything', async () => {
    const url = await withTopic();
    const line = () => commandLine({ env: { VERTEBRA_ENDPOINT: url } }); // whose input never ends
    expect(await line().run('produce', 'nothing')).toBe(3);
    expect(await line().run('produce', 'orders', '--partition', '1')).toBe(3);
  });

  it.each([
    [['--format', 'xml'], "option '--format <name>' argument 'xml' is invalid"],
    [['--key', '/id', '--format', 'lines'], '--key needs --format ndjson or csv'],
    [['--key', 'id'], "'--key' must be a JSON pointer"],
    [['--file', '/nowhere/to/be/found'], '/nowhere/to/be/found cannot be read'],
    [['--file', '/'], '/ is a folder'],
    [['--partition', '-1'], "option '--partition <number>' argument '-1' is invalid"],
  ])('ends with 2 when it is called wrongly: %j', async (args, complaint) => {
    const url = await withTopic();
    const result = await command(url, ['produce', 'orders', ...args], { input: '1\n' });
    expect(result).toMatchObject({ code: 2, out: '' });
    expect(result.err).toContain(complaint);
    expect(await storedIn(url)).toEqual([]);
  });
});
