import { type Command, Option } from 'commander';
import { type Place, place, wholeNumber } from './arguments.ts';
import { FORMATS, type Format, formatOf } from './consume-formats.ts';
import { consumeInGroup } from './consume-group.ts';
import { consumePartitions } from './consume-partitions.ts';
import type { Context, Runner } from './context.ts';
import { CommandFailure, EXIT, type ExitCode } from './exit-codes.ts';
import { RecordSink } from './record-sink.ts';

interface ConsumeOptions {
  readonly from?: Place;
  readonly follow?: boolean;
  readonly group?: string;
  readonly partition?: number;
  readonly format?: Format;
  readonly template?: string;
  readonly max?: number;
}

const EXAMPLES = `
Formats: json (a line each, as the API has it; the default), value (its bytes and a line break), table, and template,
with {topic} {partition} {offset} {timestamp} {time} {key} {value} {headers}, {value/a/b} and {header.name}, \\n and \\t.

Without --group it reads all partitions and changes nothing. With --group it is a member of that group: what it has
written is committed, also when it is interrupted. Without --follow it ends where the log ended when it began.

Examples:
  $ vertebra consume orders
  $ vertebra consume orders --from 15m --follow --format table
  $ vertebra consume orders --partition 3 --from 1200 --max 1
  $ vertebra consume orders --format template --template '{key}\\t{value/total}\\n'
  $ vertebra consume orders --group billing --follow`;

/** `vertebra consume <topic>` */
export function consumeCommand(program: Command, run: Runner): void {
  const command = program
    .command('consume')
    .argument('<topic>')
    .summary('write records to standard output')
    .description('Writes records to standard output.')
    .option('--from <place>', 'earliest (default), latest, an offset, a time, or how long ago', place(Date.now))
    .option('--follow', 'go on with what is appended from now on, until Ctrl-C')
    .option('--group <name>', 'as a member of this group; --from is then where it begins if it never did')
    .option('--partition <number>', 'this partition alone', wholeNumber(0))
    .addOption(new Option('--format <name>', 'how records are written (default json)').choices(FORMATS))
    .option('--template <text>', 'how each record is written; means --format template')
    .option('--max <number>', 'end after so many records', wholeNumber(1))
    .addHelpText('after', EXAMPLES);
  run<ConsumeOptions>(command, (context, options, topic) => consume(context, options, topic!), 'itself');
}

async function consume(context: Context, options: ConsumeOptions, topic: string): Promise<ExitCode> {
  const { group, follow = false, partition, max, template } = options;
  const format = options.format ?? (template === undefined ? 'json' : 'template');
  if (template !== undefined && format !== 'template') throw wrong('--template needs --format template');
  const { stdout } = context.terminal;
  const sink = new RecordSink(stdout, formatOf(format, template, stdout), max, context.signal);
  if (group === undefined) {
    await consumePartitions(context, { topic, partition, from: options.from ?? 'earliest', follow }, sink);
    return EXIT.done;
  }
  const { from = 'earliest' } = options;
  if (partition !== undefined)
    throw wrong('--partition and --group exclude each other: the group shares partitions out');
  if (typeof from === 'object') {
    throw wrong('with --group, --from is earliest or latest; "vertebra groups reset" sets a group to a time or offset');
  }
  await consumeInGroup(context, { topic, group, from, follow }, sink);
  return EXIT.done;
}

const wrong = (what: string) => new CommandFailure(what, EXIT.usage);
