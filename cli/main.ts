import { Command, CommanderError } from 'commander';
import { VertebraError } from '../client/index.ts';
import { unlessAborted } from '../client/surroundings.ts';
import { VERSION } from '../shared/wire/version.ts';
import { consumeCommand } from './consume.ts';
import { ENDPOINT_DEFAULT, type GlobalOptions, type Outcome, openContext, type Runner } from './context.ts';
import { deadLettersCommand } from './dead-letters.ts';
import { doctorCommand } from './doctor.ts';
import { EXIT, exitCodeOf } from './exit-codes.ts';
import { groupsCommand } from './groups.ts';
import { keysCommand } from './keys.ts';
import { parkedCommand } from './parked.ts';
import { produceCommand } from './produce.ts';
import { subscriptionsCommand } from './subscriptions.ts';
import { Interruption, plain, type Terminal } from './terminal.ts';
import { topicsCommand } from './topics.ts';
import { upCommand } from './up.ts';

const EXAMPLES = `
Examples:
  $ vertebra up                                          a backbone on this machine, in a terminal of its own
  $ vertebra topics create orders
  $ vertebra produce orders --key /id < orders.ndjson
  $ vertebra consume orders --from earliest
  $ vertebra groups describe billing --watch

Exit codes: 0 done, 1 failed, 2 called wrongly, 3 not found, 4 not allowed, 5 does not fit the state of things,
6 the endpoint is away, 7 bad input, 130 interrupted.`;

/**
 * Runs one command line to its end, writing to the given terminal alone.
 * @returns the exit code, or that what it started goes on
 */
export async function run(args: readonly string[], terminal: Terminal): Promise<Outcome> {
  let outcome: Outcome = EXIT.done;
  const runner: Runner = (command, action, ends = 'at once') => {
    command.action(async (...given: unknown[]) => {
      const parsed = given.pop() as Command;
      const options = given.pop() as never;
      const context = openContext(terminal, parsed.optsWithGlobals<GlobalOptions>());
      const work = action(context, options, ...(given as string[]));
      outcome = (await (ends === 'itself' ? work : unlessAborted(work, terminal.interrupted))) ?? EXIT.done;
    });
  };
  try {
    await programOn(terminal, runner).parseAsync([...args], { from: 'user' });
  } catch (error) {
    if (terminal.interrupted.aborted) return interruptionCode(terminal);
    return tellFailure(error, terminal, args.includes('--json'));
  }
  return terminal.interrupted.aborted ? interruptionCode(terminal) : outcome;
}

function programOn(terminal: Terminal, runner: Runner): Command {
  const program = new Command('vertebra')
    .description('The command line of Vertebra, a serverless event backbone.')
    .option('--endpoint <url>', `where the API is (environment: VERTEBRA_ENDPOINT; default ${ENDPOINT_DEFAULT})`)
    .option('--profile <name>', 'AWS profile whose credentials sign requests')
    .option('--api-key <key>', 'API key to send (environment: VERTEBRA_API_KEY, which no list of processes shows)')
    .option('--json', 'results and failures as JSON')
    .version(VERSION, '--version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .addHelpText('after', EXAMPLES)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void terminal.stdout.write(text),
      writeErr: (text) => void terminal.stderr.write(text),
      outputError: () => {}, // told with all other failures
      getOutHelpWidth: () => terminal.stdout.columns ?? 100,
      getErrHelpWidth: () => terminal.stderr.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .exitOverride();
  const commands = [
    ...[topicsCommand, produceCommand, consumeCommand, groupsCommand],
    ...[subscriptionsCommand, deadLettersCommand, parkedCommand, keysCommand, doctorCommand, upCommand],
  ];
  // Made from the program, so that they have its settings.
  for (const add of commands) add(program, runner);
  return program;
}

function interruptionCode({ interrupted }: Terminal): Outcome {
  return interrupted.reason instanceof Interruption ? interrupted.reason.exitCode : EXIT.interrupted;
}

/** One sentence, or with `--json` one object, on standard error. A bug shows where it is. */
function tellFailure(error: unknown, { stderr }: Terminal, json: boolean): Outcome {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return EXIT.done; // help or version, printed already
    if (error.code !== 'commander.help') {
      const message = error.message.replace(/^error: /, '');
      stderr.write(json ? `${failureJson({ code: 'usage', message })}\n` : `vertebra: ${message}\n`);
    }
    return EXIT.usage;
  }
  const exitCode = exitCodeOf(error);
  if (exitCode === undefined) {
    stderr.write(`vertebra: ${error instanceof Error ? error.stack : String(error)}\n`);
    return EXIT.failed;
  }
  const { message } = error as Error;
  if (json) stderr.write(`${failureJson(factsOf(error as Error))}\n`);
  else stderr.write(`vertebra: ${plain(message)}${adviceOn(error)}\n`);
  return exitCode;
}

function factsOf(error: Error): object {
  if (!(error instanceof VertebraError)) return { code: 'failed', message: error.message };
  const { code, message, retryable, effect, data } = error;
  return { ...data, code, message, retryable, effect };
}

const failureJson = (error: object) => JSON.stringify({ error });

function adviceOn(error: unknown): string {
  if (!(error instanceof VertebraError)) return '';
  if (error.code === 'connection_failed') return '\nIs it running ("vertebra up")? Is it the right --endpoint?';
  // What the API itself refuses says who was refused: this is the gateway's.
  if (error.code === 'forbidden' && !('principal' in error.data)) return `\n${GATEWAY_ADVICE}`;
  if (error.code === 'unauthenticated' && /called with an API key/.test(error.message)) {
    return '\nHere: set VERTEBRA_API_KEY, or give --api-key.';
  }
  return error.code === 'invalid_options' && /\bregion\b/.test(error.message) ? '\nHere: set AWS_REGION.' : '';
}

const GATEWAY_ADVICE =
  'Is it signed by whom IAM lets call it (--profile)? Where keys are handed out, API keys do not count.';
