import type { Command } from 'commander';
import { type Logger, SILENT } from '../client/connection.ts';
import { type Auth, Vertebra } from '../client/index.ts';
import { CommandFailure, EXIT, type ExitCode } from './exit-codes.ts';
import { type Output, plain, type Terminal, tell, write } from './terminal.ts';

/** Where `vertebra up` listens unless it is told otherwise. */
export const ENDPOINT_DEFAULT = 'http://127.0.0.1:4100';

/** How long calls are repeated that fail in a way that may pass: somebody waits. */
const RETRY_WITHIN_MS = 10_000;

/** The options that every command has. */
export interface GlobalOptions {
  readonly endpoint?: string;
  readonly profile?: string;
  readonly apiKey?: string;
  readonly json?: boolean;
}

/** What a command works with. */
export interface Context {
  readonly terminal: Terminal;
  /** Results as JSON, for programs. */
  readonly json: boolean;
  /** AWS profile, where one is named. */
  readonly profile: string | undefined;
  readonly vertebra: Vertebra;
  /** Ends waits when the command is interrupted. */
  readonly signal: AbortSignal;
  /** Writes a line of the result. */
  print(line: string): Promise<void>;
  /** Writes a line beside the result: on standard error. */
  tell(line: string): void;
}

/** `'running'`: what was started goes on after the command line has done its part. */
export type Outcome = ExitCode | 'running';

/** Does what a command's name says. Ends with `done` when it returns nothing. */
// biome-ignore lint/suspicious/noConfusingVoidType: most commands have nothing to return
export type Action<Options> = (context: Context, options: Options, ...args: string[]) => Promise<Outcome | void>;

/**
 * Attaches actions to commands. An interrupted command ends where it stands, unless it says that it ends by `itself`:
 * then it heeds `signal`.
 */
export type Runner = <Options>(command: Command, action: Action<Options>, ends?: 'at once' | 'itself') => void;

export function openContext(terminal: Terminal, options: GlobalOptions): Context {
  let vertebra: Vertebra | undefined;
  return {
    terminal,
    json: options.json ?? false,
    profile: options.profile,
    signal: terminal.interrupted,
    get vertebra() {
      vertebra ??= connect(terminal, options);
      return vertebra;
    },
    print: async (line) => write(terminal.stdout, `${line}\n`),
    tell: (line) => tell(terminal.stderr, line),
  };
}

function connect({ env, stderr }: Terminal, options: GlobalOptions): Vertebra {
  const auth = authOf(options, env.VERTEBRA_API_KEY);
  return new Vertebra({
    endpoint: options.endpoint || env.VERTEBRA_ENDPOINT || ENDPOINT_DEFAULT,
    clientId: 'cli',
    retry: { withinMs: RETRY_WITHIN_MS },
    logger: tellingRetriesOnce(stderr),
    ...(auth && { auth }),
  });
}

/** Why somebody has to wait; once is enough. */
function tellingRetriesOnce(stderr: Output): Logger {
  let told = false;
  return {
    ...SILENT,
    warn(message, data = {}) {
      if (told) return;
      told = true;
      const why = 'error' in data && data.error instanceof Error ? `: ${data.error.message}` : '';
      tell(stderr, plain(`${message}${why}`));
    },
  };
}

function authOf({ profile, apiKey }: GlobalOptions, environmentKey: string | undefined): Auth | undefined {
  if (profile !== undefined && apiKey !== undefined) {
    throw new CommandFailure('--profile and --api-key exclude each other', EXIT.usage);
  }
  if (profile !== undefined) return { iam: { credentials: () => credentialsOf(profile) } };
  const key = apiKey ?? environmentKey;
  return key ? { apiKey: key } : undefined;
}

async function credentialsOf(profile: string) {
  // Only those who name a profile load what reads it.
  const { defaultProvider } = await import('@aws-sdk/credential-provider-node');
  return defaultProvider({ profile })();
}
