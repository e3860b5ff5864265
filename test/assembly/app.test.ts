import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openAuth } from '../../client/auth.ts';
import { type AssemblyServer, openAssemblyServer } from '../../local/assembly/assembly-server.ts';
import { Trial } from '../scenarios/trial.ts';
import { synthesiseApp } from './app.ts';
import { inWords } from './rights-in-words.ts';

let folder: string;
let server: AssemblyServer;
let trial: Trial;
const failures: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'vertebra-assembly-app-'));
  server = await openAssemblyServer({
    ...{ assembly: await synthesiseApp(folder), port: 0 },
    onExchange: ({ answer, event, error }) => {
      if (answer.statusCode >= 500) failures.push(`${event.routeKey}: ${error}`);
    },
    onLog: () => {},
    onFailure: (name, error) => failures.push(`${name}: ${error}`),
  });
  const sign = openAuth({ iam: { region: 'us-east-1', credentials: server.keys } }, new URL(server.url));
  trial = new Trial({ url: server.url, sign, patienceMs: 60_000 });
});
afterAll(async () => {
  await server?.close(1_000);
  if (folder) rmSync(folder, { recursive: true, force: true });
});

it('makes what the app says, and hands a function what is produced, which finds its way back by itself', async () => {
  expect(server.strangers).toEqual([]);
  const [first] = await trial.produce('orders', [{ value: { total: 1 }, partition: 1 }]);
  expect(first).toMatchObject({ partition: 1, offset: 0 });
  const [got] = await trial.records('shipping-received', 1);
  expect(got!.value).toEqual({ from: 'orders-1:0', value: { total: 1 } });
});

it('refuses whoever was not granted what is asked for', async () => {
  const refused = await trial.send('PUT', '/v1/topics/other', { body: { partitions: 1 } });
  expect([refused.status, refused.json().code]).toEqual([403, 'forbidden']);
  const value = Buffer.from('1').toString('base64');
  const event = { records: { 'orders-0': [{ offset: 0, value }] }, vertebra: { group: 'shipping' } };
  const billing = server.lambda.find(
    [...server.resources].find(([key]) => key.startsWith('Shop/Billing') && !key.includes('Role'))![1].ref,
  )!;
  expect(await billing.invoke(JSON.stringify(event))).toMatchObject({
    failed: true,
    payload: expect.stringMatching(/403/),
  });
});

it('lacks no right', () => {
  const { lack } = inWords(server);
  expect(lack().filter((right) => !right.includes('execute-api'))).toEqual([]);
  expect(failures).toEqual([]);
});
