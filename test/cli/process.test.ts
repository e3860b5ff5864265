import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createTopic, produceLines, readPartition } from '../support/api-client.ts';
import { startedBackbone } from '../support/command-line.ts';

const BIN = fileURLToPath(new URL('../../cli/vertebra.mjs', import.meta.url));
const POLL = { timeout: 20_000 };

/** Runs the command as a shell would, in a process group of its own. */
function spawned(program: string, args: readonly string[]) {
  const child: ChildProcess = spawn(program, [...args], { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  onTestFinished(() => void child.kill('SIGKILL'));
  let [out, err] = ['', ''];
  child.stdout!.on('data', (chunk) => (out += String(chunk)));
  child.stderr!.on('data', (chunk) => (err += String(chunk)));
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) =>
    child.once('close', (code, signal) => resolve(code ?? signal)),
  );
  return { child, out: () => out, err: () => err, ended, signal: (name: NodeJS.Signals) => child.kill(name) };
}

const vertebra = (...args: string[]) => spawned(process.execPath, [BIN, ...args]);

async function withRecords(count: number): Promise<string> {
  const { url } = await startedBackbone();
  await createTopic(url, 'orders', { partitions: 1 });
  const lines = Array.from({ length: count }, (_, i) => JSON.stringify({ n: i, filling: 'x'.repeat(200) }));
  for (let at = 0; at < count; at += 1_000) await produceLines(url, 'orders', lines.slice(at, at + 1_000), '/id');
  return url;
}

describe('the process', () => {
  it('ends quietly and with 0 when whoever reads has had enough', async () => {
    const url = await withRecords(5_000);
    const command = `'${process.execPath}' '${BIN}' consume orders --endpoint ${url} --follow | head -n 2`;
    const piped = spawned('bash', ['-c', `${command}; echo "\${PIPESTATUS[0]}"`]);
    expect(await piped.ended).toBe(0);
    expect(piped.out().split('\n').slice(2)).toEqual(['0', '']);
    expect(piped.err()).toBe('');
  });

  it('commits nothing that nobody could read', async () => {
    const url = await withRecords(1_000);
    const command = `'${process.execPath}' '${BIN}' consume orders --endpoint ${url} --group billing`;
    const piped = spawned('bash', ['-c', `${command} | true; echo "\${PIPESTATUS[0]}"`]);
    expect([await piped.ended, piped.out(), piped.err()]).toEqual([0, '0\n', '']);
    const group = (await (await fetch(`${url}/v1/groups/billing`)).json()) as object;
    expect(group).toMatchObject({ members: [], offsets: [{ lag: 1_000 }] });
  });

  it('is ended at once by a second Ctrl-C', async () => {
    const server = createServer((request, response) => {
      if (request.method === 'GET') response.end('{"name":"orders","partitions":1}'); // else: no answer, ever
    }).listen(0, '127.0.0.1');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const produce = vertebra('produce', 'orders', '--endpoint', `http://127.0.0.1:${port}`);
    const sent = once(server, 'request').then(() => once(server, 'request'));
    produce.child.stdin!.write('one\n');
    await sent;
    produce.signal('SIGINT');
    produce.signal('SIGINT'); // the same key press, passed on by npx: ignored
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(produce.child.exitCode).toBeNull();
    produce.signal('SIGINT');
    expect(await produce.ended).toBe(130);
    expect(produce.err()).toBe(''); // it had no time for last words
  });

  it('delivers on Ctrl-C what it has read, and ends with 130', async () => {
    const url = await withRecords(0);
    const produce = vertebra('produce', 'orders', '--endpoint', url);
    produce.child.stdin!.write('one\ntwo\nhal');
    await expect.poll(async () => (await readPartition(url, 'orders', 0)).length, POLL).toBe(2);
    produce.signal('SIGINT');
    expect(await produce.ended).toBe(130);
    expect(produce.err()).toMatch(/^2 records delivered /);
    expect(await readPartition(url, 'orders', 0)).toMatchObject([{ value: 'one' }, { value: 'two' }]);
  });

  it('is ended by SIGTERM with 143', async () => {
    const url = await withRecords(1);
    const consume = vertebra('consume', 'orders', '--endpoint', url, '--follow');
    await expect.poll(consume.out, POLL).toContain('\n');
    consume.signal('SIGTERM');
    expect(await consume.ended).toBe(143);
    expect(consume.err()).toBe('');
  });

  it('takes the end of its input for the end', async () => {
    const url = await withRecords(0);
    const produce = vertebra('produce', 'orders', '--endpoint', url, '--json');
    produce.child.stdin!.end('1\n2\n3');
    expect(await produce.ended).toBe(0);
    expect(produce.out()).toBe('{"delivered":3,"failed":0,"unknown":0,"skipped":0}\n');
  });

  it('runs a backbone until Ctrl-C', async () => {
    const up = vertebra('up', '--memory', '--port', '0');
    await expect.poll(up.out, POLL).toContain('Ctrl-C stops it.');
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(up.out())!;
    const list = vertebra('topics', 'list', '--json', '--endpoint', url);
    expect([await list.ended, list.out()]).toEqual([0, '[]\n']);
    const second = vertebra('up', '--memory', '--port', new URL(url).port);
    expect(await second.ended).toBe(1);
    expect(second.err()).toMatch(/^vertebra: port \d+ is in use: try "vertebra up --port 0"\n$/);
    up.signal('SIGINT');
    expect(await up.ended).toBe(0);
    expect(up.out()).toMatch(/Stopping …\nStopped\.\n$/);
  });

  it('does not start a backbone with options that exclude each other', async () => {
    const up = vertebra('up', '--memory', '--reset');
    expect(await up.ended).toBe(2);
    expect(up.err()).toBe('vertebra: --memory and --reset exclude each other: nothing is kept in memory\n');
  });
});
