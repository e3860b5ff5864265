import { PassThrough, Readable, Writable } from 'node:stream';
import { onTestFinished } from 'vitest';
import type { Outcome } from '../../cli/context.ts';
import { run } from '../../cli/main.ts';
import { Interruption, type Output, type Terminal } from '../../cli/terminal.ts';
import { type LocalBackbone, startLocalBackbone } from '../../local/embedding.ts';

/** A backbone in memory that ends with the test. */
export async function startedBackbone(): Promise<LocalBackbone> {
  const backbone = await startLocalBackbone();
  onTestFinished(() => backbone.dispose());
  return backbone;
}

/** What a command was given, and what it did with it. */
export interface CommandLine {
  readonly terminal: Terminal;
  readonly stdin: PassThrough;
  out(): string;
  err(): string;
  /** As Ctrl-C. */
  interrupt(): void;
  run(...args: string[]): Promise<Outcome>;
}

export interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  /** Standard error is a terminal. */
  readonly isTTY?: boolean;
}

/** A command line without a process. */
export function commandLine({ env = {}, isTTY = false }: Surroundings = {}): CommandLine {
  const [stdout, stderr] = [collector(false), collector(isTTY)];
  const stdin = new PassThrough();
  const interruption = new AbortController();
  const terminal: Terminal = {
    stdin,
    stdout,
    stderr,
    env,
    interrupted: interruption.signal,
    leaveSignals: () => {},
  };
  return {
    terminal,
    stdin,
    out: () => stdout.text(),
    err: () => stderr.text(),
    interrupt: () => interruption.abort(new Interruption(130)),
    run: (...args) => run(args, terminal),
  };
}

export interface Result {
  readonly code: Outcome;
  readonly out: string;
  readonly err: string;
}

/** Runs a command against a backbone to its end. */
export async function command(
  url: string,
  args: readonly string[],
  { input = '', ...surroundings }: Surroundings & { readonly input?: string | Uint8Array } = {},
): Promise<Result> {
  const line = commandLine({ ...surroundings, env: { VERTEBRA_ENDPOINT: url, ...surroundings.env } });
  Readable.from([Buffer.from(input)]).pipe(line.stdin);
  const code = await line.run(...args);
  return { code, out: line.out(), err: line.err() };
}

function collector(isTTY: boolean): Output & { text(): string } {
  const chunks: Buffer[] = [];
  const output = new Writable({
    write(chunk: Buffer, _, done) {
      chunks.push(chunk);
      done();
    },
  });
  return Object.assign(output, { isTTY, columns: 100, text: () => Buffer.concat(chunks).toString() });
}
