import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** What packing, installing or running something may take on a busy machine. */
const DEADLINE_MS = 180_000;

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Somebody's project that has the package, and nothing of this repository, installed. */
export interface Project {
  readonly folder: string;
  read(name: string): string;
  write(name: string, text: string): void;
  /** Runs a program; `node` is this very one, and what packages bring can be called by its name. */
  run(command: string, args: readonly string[], environment?: Readonly<Record<string, string>>): Promise<Ran>;
  remove(): void;
}

/** The package, packed. */
export interface Tarball {
  readonly file: string;
  /** What is in it, as paths. */
  readonly packed: readonly string[];
  remove(): void;
}

/** Builds and packs the package. */
export async function packedPackage(): Promise<Tarball> {
  const folder = mkdtempSync(join(tmpdir(), 'vertebra-tarball-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const pack = await succeed(execute('npm', ['pack', '--json', '--pack-destination', folder], ROOT));
    const name = readdirSync(folder).find((found) => found.endsWith('.tgz'))!;
    return { file: join(folder, name), packed: filesIn(pack.out), remove };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Installs the package into an empty project, strict in its types. @param others packages that it is to have beside */
export async function installedProject({ file }: Tarball, others: readonly string[] = []): Promise<Project> {
  const folder = mkdtempSync(join(tmpdir(), 'vertebra-package-'));
  const project = open(folder);
  try {
    project.write('package.json', JSON.stringify({ name: 'somebody', private: true, type: 'module' }));
    project.write('tsconfig.json', JSON.stringify(TSCONFIG));
    const tools = ['typescript', '@types/node', ...others].map((name) => `${name}@${versionOf(name)}`);
    const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--no-save', '--no-package-lock'];
    await succeed(execute('npm', ['install', ...flags, file, ...tools], folder));
    return project;
  } catch (error) {
    project.remove();
    throw error;
  }
}

/** Types of dependencies are checked too: those of the package must hold by themselves. */
const TSCONFIG = {
  compilerOptions: {
    ...{ target: 'ES2022', lib: ['ES2023'], module: 'NodeNext', types: ['node'], outDir: 'out', rootDir: '.' },
    ...{ strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, skipLibCheck: false },
  },
  include: ['*.ts'],
};

function open(folder: string): Project {
  return {
    folder,
    read: (name) => readFileSync(join(folder, name), 'utf8'),
    write: (name, text) => {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    },
    run: (command, args, environment) => execute(command, args, folder, environment),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** What comes before npm's JSON is the output of the build. */
function filesIn(output: string): string[] {
  const [packed] = JSON.parse(output.slice(output.search(/^\[/m))) as { files: { path: string }[] }[];
  return packed!.files.map(({ path }) => path);
}

function versionOf(name: string): string {
  return (JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')) as { version: string })
    .version;
}

/** Without what npm and vitest tell their own children. */
function environmentOf(folder: string): Record<string, string | undefined> {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(?:npm_|VITEST|NODE_ENV|NODE_OPTIONS|VERTEBRA_)/.test(name),
  );
  const path = [join(folder, 'node_modules', '.bin'), dirname(process.execPath), process.env.PATH];
  return { ...Object.fromEntries(own), PATH: path.join(delimiter) };
}

function execute(
  command: string,
  args: readonly string[],
  folder: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  const options = {
    cwd: folder,
    env: { ...environmentOf(folder), ...environment },
    timeout: DEADLINE_MS,
    maxBuffer: 64 * 1024 * 1024,
  };
  return new Promise((resolve) => {
    const child = execFile(command, [...args], options, (error, out, err) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, out, err });
    });
    child.stdin?.end();
  });
}

async function succeed(running: Promise<Ran>): Promise<Ran> {
  const ran = await running;
  if (ran.code !== 0) throw new Error(`it ended with ${ran.code}:\n${ran.out}\n${ran.err}`);
  return ran;
}
