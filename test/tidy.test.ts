import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { wrongArrows } from './support/arrows.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDERS = [
  'bench',
  'cli',
  'client',
  'console',
  'docs',
  'examples',
  'functions',
  'infra',
  'local',
  'shared',
  'test',
];
const FILES = [
  ...['CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'README.md', 'SECURITY.md'],
  ...[
    'biome.json',
    'cdk.json',
    'package-lock.json',
    'package.json',
    'tsconfig.build.json',
    'tsconfig.json',
    'vitest.config.ts',
  ],
];
/** Parts that exist from the start; the others come with what they hold. */
const NEEDED = ['functions', 'infra', 'shared', 'test', 'cdk.json', 'package.json', 'tsconfig.json'];
const LINES_MAX = 300;

function sourcesUnder(folder: string): string[] {
  return readdirSync(posix.join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return sourcesUnder(path);
    return /\.(?:ts|mts|mjs|js)$/.test(entry.name) ? [path] : [];
  });
}
const present = readdirSync(ROOT, { withFileTypes: true }).filter(({ name }) => !name.startsWith('.'));
const sources = present
  .filter((entry) => entry.isDirectory() && FOLDERS.includes(entry.name))
  .flatMap(({ name }) => sourcesUnder(name))
  .map((path) => ({ path, text: readFileSync(posix.join(ROOT, path), 'utf8') }));

describe('the tree', () => {
  it('has a fixed top level', () => {
    // What somebody keeps beside it, to try it, is no part of it.
    const tracked = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
    const names = [...new Set(tracked.map((path) => path.split('/')[0]!))].filter((name) => !name.startsWith('.'));
    expect(names.filter((name) => ![...FOLDERS, ...FILES].includes(name))).toEqual([]);
    expect(NEEDED.filter((name) => !names.includes(name))).toEqual([]);
  });

  it('points its imports one way, makes and calls AWS clients only where it may', () => {
    const working = sources.filter(({ path }) => !path.startsWith('test/'));
    expect(working.length).toBeGreaterThan(50);
    expect(working.flatMap(({ path, text }) => wrongArrows(path, text))).toEqual([]);
  });

  it(`has no source file of more than ${LINES_MAX} lines outside test/`, () => {
    const long = sources.filter(
      ({ path, text }) => !path.startsWith('test/') && text.split('\n').length - 1 > LINES_MAX,
    );
    expect(long.map(({ path }) => path)).toEqual([]);
  });
});

describe('an arrow', () => {
  it.each([
    ['shared/domain/topic.ts', "import type { Log } from '../store/log.ts';", 'imports shared/store/log.ts'],
    ['shared/domain/topic.ts', "import { join } from 'node:path';", 'imports node:path'],
    ['shared/domain/topic.ts', 'const now = Date.now();', 'uses Date.now('],
    ['shared/operations/read.ts', "import { parse } from '../wire/query.ts';", 'imports shared/wire/query.ts'],
    ['shared/operations/read.ts', "export * from '../store/log.ts';", 'imports shared/store/log.ts'],
    [
      'shared/operations/read.ts',
      "import { GetItemCommand } from '@aws-sdk/client-dynamodb';",
      'imports @aws-sdk/client-dynamodb',
    ],
    ['shared/operations/read.ts', 'await client.send(command);', 'calls an AWS client'],
    ['shared/store/log.ts', "import { append } from '../operations/append.ts';", 'imports shared/operations/append.ts'],
    ['shared/store/log.ts', "import { parse } from '../wire/query.ts';", 'imports shared/wire/query.ts'],
    ['shared/store/log.ts', 'const client = new DynamoDBClient({});', 'makes an AWS client'],
    ['shared/wire/query.ts', "const store = await import('../store/log.ts');", 'imports shared/store/log.ts'],
    ['shared/wire/query.ts', 'if (process.env.DEBUG) return;', 'uses process.env'],
    ['shared/wire/deep/query.ts', "import { x } from '../../../local/gateway.ts';", 'imports local/gateway.ts'],
    ['functions/produce.ts', "import { openGateway } from '../local/gateway.ts';", 'imports local/gateway.ts'],
    ['functions/produce.ts', "import { Stack } from 'aws-cdk-lib';", 'imports aws-cdk-lib'],
    ['functions/produce.ts', 'await client.send(command);', 'calls an AWS client'],
    ['infra/app.ts', "import { LIMIT } from '../shared/domain/topic.ts';", 'imports shared/domain/topic.ts'],
    ['infra/app.ts', 'const client = new S3Client({});', 'makes an AWS client'],
    [
      'client/index.ts',
      "import { append } from '../shared/operations/append.ts';",
      'imports shared/operations/append.ts',
    ],
    ['client/index.ts', "import { S3Client } from '@aws-sdk/client-s3';", 'imports @aws-sdk/client-s3'],
    ['tools/new.ts', '', 'belongs to no part of the tree'],
  ])('of %s that says %s is found wrong', (path, source, complaint) => {
    expect(wrongArrows(path, source)).toEqual([`${path} ${complaint}`]);
  });

  it.each([
    ['shared/operations/read.ts', "import { Topic } from '../domain/topic.ts';\nimport { other } from './other.ts';"],
    ['shared/domain/topic.ts', "// as in import { x } from '../store/log.ts', at Date.now()\n/* new S3Client({}) */"],
    ['shared/wire/text.ts', "const mark = Buffer.from('aws');\nconst parts = Array.from ('ab');"],
    ['infra/app.ts', "import { ENV } from '../shared/env.ts';\nimport { ROUTES } from '../shared/wire/routes.ts';"],
    ['functions/produce.ts', "import { Log } from '../shared/store/log.ts';\nnew DynamoDBClient({});"],
    ['local/main.ts', "import { handler } from '../functions/produce.ts';\nnew DynamoDBClient({}).send(command);"],
  ])('of %s is fine when it says %s', (path, source) => {
    expect(wrongArrows(path, source)).toEqual([]);
  });
});
