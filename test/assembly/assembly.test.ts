import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AssemblyServer, openAssemblyServer } from '../../local/assembly/assembly-server.ts';
import { SCENARIOS } from '../scenarios/index.ts';
import { itHolds } from '../scenarios/scenario.ts';
import { assemblyTarget, OFFERED } from './assembly-target.ts';
import { RARE } from './rare.ts';
import { RareBench } from './rare-bench.ts';
import { inWords } from './rights-in-words.ts';
import { synthesiseAssembly } from './synthesised.ts';

let folder: string;
let server: AssemblyServer;
let bench: ReturnType<typeof assemblyTarget>;
const failures: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'vertebra-assembly-test-'));
  server = await openAssemblyServer({
    ...{ assembly: await synthesiseAssembly(folder), port: 0, clockEveryMs: 5_000 },
    onExchange: ({ answer, event, error }) => {
      if (answer.statusCode >= 500) failures.push(`${event.routeKey}: ${error}`);
    },
    onLog: () => {},
    onFailure: (name, error) => failures.push(`${name}: ${error}`),
  });
  bench = assemblyTarget(server);
});
afterAll(async () => {
  bench?.close();
  await server?.close(1_000);
  if (folder) rmSync(folder, { recursive: true, force: true });
});

it('makes something of every resource in the templates', () => {
  expect(server.strangers).toEqual([]);
});

describe('the assembly', () => {
  itHolds(() => bench.target, { scenarios: SCENARIOS, offered: OFFERED, timeoutMs: 90_000 });
});

describe('the rights of its functions', () => {
  it.each(RARE)('are needed when $name', async ({ provokes, fails, run }) => {
    const rare = new RareBench(server, bench);
    try {
      await run(rare);
    } finally {
      await rare.trial.end();
    }
    if (fails) expect(failures.splice(0)).not.toEqual([]);
    const surplus = inWords(server).surplus();
    expect(provokes.filter((right) => surplus.includes(right))).toEqual([]);
  });

  it('are enough', () => {
    expect(inWords(server).lack()).toEqual([]);
  });

  // What is behind for more than an hour is marked: `test/infra/stack-and-code.test.ts` does that write.
  const metElsewhere = ['Sweep  dynamodb:PutItem  StorageState'];

  it('are no more than they use', () => {
    expect(
      inWords(server)
        .surplus()
        .filter((right) => !right.startsWith('Consumer ') && !metElsewhere.includes(right)),
    ).toEqual([]);
  });
});

it('fails nowhere', () => {
  expect(failures).toEqual([]);
});
