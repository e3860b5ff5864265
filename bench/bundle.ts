import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { type BuildOptions, build, type Metafile } from 'esbuild';
import { ESBUILD_OPTIONS, FUNCTIONS, sourceOf } from '../infra/constructs/bundling.ts';

/** One Lambda package beside its floor: a bundle of the same SDK clients and commands that does nothing with them. */
export interface BundleRow {
  readonly function: string;
  /** Of the one file in the package. */
  readonly bytes: number;
  readonly floorBytes: number;
  readonly ratio: number;
  /** The same file gzipped: about what a cold start downloads. */
  readonly zippedBytes: number;
  /** Median time of the module's import in a fresh process on this machine; NaN when none was timed. */
  readonly loadMs: number;
  readonly floorLoadMs: number;
  readonly loadRatio: number;
}

/** What esbuild made of one entry. */
export interface Bundle {
  readonly file: string;
  readonly bytes: number;
  readonly zippedBytes: number;
  readonly metafile: Metafile;
}

const ROOT = resolve(fileURLToPath(import.meta.url), '../..');
const LOADS = 9;

/** Weighs every function's package. @param loads imports to time per file, each in a process of its own */
export async function bundleRows(loads = LOADS): Promise<BundleRow[]> {
  return inFolder(async (folder) => {
    const rows: BundleRow[] = [];
    for (const name of FUNCTIONS) {
      const bundle = await bundleFunction(name, folder);
      const floor = await bundleFloor(bundle, folder);
      const [loadMs, floorLoadMs] = await loadTimes(bundle.file, floor.file, loads);
      rows.push({
        function: name,
        bytes: bundle.bytes,
        floorBytes: floor.bytes,
        ratio: bundle.bytes / floor.bytes,
        zippedBytes: bundle.zippedBytes,
        loadMs,
        floorLoadMs,
        loadRatio: loadMs / floorLoadMs,
      });
    }
    return rows;
  });
}

/** Bundles a function as the stack does. */
export function bundleFunction(name: string, folder: string): Promise<Bundle> {
  return bundle({ ...ESBUILD_OPTIONS, entryPoints: [sourceOf(name)] }, join(folder, `${name}.mjs`));
}

/** What functions use of the SDK beside its clients. */
const PRESIGNER = '@aws-sdk/s3-request-presigner';

/** Bundles what is in `of` of the SDK, and nothing else, with all that it brings along. */
export function bundleFloor(of: Bundle, folder: string, name = 'floor'): Promise<Bundle> {
  const clients = [...sdkNames(of.metafile)];
  if (contentsOf(of.metafile).some(([name]) => name === PRESIGNER)) clients.push([PRESIGNER, ['getSignedUrl']]);
  const imports = clients.map(([client, names]) => `import { ${names.join(', ')} } from '${client}';\n`).join('');
  const contents = `${imports}export const handler = [${clients.flatMap(([, names]) => names).join(', ')}];\n`;
  return bundle({ ...ESBUILD_OPTIONS, alias: {}, stdin: { contents, resolveDir: ROOT } }, join(folder, `${name}.mjs`));
}

async function bundle(options: BuildOptions, outfile: string): Promise<Bundle> {
  const { metafile } = await build({ ...options, outfile, absWorkingDir: ROOT, logLevel: 'silent', metafile: true });
  const contents = await readFile(outfile);
  return { file: outfile, bytes: contents.length, zippedBytes: gzipSync(contents, { level: 9 }).length, metafile };
}

/** SDK clients and commands in a bundle: `@aws-sdk/client-dynamodb` → `DynamoDBClient`, `GetItemCommand`, … */
export function sdkNames(metafile: Metafile): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [path] of inputsOf(metafile)) {
    const match = /(@aws-sdk\/client-[^/]+)\/dist-es\/(?:commands\/)?(\w+(?:Client|Command))\.js$/.exec(path);
    if (match) found.set(match[1]!, [...(found.get(match[1]!) ?? []), match[2]!].sort());
  }
  return found;
}

/** Bytes per npm package in a bundle, largest first; `vertebra` is our own code. */
export function contentsOf(metafile: Metafile): [name: string, bytes: number][] {
  const sizes = new Map<string, number>();
  for (const [path, bytes] of inputsOf(metafile)) {
    const name = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? 'vertebra';
    sizes.set(name, (sizes.get(name) ?? 0) + bytes);
  }
  return [...sizes].sort(([, a], [, b]) => b - a);
}

/** Files that something was taken from, with the bytes that they take in the bundle. */
function inputsOf(metafile: Metafile): [path: string, bytes: number][] {
  return Object.values(metafile.outputs)
    .flatMap((output) => Object.entries(output.inputs))
    .map(([path, { bytesInOutput }]): [string, number] => [path, bytesInOutput])
    .filter(([, bytes]) => bytes > 0);
}

/** Median import times in ms of two modules, taken in turns so that the machine's mood meets both. */
async function loadTimes(file: string, other: string, loads: number): Promise<[number, number]> {
  const times: [number[], number[]] = [[], []];
  for (let load = 0; load < loads; load++) {
    times[0].push(await loadTime(file));
    times[1].push(await loadTime(other));
  }
  return [median(times[0]), median(times[1])];
}

async function loadTime(file: string): Promise<number> {
  const url = JSON.stringify(pathToFileURL(file).href);
  const script = `const begin = performance.now(); await import(${url}); console.log(performance.now() - begin);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  return Number(stdout.trim().split('\n').at(-1));
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** Runs `work` with a folder that is gone afterwards. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'vertebra-bundles-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.table(await bundleRows());
  await inFolder(async (folder) => {
    for (const name of FUNCTIONS) {
      const parts = contentsOf((await bundleFunction(name, folder)).metafile).slice(0, 12);
      console.log(`${name}: ${parts.map(([part, bytes]) => `${part} ${bytes}`).join(', ')}`);
    }
  });
}
