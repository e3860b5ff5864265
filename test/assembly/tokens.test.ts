import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openAuth } from '../../client/auth.ts';
import { type AssemblyServer, openAssemblyServer } from '../../local/assembly/assembly-server.ts';
import { Trial } from '../scenarios/trial.ts';
import { inWords } from './rights-in-words.ts';
import { synthesiseAssembly } from './synthesised.ts';

const JWT = { issuer: 'https://issuer.test', audience: ['shop'] };
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

let folder: string;
let server: AssemblyServer;
const failures: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'vertebra-assembly-tokens-'));
  const assembly = await synthesiseAssembly(folder, { auth: 'jwt', jwt: JWT }, (backbone) =>
    backbone.grant('sub:alice', { topics: 'catalogue', allow: ['produce', 'consume'] }),
  );
  server = await openAssemblyServer({
    ...{ assembly, port: 0 },
    keysOf: async () => [{ ...publicKey.export({ format: 'jwk' }), kid: 'one' }],
    onExchange: ({ answer, event, error }) => {
      if (answer.statusCode >= 500) failures.push(`${event.routeKey}: ${error}`);
    },
    onLog: () => {},
    onFailure: (name, error) => failures.push(`${name}: ${error}`),
  });
});
afterAll(async () => {
  await server?.close(1_000);
  if (folder) rmSync(folder, { recursive: true, force: true });
});

/** Calls of whoever has a token with this subject. */
function as(sub: string): Trial {
  const claims = { iss: JWT.issuer, aud: 'shop', exp: Math.floor(Date.now() / 1_000) + 600, sub };
  const parts = [{ alg: 'RS256', kid: 'one' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const signature = sign('sha256', Buffer.from(parts.join('.')), privateKey).toString('base64url');
  const token = [...parts, signature].join('.');
  return new Trial({ url: server.url, sign: openAuth({ apiKey: token }, new URL(server.url)), patienceMs: 60_000 });
}

it('lets whoever has a token do what its subject was granted, and nothing else', async () => {
  await as('alice').produce('catalogue', [{ value: 'granted' }]);
  expect((await as('alice').fetch('catalogue')).records).toMatchObject([{ value: 'granted' }]);
  const refused = await as('alice').send('PUT', '/v1/topics/other', { body: {} });
  expect([refused.status, refused.json().code]).toEqual([403, 'forbidden']);
  const unknown = await as('bob').send('GET', '/v1/topics/catalogue/partitions/0/records?offset=0');
  expect([unknown.status, unknown.json().code]).toEqual([403, 'forbidden']);
});

it('lets nobody in who has none, but to what is open to all', async () => {
  const without = await fetch(`${server.url}/v1/topics`);
  expect([without.status, await without.json()]).toEqual([401, { message: 'Unauthorized' }]);
  expect((await fetch(`${server.url}/v1/health`)).status).toBe(200);
});

it('lacks no right', () => {
  expect(inWords(server).lack()).toEqual([]);
  expect(failures).toEqual([]);
});
