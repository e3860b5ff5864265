import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { type BackboneServer, openBackboneServer } from '../../local/backbone-server.ts';
import { bundleConsumer } from './bundle-consumer.ts';
import { SCENARIOS } from './index.ts';
import { itHolds } from './scenario.ts';
import type { Target } from './target.ts';

let server: BackboneServer;
let folder: string;
let target: Target;
const failures: unknown[] = [];

beforeAll(async () => {
  server = await openBackboneServer({
    port: 0,
    onRecords: () => {},
    onExchange: () => {},
    onFailure: (name, error) => failures.push(name, error),
  });
  folder = mkdtempSync(join(tmpdir(), 'vertebra-scenarios-'));
  const file = join(folder, 'consumer.cjs');
  await bundleConsumer(file, server.url);
  target = {
    url: server.url,
    sign: async ({ headers }) => ({ ...headers }),
    patienceMs: 45_000,
    consumer: async () => pathToFileURL(file).href,
    sweep: () => server.tidyUp(),
  };
});
afterAll(async () => {
  await server?.close(0);
  if (folder) rmSync(folder, { recursive: true, force: true });
  expect(failures).toEqual([]);
});

describe('the backbone in one process', () => {
  itHolds(() => target, { scenarios: SCENARIOS, offered: ['consumer', 'sweep'], timeoutMs: 60_000 });
});
