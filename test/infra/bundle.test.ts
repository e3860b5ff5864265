import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { App, Stack } from 'aws-cdk-lib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bundle, bundleFloor, bundleFunction, sdkNames } from '../../bench/bundle.ts';
import { BackboneFunction } from '../../infra/constructs/backbone-function.ts';
import { FUNCTIONS } from '../../infra/constructs/bundling.ts';
import { ENV } from '../../shared/env.ts';
import { gatewayEvent } from '../support/gateway-call.ts';

const folder = mkdtempSync(join(tmpdir(), 'vertebra-bundles-'));
const bundles = new Map<string, Bundle>();

beforeAll(async () => {
  for (const name of FUNCTIONS) bundles.set(name, await bundleFunction(name, folder));
});
afterAll(() => rmSync(folder, { recursive: true }));

const CLIENTS: Readonly<Record<string, readonly string[]>> = {
  produce: ['@aws-sdk/client-dynamodb', '@aws-sdk/client-s3', '@aws-sdk/client-sqs'],
  fetch: ['@aws-sdk/client-dynamodb', '@aws-sdk/client-s3'],
  topics: ['@aws-sdk/client-dynamodb'],
  groups: ['@aws-sdk/client-dynamodb', '@aws-sdk/client-s3', '@aws-sdk/client-sqs'],
  subscriptions: ['@aws-sdk/client-dynamodb', '@aws-sdk/client-lambda', '@aws-sdk/client-sqs'],
  whole: [...['@aws-sdk/client-dynamodb', '@aws-sdk/client-lambda', '@aws-sdk/client-s3', '@aws-sdk/client-sqs']],
  dispatch: ['@aws-sdk/client-dynamodb', '@aws-sdk/client-s3', '@aws-sdk/client-sqs'],
  deliver: [
    ...['@aws-sdk/client-dynamodb', '@aws-sdk/client-eventbridge', '@aws-sdk/client-lambda'],
    ...['@aws-sdk/client-s3', '@aws-sdk/client-sqs'],
  ],
  check: ['@aws-sdk/client-eventbridge', '@aws-sdk/client-lambda', '@aws-sdk/client-sqs'],
  provision: ['@aws-sdk/client-dynamodb', '@aws-sdk/client-lambda', '@aws-sdk/client-sqs'],
  sweep: ['@aws-sdk/client-dynamodb', '@aws-sdk/client-lambda', '@aws-sdk/client-s3', '@aws-sdk/client-sqs'],
};

/** Of a package, beside a bundle of the bare SDK clients with the commands that it uses. */
const SIZE_FACTOR_MAX = 1.3;
/** It has five functions' own code, and each client but once. */
const SIZE_FACTOR_OF_ALL_MAX = 1.5;

describe.each(FUNCTIONS)('the package of %s', (name) => {
  it('holds the SDK clients that it uses and no other, and is hardly larger than those as they come', async () => {
    const bundle = bundles.get(name)!;
    expect([...sdkNames(bundle.metafile).keys()].sort()).toEqual(CLIENTS[name]);
    expect(bundle.bytes).toBeLessThan(
      (await bundleFloor(bundle, folder)).bytes * (name === 'whole' ? SIZE_FACTOR_OF_ALL_MAX : SIZE_FACTOR_MAX),
    );
  });

  it('exports a handler', async () => {
    const module = (await import(pathToFileURL(bundles.get(name)!.file).href)) as Record<string, unknown>;
    expect(module.handler).toBeTypeOf('function');
  });
});

describe('a package on its own', () => {
  it('signs with the credentials that Lambda puts into the environment', async () => {
    const { request, answer } = await runTopics({
      AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
      AWS_SECRET_ACCESS_KEY: 'secret',
      AWS_SESSION_TOKEN: 'session',
    });
    expect(request?.headers.authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\//);
    expect(request?.headers['x-amz-security-token']).toBe('session');
    expect(answer.statusCode).toBe(404); // the store knew of no topic
  });

  it('reaches what the whole API serves behind a URL of its own, where Lambda tells no route', async () => {
    const credentials = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret' };
    const { request, answer } = await runTopics(credentials, 'whole');
    expect(request).toBeDefined();
    expect(answer.statusCode).toBe(404);
    expect(answer.body).toContain('topic_not_found');
  });

  it('answers 500, and sends nothing, when there are none', async () => {
    const { request, answer } = await runTopics({});
    expect(request).toBeUndefined();
    expect(answer.statusCode).toBe(500);
  });
});

it('is made by the stack exactly so, without Docker', () => {
  const app = new App({ outdir: join(folder, 'out'), analyticsReporting: false });
  new BackboneFunction(new Stack(app, 'Stack'), 'Fetch', { source: 'fetch', description: '' });
  const { directory } = app.synth();
  const [asset] = readdirSync(directory).filter((name) => name.startsWith('asset.'));
  expect(readdirSync(join(directory, asset!))).toEqual(['index.mjs']);
  const digest = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');
  expect(digest(join(directory, asset!, 'index.mjs'))).toBe(digest(bundles.get('fetch')!.file));
});

/** Asks the packaged topics function for a topic, in a process that has its package and these credentials alone. */
async function runTopics(credentials: Record<string, string>, name: 'topics' | 'whole' = 'topics') {
  const { file } = bundles.get(name)!;
  const { event: routed } = gatewayEvent('GET', '/v1/topics/orders');
  const { pathParameters, ...unrouted } = { ...routed, routeKey: '$default' };
  const event = name === 'whole' ? unrouted : routed;
  let request: IncomingMessage | undefined;
  const store = createServer((received, response) => {
    request = received;
    response.setHeader('content-type', 'application/x-amz-json-1.0').end('{}');
  }).listen(0, '127.0.0.1');
  await once(store, 'listening');
  try {
    const { port } = store.address() as AddressInfo;
    const script = `
      const { handler } = await import(${JSON.stringify(pathToFileURL(file).href)});
      const answer = await handler(${JSON.stringify(event)}, { getRemainingTimeInMillis: () => 29_000 });
      process.stdout.write('\\nANSWER ' + JSON.stringify(answer) + '\\n', () => process.exit());`;
    const env = {
      ...credentials,
      AWS_REGION: 'eu-central-1',
      AWS_ENDPOINT_URL_DYNAMODB: `http://127.0.0.1:${port}`,
      [ENV.logTable]: 'log',
      [ENV.stateTable]: 'state',
    };
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env });
    return { request, answer: JSON.parse(/^ANSWER (.*)$/m.exec(stdout)![1]!) as { statusCode: number; body: string } };
  } finally {
    store.close();
  }
}
