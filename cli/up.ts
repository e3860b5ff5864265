import type { Command } from 'commander';
import type { WrittenOptions } from '../local/options.ts';
import type { Runner } from './context.ts';
import { CommandFailure, EXIT } from './exit-codes.ts';

const EXAMPLES = `
Examples:
  $ vertebra up
  $ vertebra up --port 0 --memory        any free port, nothing on disk
  $ vertebra up --data /tmp/backbone --reset`;

/** `vertebra up`: what `npm start` runs in a clone. */
export function upCommand(program: Command, run: Runner): void {
  const command = program
    .command('up')
    .summary('run a backbone on this machine')
    .description('Runs the whole backbone in this process, on http://127.0.0.1, until Ctrl-C.')
    .option('--port <number>', 'port to listen on; 0 takes any free one (default 4100)')
    .option('--data <folder>', 'where the data is kept (default ./.vertebra)')
    .option('--memory', 'keep nothing on disk')
    .option('--reset', 'delete the data in the folder first')
    .option('--assembly <folder>', 'run what "cdk synth" wrote there, as it would be deployed')
    .option('--auth <how>', 'apiKey: callers need API keys, and a first one is printed (default none)')
    .option('--log-level <level>', 'which log lines of the functions to show (default error)')
    .addHelpText('after', EXAMPLES);
  run<WrittenOptions>(command, async ({ terminal }, options) => {
    // The embedded AWS needs no credentials: no look for those of an instance.
    process.env.AWS_EC2_METADATA_DISABLED = 'true';
    const [{ checkOptions }, { start }, { Refusal }] = await Promise.all([
      import('../local/options.ts'),
      import('../local/main.ts'),
      import('../local/refusal.ts'),
    ]);
    try {
      const checked = checkOptions(options);
      terminal.leaveSignals();
      await start(checked, 'vertebra up');
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw new CommandFailure(error.message, error.exitCode === 2 ? EXIT.usage : EXIT.failed);
    }
    return 'running';
  });
}
