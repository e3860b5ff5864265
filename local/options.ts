import { parseArgs } from 'node:util';
import { Refusal } from './refusal.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A gateway that checks signatures or tokens there is none of here. */
export type LocalAuth = 'none' | 'apiKey';

export interface Options {
  /** 0: any free one. */
  readonly port: number;
  /** Folder that keeps the data; null: memory only. */
  readonly data: string | null;
  /** Delete what the folder holds before the start. */
  readonly reset: boolean;
  readonly logLevel: LogLevel;
  /** How callers are known. */
  readonly auth: LocalAuth;
  /** Folder that `cdk synth` wrote: what is in there is run, instead of these sources. Null: these sources. */
  readonly assembly: string | null;
}

/** What the command line asks for: a start, or a text to print instead. */
export type Command = { readonly start: Options } | { readonly print: 'help' | 'version' };

export const PORT_DEFAULT = 4100;
export const DATA_DEFAULT = '.vertebra';

export const HELP = `Runs the whole backbone in one process, on http://127.0.0.1.

Usage: npm start
       npm start -- [options]

  --port <number>      port to listen on; 0 takes any free one (default ${PORT_DEFAULT})
  --data <folder>      where the data is kept (default ./${DATA_DEFAULT})
  --memory             keep nothing on disk
  --reset              delete the data in the folder first
  --auth <how>         apiKey: callers need API keys, and a first one is printed (default none)
  --log-level <level>  which log lines of the functions to show: ${LOG_LEVELS.join(', ')} (default error)
  --assembly <folder>  run what "cdk synth" wrote there, as it would be deployed; in memory unless --data is given
  --version            print the version
  --help               print this`;

/** The options as they were written, absent where they were not. */
export interface WrittenOptions {
  readonly port?: string | undefined;
  readonly data?: string | undefined;
  readonly memory?: boolean | undefined;
  readonly reset?: boolean | undefined;
  readonly logLevel?: string | undefined;
  readonly auth?: string | undefined;
  readonly assembly?: string | undefined;
}

/** @throws {Refusal} with exit code 2, naming the option that is wrong. */
export function parseOptions(args: readonly string[]): Command {
  try {
    const { help, version, 'log-level': logLevel, ...written } = parse(args);
    if (help) return { print: 'help' };
    if (version) return { print: 'version' };
    return { start: checkOptions({ ...written, logLevel }) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const hint = 'Options stand after two dashes, as in "npm start -- --port 0"; --help lists them.';
    throw new Refusal(`${error.message}. ${hint}`, error.exitCode);
  }
}

/** @throws {Refusal} with exit code 2, naming the option that is wrong. */
export function checkOptions(written: WrittenOptions): Options {
  const { port, data, memory, reset = false, logLevel, auth, assembly } = written;
  if (memory && data !== undefined) throw wrong('--memory and --data exclude each other');
  if (memory && reset) throw wrong('--memory and --reset exclude each other: nothing is kept in memory');
  if (data === '') throw wrong('--data needs a folder');
  if (assembly === '') throw wrong('--assembly needs a folder');
  if (assembly !== undefined && auth !== undefined) {
    throw wrong('--assembly and --auth exclude each other: the assembly says how callers are known');
  }
  return {
    port: parsePort(port),
    data: memory ? null : (data ?? (assembly === undefined ? DATA_DEFAULT : null)),
    reset,
    logLevel: parseLogLevel(logLevel),
    auth: parseAuth(auth),
    assembly: assembly ?? null,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        port: { type: 'string' },
        data: { type: 'string' },
        memory: { type: 'boolean' },
        reset: { type: 'boolean' },
        auth: { type: 'string' },
        assembly: { type: 'string' },
        'log-level': { type: 'string' },
        version: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    // Node's first sentence names the option; the next ones are about positional arguments, which there are none of.
    throw wrong((error as Error).message.split(/\. |\n/)[0]!);
  }
}

function parsePort(text: string | undefined): number {
  if (text === undefined) return PORT_DEFAULT;
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw wrong(`--port must be 0 to 65535, not '${text}'`);
  return Number(text);
}

function parseLogLevel(text: string | undefined): LogLevel {
  const level = LOG_LEVELS.find((candidate) => candidate === (text ?? 'error'));
  if (!level) throw wrong(`--log-level must be one of ${LOG_LEVELS.join(', ')}, not '${text}'`);
  return level;
}

function parseAuth(text = 'none'): LocalAuth {
  if (text === 'none' || text === 'apiKey') return text;
  throw wrong(`--auth must be none or apiKey, not '${text}'`);
}

const wrong = (what: string) => new Refusal(what, 2);
