import type { Command } from 'commander';
import type { DoctorOptions, DoctorPlace } from '../functions/doctor.ts';
import { DOCTOR_LOOKS_DEFAULT } from '../shared/domain/doctor-limits.ts';
import { wholeNumber } from './arguments.ts';
import type { Context, Runner } from './context.ts';
import { type DoctorReport, exitCodeOf, reportJson, reportLines } from './doctor-report.ts';
import { CommandFailure, EXIT } from './exit-codes.ts';
import { thousands } from './table.ts';

const EXAMPLES = `
Examples:
  $ vertebra doctor --stack Vertebra
  $ vertebra doctor --stack Orders --backbone Events --profile prod --json
  $ vertebra doctor --log-table restored-log --state-table restored-state --bucket payloads --repair
  $ vertebra doctor --data                 the backbone of this folder, while it is not running

Exit codes: 0 healthy, 1 something was found, 2 it could not look at everything.`;

interface Options {
  readonly stack?: string;
  readonly backbone?: string;
  readonly data?: string | true;
  readonly logTable?: string;
  readonly stateTable?: string;
  readonly bucket?: string;
  readonly wakeQueue?: string;
  readonly deadLetterQueue?: string;
  readonly region?: string;
  readonly deep?: boolean;
  readonly repair?: boolean;
  readonly yes?: boolean;
  readonly limit?: number;
}

/** `vertebra doctor` */
export function doctorCommand(program: Command, run: Runner): void {
  const doctor = program
    .command('doctor')
    .summary('look for what is wrong with a backbone, and repair it after a restore')
    .description(
      'Compares how a backbone is set up with how it must be, and what it has stored with itself. It asks AWS with your own credentials, ' +
        'not the API, and changes nothing unless it is told --repair --yes.',
    )
    .option('--stack <name>', 'the CloudFormation stack that holds it')
    .option('--backbone <id>', 'which one, where the stack holds several')
    .option('--data [folder]', 'instead: the data folder of "vertebra up" (default ./.vertebra)')
    .option('--log-table <name>', 'instead: its tables and its bucket, as after a restore')
    .option('--state-table <name>')
    .option('--bucket <name>')
    .option('--wake-queue <url>', 'with tables: its wake queue too')
    .option('--dead-letter-queue <url>', 'with tables: its dead letter queue too')
    .option('--region <name>', 'AWS region (environment: AWS_REGION)')
    .option('--deep', 'also read all claims, list the bucket, and go through the keys of all logs')
    .option('--repair', 'after a restore: show which heads would be moved, and claims beyond their logs')
    .option('--yes', 'with --repair: move them')
    .option(
      '--limit <number>',
      `items, objects and keys that one deep look goes through at most (default ${thousands(DOCTOR_LOOKS_DEFAULT)})`,
      wholeNumber(1),
    )
    .addHelpText('after', EXAMPLES);
  run<Options>(doctor, async (context, options) => {
    const look = await lookBy(options, context);
    const { deep = false, repair = false, yes = false, limit: looksMax = DOCTOR_LOOKS_DEFAULT } = options;
    if (yes && !repair) throw new CommandFailure('--yes goes with --repair', EXIT.usage);
    const report = await look({ deep, repair: repair && yes, claims: repair, looksMax, onProgress: progress(context) });
    if (context.json) await context.print(reportJson(report));
    else for (const line of reportLines(report, { repair, yes })) await context.print(line);
    return exitCodeOf(report);
  });
}

type Look = (options: DoctorOptions) => Promise<DoctorReport>;

/** What does the looking, once it is loaded. What keeps it from looking at all ends with its own exit code. */
async function lookBy(options: Options, { profile }: Context): Promise<Look> {
  const place = placeOf(options);
  const unlessUnable =
    (look: Look): Look =>
    async (given) => {
      try {
        return await look(given);
      } catch (error) {
        const { name, message, stack = message } = error as Error;
        // Whatever kept it from looking, it has found nothing: that must not end as findings do.
        throw new CommandFailure(TOLD.test(name) ? message : stack, EXIT.usage);
      }
    };
  if (typeof place === 'string') {
    const { examineDataFolder } = await import('../local/doctor.ts');
    return unlessUnable((given) => examineDataFolder(place, given));
  }
  const { examineAws } = await import('../functions/doctor.ts');
  const account = { profile, region: options.region };
  return unlessUnable((given) => examineAws(place, account, given));
}

/** What says in a sentence why there is nothing to look at: the folder is in use, the stack is not there, no credentials. */
const TOLD = /^(?:CannotLook|Refusal|CredentialsProviderError|DataInUse)$/;

/** @returns the name of a data folder, or a place in AWS */
function placeOf(options: Options): string | DoctorPlace {
  const { stack, backbone, data, logTable, stateTable, bucket, wakeQueue, deadLetterQueue } = options;
  const tables = [logTable, stateTable, bucket];
  const isNamed = tables.some((name) => name !== undefined);
  if ([stack !== undefined, data !== undefined, isNamed].filter(Boolean).length !== 1) {
    throw new CommandFailure('say where to look: by --stack, by --data, or by the tables and the bucket', EXIT.usage);
  }
  if (data !== undefined) return data === true ? '.vertebra' : data;
  if (stack !== undefined) return { stack, backbone };
  if (logTable === undefined || stateTable === undefined || bucket === undefined) {
    throw new CommandFailure('--log-table, --state-table and --bucket go together', EXIT.usage);
  }
  return {
    ...{ logTable, stateTable, bucket },
    ...(wakeQueue !== undefined && { wakeQueueUrl: wakeQueue }),
    ...(deadLetterQueue !== undefined && { deadLetterQueueUrl: deadLetterQueue }),
  };
}

/** Where much is looked at, a line comes after this time. */
const TELL_EVERY_MS = 5_000;

function progress({ tell }: Context): DoctorOptions['onProgress'] {
  let toldAt = performance.now();
  return (what, count) => {
    if (performance.now() - toldAt < TELL_EVERY_MS) return;
    toldAt = performance.now();
    tell(`Looked at ${thousands(count)} ${what} so far.`);
  };
}
