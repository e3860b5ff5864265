import { parseArgs } from 'node:util';
import { Refusal } from './refusal.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface Options {
  /** 0: any free one. */
  readonly port: number;
  /** Folder that keeps the data; null: memory only. */
  readonly data: string | null;
  /** Delete what the folder holds before the start. */
  readonly reset: boolean;
  readonly logLevel: LogLevel;
}

/** What the command line asks for: a start, or a text to print instead. */
export type Command = { readonly start: Options } | { readonly print: 'help' | 'version' };

const PORT_DEFAULT = 4100;
const DATA_DEFAULT = '.vertebra';

export const HELP = `Runs the whole backbone in one process, on http://127.0.0.1.

Usage: npm start
       npm start -- [options]

  --port <number>      port to listen on; 0 takes any free one (default ${PORT_DEFAULT})
  --data <folder>      where the data is kept (default ./${DATA_DEFAULT})
  --memory             keep nothing on disk
  --reset              delete the data in the folder first
  --log-level <level>  which log lines of the functions to show: ${LOG_LEVELS.join(', ')} (default error)
  --version            print the version
  --help               print this`;

/** @throws {Refusal} with exit code 2, naming the option that is wrong. */
export function parseOptions(args: readonly string[]): Command {
  const values = parse(args);
  if (values.help) return { print: 'help' };
  if (values.version) return { print: 'version' };
  if (values.memory && values.data !== undefined) throw wrong('--memory and --data exclude each other');
  if (values.memory && values.reset) throw wrong('--memory and --reset exclude each other: nothing is kept in memory');
  if (values.data === '') throw wrong('--data needs a folder');
  return {
    start: {
      port: parsePort(values.port),
      data: values.memory ? null : (values.data ?? DATA_DEFAULT),
      reset: values.reset ?? false,
      logLevel: parseLogLevel(values['log-level']),
    },
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

const wrong = (what: string) =>
  new Refusal(`${what}. Options stand after two dashes, as in "npm start -- --port 0"; --help lists them.`, 2);
