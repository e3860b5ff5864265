import { fstatSync } from 'node:fs';
import { EXIT } from './exit-codes.ts';
import { run } from './main.ts';
import { flushed, Interruption } from './terminal.ts';

/** npx passes on the Ctrl-C that the terminal has sent already: what comes so soon is the same key press. */
const SAME_SIGNAL_MS = 500;

const { stdin, stdout, stderr, env } = process;
const interruption = new AbortController();
let interruptedAt: number | undefined;

/** The first signal lets the command end well; a second one ends it at once. */
const onSignal = (signal: NodeJS.Signals) => {
  const exitCode = signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated;
  if (interruptedAt === undefined) {
    interruptedAt = performance.now();
    interruption.abort(new Interruption(exitCode));
  } else if (performance.now() - interruptedAt > SAME_SIGNAL_MS) process.exit(exitCode);
};
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
for (const signal of SIGNALS) process.on(signal, onSignal);
const gone = new Set<NodeJS.WriteStream>();
for (const output of [stdout, stderr]) {
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    // Whoever read has enough (`… | head`): that is no failure, and there is nobody to tell.
    gone.add(output);
    interruption.abort(new Interruption(EXIT.done));
  });
}

const exitCode = await run(process.argv.slice(2), {
  stdin,
  stdinBytes: bytesOf(stdin.fd),
  stdout,
  stderr,
  env,
  interrupted: interruption.signal,
  leaveSignals: () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  },
});
// What `up` started runs on. Of all others nothing is left to be waited for but the last of their output.
if (exitCode !== 'running') {
  await Promise.all([stdout, stderr].map((output) => (gone.has(output) ? undefined : flushed(output))));
  process.exit(exitCode);
}

function bytesOf(descriptor: number): number | undefined {
  try {
    const stat = fstatSync(descriptor);
    return stat.isFile() ? stat.size : undefined;
  } catch {
    return undefined; // there is no standard input
  }
}
