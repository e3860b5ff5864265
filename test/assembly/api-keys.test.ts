import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openAuth } from '../../client/auth.ts';
import { type AssemblyServer, openAssemblyServer } from '../../local/assembly/assembly-server.ts';
import { GROUPS } from '../scenarios/groups.ts';
import { RECORDS } from '../scenarios/records.ts';
import { itHolds } from '../scenarios/scenario.ts';
import type { Target } from '../scenarios/target.ts';
import { Trial } from '../scenarios/trial.ts';
import { inWords } from './rights-in-words.ts';
import { synthesiseAssembly } from './synthesised.ts';

let folder: string;
let server: AssemblyServer;
/** Whoever may sign: hands out keys. */
let signing: Trial;
const keyed: { target?: Target } = {};
const failures: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'vertebra-assembly-keys-'));
  server = await openAssemblyServer({
    ...{ assembly: await synthesiseAssembly(folder, { auth: 'apiKey' }), port: 0 },
    onExchange: ({ answer, event, error }) => {
      if (answer.statusCode >= 500) failures.push(`${event.routeKey}: ${error}`);
    },
    onLog: () => {},
    onFailure: (name, error) => failures.push(`${name}: ${error}`),
  });
  const url = new URL(server.url);
  const of = { url: server.url, patienceMs: 60_000 };
  signing = new Trial({
    ...of,
    sign: openAuth({ iam: { region: 'us-east-1', credentials: server.keys } }, url),
  });
  const rights = [{ topics: '*', groups: '*', targets: '*', allow: ['produce', 'consume', 'admin'] }];
  const { key } = await signing.json<{ key: string }>('POST', '/v1/api-keys', { body: { name: 'all', rights } }, 201);
  keyed.target = { ...of, sign: openAuth({ apiKey: key }, url) };
});
afterAll(async () => {
  await server?.close(1_000);
  if (folder) rmSync(folder, { recursive: true, force: true });
});

itHolds(() => keyed.target!, { scenarios: [...RECORDS, ...GROUPS], offered: [], timeoutMs: 60_000 });

it('asks a function for the key, and the gateway for a signature where keys are handed out', async () => {
  const unsigned = await fetch(`${server.url}/v1/topics`);
  expect([unsigned.status, await unsigned.json()]).toMatchObject([401, { code: 'unauthenticated' }]);
  const bearer = await new Trial(keyed.target!).send('GET', '/v1/api-keys');
  expect([bearer.status, bearer.json()]).toEqual([403, { message: 'Forbidden' }]);
});

it('lacks no right', () => {
  expect(inWords(server).lack()).toEqual([]);
  expect(failures).toEqual([]);
});
