import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './run.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PROGRAM = join(ROOT, 'node_modules', 'aws-cdk', 'bin', 'cdk');
/** In an account, a stack takes minutes; on an emulator, seconds. */
const TIMEOUT_MS = 15 * 60_000;
/** Needs the account's and region's name, which nobody knows before who is asked. */
const EMULATED = 'aws://000000000000';

export type Outputs = Readonly<Record<string, string>>;

/** The CDK's command, as its users call it, with all that it writes in one folder. */
export class Cdk {
  readonly #folder: string;
  readonly #environment: Readonly<Record<string, string | undefined>>;
  readonly #project: string;
  #calls = 0;

  /** @param folder for what it writes @param project of the app; default: this one */
  constructor(folder: string, environment: Readonly<Record<string, string | undefined>>, project = ROOT) {
    this.#folder = folder;
    this.#project = project;
    this.#environment = {
      ...environment,
      // What it remembers of accounts by their access keys is of no use to others.
      ...{ CDK_HOME: join(folder, 'cdk-home'), CDK_DISABLE_CLI_TELEMETRY: 'true', CDK_DISABLE_VERSION_CHECK: '1' },
      AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
    };
  }

  /** Prepares an emulator's account. */
  async bootstrap(region: string): Promise<void> {
    // In a folder of its own: it synthesises without packages, and a deployment from there would not run.
    await this.#run('bootstrap', `${EMULATED}/${region}`, '--output', this.#path('bootstrap'));
  }

  /** @returns the folder of the assembly */
  async synthesise(context: Readonly<Record<string, string>>, app?: string): Promise<string> {
    const assembly = this.#path('assembly');
    const settings = Object.entries(context).flatMap(([name, value]) => ['--context', `${name}=${value}`]);
    await this.#run('synth', '--quiet', '--output', assembly, ...settings, ...(app ? ['--app', app] : []));
    return assembly;
  }

  /** @returns the stack's outputs, and what the command wrote */
  async deploy(assembly: string, stack: string): Promise<{ readonly outputs: Outputs; readonly told: string }> {
    const file = `${this.#path('outputs')}.json`;
    const told = await this.#run(
      ...(['deploy', stack, '--app', assembly, '--require-approval', 'never', '--progress', 'events'] as const),
      ...(['--outputs-file', file] as const),
    );
    return { outputs: (JSON.parse(readFileSync(file, 'utf8')) as Record<string, Outputs>)[stack] ?? {}, told };
  }

  async destroy(assembly: string, stack: string): Promise<void> {
    await this.#run('destroy', stack, '--app', assembly, '--force');
  }

  #path(name: string): string {
    return join(this.#folder, `${name}-${process.pid}-${basename(this.#project)}-${this.#calls++}`);
  }

  #run(...args: readonly string[]): Promise<string> {
    return run(process.execPath, [PROGRAM, ...args, '--no-notices', '--no-color'], {
      environment: this.#environment,
      folder: this.#project,
      timeoutMs: TIMEOUT_MS,
    });
  }
}
