import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const START = fileURLToPath(new URL('../../local/start.mjs', import.meta.url));
/** Far above what a start or a stop takes, even on a busy machine. */
const DEADLINE_MS = 20_000;

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Standard output and error as they came. */
  readonly output: string;
}

export interface RunningBackbone {
  readonly url: string;
  readonly pid: number;
  /** What it has printed so far. */
  output(): string;
  signal(signal: NodeJS.Signals): void;
  /** Sends a signal, if one is given, and waits for the end. */
  end(signal?: NodeJS.Signals): Promise<Ended>;
}

/** Runs what `npm start` runs to its end. */
export function runToEnd(...args: string[]): Promise<Ended> {
  const child = launch(args);
  return within(DEADLINE_MS, child.ended, () => `did not end:\n${child.output()}`);
}

/** Runs what `npm start` runs until it has printed its URL. It is killed when the test is over, if it still runs then. */
export function startBackbone(...args: string[]): Promise<RunningBackbone> {
  return running(launch(args));
}

async function running(child: Launched): Promise<RunningBackbone> {
  const url = await within(DEADLINE_MS, Promise.race([child.url, child.ended]), () => `no URL:\n${child.output()}`);
  if (typeof url !== 'string') throw new Error(`it ended with ${url.code ?? url.signal}:\n${url.output}`);
  return {
    url,
    pid: child.process.pid!,
    output: child.output,
    signal: (signal) => void child.process.kill(signal),
    end: (signal) => {
      if (signal) child.process.kill(signal);
      return within(DEADLINE_MS, child.ended, () => `did not end:\n${child.output()}`);
    },
  };
}

/** As `startBackbone`, but behind a shell as npm puts one in between; signals go to the shell alone. POSIX only. */
export function startBehindShell(...args: string[]): Promise<RunningBackbone> {
  const command = [process.execPath, START, ...args].map((word) => `'${word}'`).join(' ');
  const environment = { ...process.env, npm_lifecycle_event: 'start' };
  return running(spawnWatched('sh', ['-c', `${command}; exit $?`], environment));
}

interface Launched {
  readonly process: ChildProcess;
  readonly url: Promise<string>;
  readonly ended: Promise<Ended>;
  output(): string;
}

const launch = (args: string[]) => spawnWatched(process.execPath, [START, ...args]);

function spawnWatched(command: string, args: string[], env = process.env): Launched {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  const url = new Promise<string>((resolve) => {
    const take = (chunk: Buffer) => {
      output += chunk.toString();
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(output);
      if (found) resolve(found[0]);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
  });
  const ended = once(child, 'close').then(([code, signal]): Ended => ({ code, signal, output }));
  return { process: child, url, ended, output: () => output };
}

async function within<T>(ms: number, awaited: Promise<T>, complaint: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`after ${ms} ms it ${complaint()}`)), ms);
  });
  return Promise.race([awaited, late]).finally(() => clearTimeout(timer));
}
