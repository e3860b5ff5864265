import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { VERSION } from '../../shared/wire/version.ts';
import { exampleIn } from './examples.ts';
import { installedProject, type Project, packedPackage, type Tarball } from './project.ts';

let tarball: Tarball;
let project: Project;
beforeAll(async () => {
  tarball = await packedPackage();
  project = await installedProject(tarball);
});
afterAll(() => {
  project?.remove();
  tarball?.remove();
});

/** Starts something that goes on until it is told to stop. */
function start(program: string, args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const env = { ...process.env, ...environment };
  const child: ChildProcess = spawn(program, [...args], {
    cwd: project.folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (chunk) => (output += String(chunk)));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { output: () => output, interrupt: () => child.kill('SIGINT'), ended };
}

/** The command that the package installs. */
const bin = () => join(project.folder, 'node_modules', '.bin', 'vertebra');

/** A backbone that the installed command runs. @returns its URL */
async function up(): Promise<string> {
  const backbone = start(bin(), ['up', '--memory', '--port', '0']);
  await expect.poll(backbone.output, { timeout: 20_000 }).toContain('Ctrl-C stops it.');
  return /http:\/\/127\.0\.0\.1:\d+/.exec(backbone.output())![0];
}

describe('the package', () => {
  it('holds what runs, and its types: no sources, no tests, no app', () => {
    const wrong = tarball.packed.filter((path) => {
      const allowed =
        /^(?:dist\/(?:client|cli|infra|local|functions|shared)\/.+\.(?:js|d\.ts|mjs|d\.mts)|dist\/packed\/[a-z]+\/index\.mjs|cli\/vertebra\.mjs|docs\/(?:guides\/)?[a-z-]+\.md|docs\/guides\/[a-z-]+\.svg)$/;
      return !allowed.test(path) && !['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md'].includes(path);
    });
    expect(wrong).toEqual([]);
    for (const entry of ['client/index', 'client/relay/index', 'local/embedding', 'infra/index']) {
      expect(tarball.packed).toEqual(expect.arrayContaining([`dist/${entry}.js`, `dist/${entry}.d.ts`]));
    }
    expect(tarball.packed).toContain('dist/cli/process.js');
    expect(tarball.packed).not.toContain('dist/infra/app.js');
  });

  it('brings nothing that only development needs', () => {
    const installed = readdirSync(join(project.folder, 'node_modules'));
    for (const name of ['aws-cdk-lib', 'aws-cdk', 'constructs', 'vitest', 'tsx', 'esbuild', 'kafkajs', '@biomejs']) {
      expect(installed).not.toContain(name);
    }
  });

  it('compiles with what its README says, strict, its own types included', async () => {
    project.write('example.ts', exampleIn('README.md', 'sdk'));
    project.write('orders.test.ts', exampleIn('README.md', 'tests'));
    expect(await project.run('tsc', [])).toEqual({ code: 0, out: '', err: '' });
  });

  it("runs the README's example against a backbone", async () => {
    const url = await up();
    const example = start(process.execPath, [join('out', 'example.js')], { VERTEBRA_ENDPOINT: url });
    await expect.poll(example.output, { timeout: 30_000 }).toContain('c-1: 12.5');
    example.interrupt();
    expect(await example.ended).toBe(0);
  });

  it("runs the README's test, which brings a backbone of its own", async () => {
    const ran = await project.run(process.execPath, ['--test', '--test-reporter=tap', join('out', 'orders.test.js')]);
    expect(ran).toMatchObject({ code: 0, out: expect.stringMatching(/^# pass 1$/m) });
  });

  it('refuses what it does not export', async () => {
    project.write('deep.mjs', "await import('vertebra/dist/client/transport.js');");
    expect((await project.run(process.execPath, ['deep.mjs'])).err).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED');
  });

  it('loads neither AWS clients nor the embedded backbone for its SDK', async () => {
    project.write(
      'load.mjs',
      "import { Vertebra } from 'vertebra';\nnew Vertebra({ endpoint: 'http://127.0.0.1:1' });\n",
    );
    const coverage = join(project.folder, 'coverage');
    expect(await project.run(process.execPath, ['load.mjs'], { NODE_V8_COVERAGE: coverage })).toMatchObject({
      code: 0,
    });
    const loaded = readdirSync(coverage).flatMap((name) => {
      const { result } = JSON.parse(readFileSync(join(coverage, name), 'utf8')) as { result: { url: string }[] };
      return result.map(({ url }) => /\/node_modules\/(.+)/.exec(url)?.[1]).filter((path) => path !== undefined);
    });
    expect(loaded).toContain('vertebra/dist/client/index.js');
    // The keys of what `processOnce` writes are all that it knows of stores.
    const own =
      /^vertebra\/dist\/(?:client\/|shared\/(?:domain|wire)\/|shared\/store\/(?:keys|item-key|once-\w+)\.js$)/;
    expect(loaded.filter((path) => !own.test(path))).toEqual([]);
  });

  it('has a command that works, and tells in JSON and by its exit code', async () => {
    expect(await project.run('vertebra', ['--version'])).toEqual({ code: 0, out: `${VERSION}\n`, err: '' });
    const url = await up();
    const vertebra = (...args: string[]) => project.run('vertebra', [...args, '--endpoint', url]);
    expect(await vertebra('topics', 'create', 'orders', '--partitions', '1')).toMatchObject({ code: 0 });
    project.write('orders.ndjson', '{"id":"o-1"}\n{"id":"o-2"}\n');
    expect(await vertebra('produce', 'orders', '--file', 'orders.ndjson', '--key', '/id', '--json')).toMatchObject({
      code: 0,
      out: '{"delivered":2,"failed":0,"unknown":0,"skipped":0}\n',
    });
    expect(await vertebra('consume', 'orders', '--template', '{offset} {key}\\n')).toEqual({
      code: 0,
      out: '0 o-1\n1 o-2\n',
      err: '',
    });
    expect(await vertebra('topics', 'describe', 'nothing')).toMatchObject({ code: 3, out: '' });
  });

  it('keeps data on disk', async () => {
    const first = start(bin(), ['up', '--port', '0', '--data', 'kept']);
    await expect.poll(first.output, { timeout: 20_000 }).toContain('Ctrl-C stops it.');
    first.interrupt();
    expect(await first.ended).toBe(0);
    expect(readdirSync(join(project.folder, 'kept')).sort()).toEqual(['engine', 'vertebra.json']);
  });
});

describe('the constructs, in a CDK app', () => {
  let app: Project;
  beforeAll(async () => {
    app = await installedProject(tarball, ['aws-cdk-lib', 'constructs']);
    const { compilerOptions, ...config } = JSON.parse(app.read('tsconfig.json')) as { compilerOptions: object };
    // Those of the CDK are its own affair.
    app.write(
      'tsconfig.json',
      JSON.stringify({ ...config, compilerOptions: { ...compilerOptions, skipLibCheck: true } }),
    );
    app.write('app.ts', exampleIn('docs/constructs.md', 'app'));
    app.write('everything.ts', exampleIn('docs/constructs.md', 'everything'));
    for (const name of ['shop', 'shipping']) app.write(`${name}/index.mjs`, 'export const handler = async () => {};');
  });
  afterAll(() => app?.remove());

  /** Synthesises an app as the CDK's command line does. @returns its templates, by name, and where it is */
  async function synthesised(name: string) {
    const folder = join(app.folder, `${name}.out`);
    const flags = JSON.stringify({ 'aws:cdk:enable-path-metadata': false });
    const told = { CDK_OUTDIR: folder, CDK_CONTEXT_JSON: flags, PATH: dirname(process.execPath) };
    expect(await app.run(process.execPath, [join('out', `${name}.js`)], told)).toMatchObject({ code: 0 });
    const templates = readdirSync(folder).filter((file) => file.endsWith('.template.json'));
    const read = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as { Resources: object };
    return { folder, templates: Object.fromEntries(templates.map((file) => [file.split('.')[0]!, read(file)])) };
  }

  it('compile as docs/constructs.md says, strict', async () => {
    expect(await app.run('tsc', [])).toEqual({ code: 0, out: '', err: '' });
  });

  it('are synthesised without Docker, esbuild or a search path, every function with its package', async () => {
    const { folder, templates } = await synthesised('app');
    const resources = Object.values(templates.Shop!.Resources) as { Type: string; Properties: { Code?: object } }[];
    const types = new Set(resources.map(({ Type }) => Type));
    expect(types).toContain('Custom::VertebraTopic');
    expect(types).toContain('Custom::VertebraSubscription');
    expect(types).toContain('Custom::VertebraGrant');
    expect(resources.length).toBeLessThanOrEqual(210);
    const packages = readdirSync(folder).filter((name) => name.startsWith('asset.'));
    expect(packages.map((name) => readdirSync(join(folder, name)))).toEqual(packages.map(() => ['index.mjs']));
    // Two of the eleven functions have the same package; two are the app's.
    const functions = resources.filter(({ Type }) => Type === 'AWS::Lambda::Function');
    expect([functions.length, packages.length]).toEqual([13, 11]);
    const topics = packages.map((name) => join(folder, name, 'index.mjs'));
    const sizes = topics.map((file) => readFileSync(file).length).sort((a, b) => a - b);
    expect(sizes[2]).toBeGreaterThan(100_000);
  });

  it('are synthesised with everything that there is', async () => {
    const { templates } = await synthesised('everything');
    expect(Object.keys(templates).sort()).toEqual(['Core', 'Team']);
    expect(Object.keys(templates.Core!.Resources).length).toBeLessThanOrEqual(210);
    expect(JSON.stringify(templates.Team)).toContain('Custom::VertebraSubscription');
  });
});
