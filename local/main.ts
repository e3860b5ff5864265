import { firstSteps } from '../shared/wire/first-steps.ts';
import { VERSION } from '../shared/wire/version.ts';
import type { BackboneServer } from './backbone-server.ts';
import { openDataFolder } from './data-folder.ts';
import { inUse } from './folder-lock.ts';
import { describeFailure, readableLogLine } from './function-log.ts';
import { HELP, type Options, parseOptions } from './options.ts';
import { Refusal } from './refusal.ts';
import { StatusLines } from './status-lines.ts';
import { captureOutput, Terminal } from './terminal.ts';

/** How long a stop waits for requests under way. */
const DRAIN_MS = 2_000;
/** A stop that has not ended by then never will. */
const STOP_MS_MAX = 10_000;
/** npm passes on the Ctrl-C that the terminal has sent already: what comes so soon is the same key press. */
const SAME_SIGNAL_MS = 500;
/** Whoever started this process; it may be gone by the time that somebody asks. */
const PARENT = process.ppid;
/** How often a backbone that npm started looks whether it still has its parent. */
const ORPHAN_CHECK_MS = 500;

/** `npm start`: runs until a signal comes. What keeps it from starting is told in one sentence. */
export async function main(args: readonly string[]): Promise<void> {
  try {
    const command = parseOptions(args);
    if ('print' in command) console.log(command.print === 'help' ? HELP : `vertebra ${VERSION}`);
    else await start(command.start, 'npm start --');
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    process.stderr.write(`vertebra: ${error.message}\n`);
    process.exitCode = error.exitCode;
  }
}

/**
 * Starts the backbone, tells how to use it, and lets it run until a signal comes, which ends the process.
 *
 * @param command what was called, to be named in advice
 * @throws {Refusal} when it cannot start
 */
export async function start(options: Options, command: string): Promise<void> {
  const folder = options.data === null ? null : openDataFolder(options.data, options);
  if (folder) process.once('exit', folder.release);
  const terminal = new Terminal(process.stdout);
  const running = await open(options, folder?.enginePath, terminal).catch((error) => {
    throw refusalOf(error, options, command);
  });
  onStopSignal(async () => {
    terminal.print('Stopping …');
    await running.close();
    terminal.print('Stopped.');
  });
  // Last: whoever reads it may send the signal at once.
  terminal.print(running.greeting);
}

/** What runs until it is stopped. */
interface Running {
  readonly greeting: string;
  close(): Promise<void>;
}

function open(options: Options, path: string | undefined, terminal: Terminal): Promise<Running> {
  return options.assembly === null
    ? openSources(options, path, terminal)
    : openAssembly(options, options.assembly, path, terminal);
}

async function openSources(options: Options, path: string | undefined, terminal: Terminal): Promise<Running> {
  // Read when the functions are loaded, as in Lambda. Metrics are for CloudWatch alone.
  process.env.POWERTOOLS_LOG_LEVEL = options.logLevel.toUpperCase();
  process.env.POWERTOOLS_METRICS_DISABLED = 'true';
  const { openBackboneServer } = await import('./backbone-server.ts');
  const status = new StatusLines(terminal, () => server.describeTopics());
  const server = await openBackboneServer({
    port: options.port,
    auth: options.auth,
    path,
    onRecords: (topicId, direction, records) => status.count(topicId, direction, records),
    onExchange: (exchange) => {
      const failure = describeFailure(exchange);
      if (failure) terminal.print(failure);
    },
    onFailure: (name, error) =>
      terminal.print(`${name} failed\n${error instanceof Error ? error.stack : String(error)}`),
  });
  captureOutput((line) => {
    const readable = readableLogLine(line);
    if (readable) terminal.print(readable);
  });
  return {
    greeting: greeting(server, options.data),
    close() {
      status.close();
      return server.close(DRAIN_MS);
    },
  };
}

async function openAssembly(
  { port, logLevel, data }: Options,
  assembly: string,
  path: string | undefined,
  terminal: Terminal,
): Promise<Running> {
  const { runAssembly } = await import('./assembly/run-assembly.ts');
  const print = (text: string) => terminal.print(text);
  const server = await runAssembly({ assembly, port, logLevel, path, print });
  const head = `Vertebra ${VERSION} at ${server.url} (the assembly in ${assembly}, ${whereOf(data)})`;
  return {
    greeting: [head, ...server.about, '', 'Ctrl-C stops it.'].join('\n'),
    close: () => server.close(DRAIN_MS),
  };
}

function refusalOf(error: unknown, { port, data }: Options, command: string): unknown {
  const { code, name } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') return new Refusal(`port ${port} is in use: try "${command} --port 0"`);
  if (code === 'EACCES') return new Refusal(`port ${port} may not be used: try "${command} --port 0"`);
  return name === 'DataInUse' ? inUse(data!) : error;
}

function greeting({ url, adminKey }: BackboneServer, data: string | null): string {
  const curl = adminKey && 'curl -H "Authorization: Bearer $VERTEBRA_API_KEY"';
  const key = adminKey
    ? ['', 'A key that may do everything, until the next start:', `  export VERTEBRA_API_KEY=${adminKey}`]
    : [];
  const steps = firstSteps(url, curl).map((step) => `  ${step}`);
  return [`Vertebra ${VERSION} at ${url} (${whereOf(data)})`, ...key, '', ...steps, '', 'Ctrl-C stops it.'].join('\n');
}

const whereOf = (data: string | null) => (data === null ? 'data in memory only' : `data in ${data}`);

/** The first signal stops, and so does the end of the shell that npm puts in between; a second signal ends at once. */
function onStopSignal(stop: () => Promise<void>): void {
  let stoppingSince: number | undefined;
  const onSignal = () => {
    if (stoppingSince !== undefined) {
      if (Date.now() - stoppingSince > SAME_SIGNAL_MS) process.exit(130);
      return;
    }
    stoppingSince = Date.now();
    setTimeout(() => process.exit(1), STOP_MS_MAX).unref();
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        process.exitCode = 1;
        throw error;
      },
    );
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  if (process.env.npm_lifecycle_event === undefined) return;
  // A SIGTERM for npm ends that shell, which passes nothing on: without this the backbone would run on, unseen.
  const watch = setInterval(() => {
    if (process.ppid === PARENT) return;
    clearInterval(watch);
    onSignal();
  }, ORPHAN_CHECK_MS).unref();
}
