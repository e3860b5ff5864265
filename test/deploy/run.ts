import { type ChildProcess, spawn } from 'node:child_process';

export interface RunOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly folder?: string;
  readonly timeoutMs: number;
}

export interface StartOptions extends Omit<RunOptions, 'timeoutMs'> {
  /** Whether it writes to where this process writes. Default: its output is to be read. */
  readonly shown?: boolean;
}

/** Lines of a failed program's output that are told. */
const TAIL_LINES = 40;
const ENDING_MS = 5_000;

/** What this process started and has not seen the end of. */
const running = new Set<ChildProcess>();

/** Starts a program in a process group of its own, so that what it starts ends with it. */
export function start(command: string, args: readonly string[], options: StartOptions): ChildProcess {
  const child = spawn(command, [...args], {
    cwd: options.folder,
    env: { ...options.environment },
    detached: true,
    stdio: options.shown ? ['ignore', 'inherit', 'inherit'] : ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  child.once('close', () => running.delete(child));
  child.once('error', () => running.delete(child));
  return child;
}

/**
 * Runs a program to its end.
 *
 * @returns what it wrote, errors too
 * @throws {Error} with the end of its output when it fails, or has not ended in time
 */
export function run(command: string, args: readonly string[], options: RunOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = start(command, args, options);
    let output = '';
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (piece) => (output += String(piece)));
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      killGroup(child, 'SIGKILL');
    }, options.timeoutMs);
    const fail = (why: string) => {
      const tail = output.trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
      reject(new Error(`${[command, ...args].join(' ')}\n${why}:\n${tail}`));
    };
    child.once('error', (error) => {
      clearTimeout(timer);
      fail(error.message);
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      if (code === 0) resolve(output);
      else fail(late ? `did not end within ${options.timeoutMs} ms` : `ended with ${code ?? signal}`);
    });
  });
}

/** Ends a program and all that it started: first politely. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = new Promise((resolve) => child.once('close', resolve));
    killGroup(child, 'SIGTERM');
    const timer = setTimeout(() => killGroup(child, 'SIGKILL'), ENDING_MS);
    await ended;
    clearTimeout(timer);
  }
  // Whatever its group still holds.
  killGroup(child, 'SIGKILL');
}

/** Ends everything that runs, at once: for a process that is told to stop. */
export function killAll(): void {
  for (const child of running) killGroup(child, 'SIGKILL');
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // There is nobody left in it.
  }
}
