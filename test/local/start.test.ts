import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { HELP } from '../../local/options.ts';
import { runToEnd, startBackbone, startBehindShell } from '../support/process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const putTopic = (url: string, topic: string) => fetch(`${url}/v1/topics/${topic}`, { method: 'PUT' });
const topicsOf = async (url: string): Promise<string[]> => {
  const { topics } = (await (await fetch(`${url}/v1/topics`)).json()) as { topics: { name: string }[] };
  return topics.map(({ name }) => name);
};

/** The words of a command line as a shell splits them, as far as single quotes go. */
const wordsOf = (command: string) => command.match(/'[^']*'|\S+/g)!.map((word) => word.replace(/^'(.*)'$/, '$1'));

/** Does what curl does with the options that the printed lines use. */
async function curl(command: string): Promise<{ status: number; body: unknown }> {
  const [name, ...words] = wordsOf(command);
  expect(name).toBe('curl');
  const init: { method?: string; headers: Record<string, string>; body?: string } = { headers: {} };
  let url = '';
  while (words.length > 0) {
    const word = words.shift()!;
    if (word === '-X') init.method = words.shift()!;
    else if (word === '-H') {
      const [header, value] = words.shift()!.split(': ') as [string, string];
      init.headers[header] = value;
    } else if (word === '-d') {
      init.method = 'POST';
      init.body = words.shift()!;
    } else url = word;
  }
  const response = await fetch(url, init);
  return { status: response.status, body: await response.json() };
}

describe('npm start', () => {
  it('prints its URL and three commands that work, counts records quietly, and ends cleanly on Ctrl-C', async () => {
    const data = join(temporaryFolder(), 'data');
    const backbone = await startBackbone('--port', '0', '--data', data);
    await expect.poll(backbone.output).toContain('Ctrl-C stops it.');
    const commands = backbone.output().match(/curl .*/g)!;
    expect(commands).toHaveLength(3);
    const [created, produced, read] = [await curl(commands[0]!), await curl(commands[1]!), await curl(commands[2]!)];
    expect(created).toMatchObject({ status: 201, body: { name: 'orders', partitions: 8 } });
    expect(produced).toMatchObject({ status: 200, body: { offsets: [{ partition: 1, offset: 0 }] } });
    expect(read).toMatchObject({
      status: 200,
      body: { records: [{ offset: 0, key: 'order-17', value: { total: 12.5 } }] },
    });
    await expect.poll(backbone.output, { timeout: 5_000 }).toContain('orders  1 records in · ');
    const ended = await backbone.end('SIGINT');
    expect(ended).toMatchObject({ code: 0, signal: null });
    const lines = ended.output.split('\n');
    expect(lines.findLast((line) => line.startsWith('orders'))).toBe('orders  1 records in · 1 out · 8 partitions');
    expect(lines.filter((line) => !line.startsWith('orders'))).toEqual([
      expect.stringMatching(/^Vertebra \d+\.\d+\.\d+ at http:\/\/127\.0\.0\.1:\d+ \(data in .+\)$/),
      '',
      ...commands.map((command) => `  ${command}`),
      '',
      'Ctrl-C stops it.',
      'Stopping …',
      'Stopped.',
      '',
    ]);
    expect(readdirSync(data).sort()).toEqual(['engine', 'vertebra.json']);
  });

  it('keeps its data until it is reset, and takes no notice of the lock of a process that was killed', async () => {
    const data = temporaryFolder();
    const first = await startBackbone('--port', '0', '--data', data);
    await putTopic(first.url, 'kept');
    expect(await first.end('SIGTERM')).toMatchObject({ code: 0 });
    const second = await startBackbone('--port', '0', '--data', data);
    expect(await topicsOf(second.url)).toEqual(['kept']);
    expect(await second.end('SIGKILL')).toMatchObject({ signal: 'SIGKILL' });
    expect(existsSync(join(data, 'lock'))).toBe(true);
    const third = await startBackbone('--port', '0', '--data', data, '--reset');
    expect(await topicsOf(third.url)).toEqual([]);
  });

  it('says in one sentence that the data or the port is in use', async () => {
    const [data, other] = [temporaryFolder(), temporaryFolder()];
    const backbone = await startBackbone('--port', '0', '--data', data);
    expect(await runToEnd('--port', '0', '--data', data, '--reset')).toEqual({
      code: 1,
      signal: null,
      output: `vertebra: data folder ${data} is in use by process ${backbone.pid}\n`,
    });
    const { port } = new URL(backbone.url);
    expect(await runToEnd('--port', port, '--data', other)).toEqual({
      code: 1,
      signal: null,
      output: `vertebra: port ${port} is in use: try "npm start -- --port 0"\n`,
    });
    expect(readdirSync(other).sort()).toEqual(['engine', 'vertebra.json']);
    expect(await topicsOf(backbone.url)).toEqual([]);
  });

  it('does not touch a folder that holds something else', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'thesis.tex'), 'precious');
    expect(await runToEnd('--data', folder, '--reset')).toEqual({
      code: 1,
      signal: null,
      output: `vertebra: ${folder} is not a Vertebra data folder and not empty: name another one with --data\n`,
    });
    expect(readdirSync(folder)).toEqual(['thesis.tex']);
  });

  it('stops within seconds though a reader waits, and at once at a second signal', async () => {
    const startedWith = async () => {
      const backbone = await startBackbone('--port', '0', '--memory');
      await putTopic(backbone.url, 'quiet');
      const waiting = fetch(`${backbone.url}/v1/topics/quiet/partitions/0/records?offset=0&waitMs=20000`).then(
        ({ status }) => status,
        () => 'broken',
      );
      await topicsOf(backbone.url); // a request later: the waiting one has arrived
      return { backbone, waiting };
    };
    const patient = await startedWith();
    const begun = Date.now();
    expect((await patient.backbone.end('SIGTERM')).code).toBe(0);
    expect(Date.now() - begun).toBeLessThan(8_000);
    expect([200, 503]).toContain(await patient.waiting);

    const hurried = await startedWith();
    hurried.backbone.signal('SIGINT');
    await expect.poll(hurried.backbone.output).toContain('Stopping …');
    hurried.backbone.signal('SIGINT'); // the same key press, passed on by npm: ignored
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect((await hurried.backbone.end('SIGINT')).code).toBe(130);
    expect(await hurried.waiting).toBe('broken');
  });

  it.skipIf(process.platform === 'win32')('stops when the shell is gone that npm put in between', async () => {
    const backbone = await startBehindShell('--port', '0', '--memory');
    // Its output stays open until the backbone itself, not only the shell, has ended.
    const ended = await backbone.end('SIGKILL');
    expect(ended.output).toMatch(/Stopping …\nStopped\.\n$/);
  });

  it('explains itself, and names an option that it does not know', async () => {
    const [help, version, unknown] = await Promise.all([
      runToEnd('--help'),
      runToEnd('--version'),
      runToEnd('--prot', '1'),
    ]);
    expect(help).toEqual({ code: 0, signal: null, output: `${HELP}\n` });
    expect(version).toMatchObject({ code: 0, output: expect.stringMatching(/^vertebra \d+\.\d+\.\d+\n$/) });
    expect(unknown).toMatchObject({
      code: 2,
      output: expect.stringMatching(/^vertebra: Unknown option '--prot'\. .*\n$/),
    });
  });
});
