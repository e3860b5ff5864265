import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { type Command, Option } from 'commander';
import { bytes } from '../client/index.ts';
import { unlessAborted } from '../client/surroundings.ts';
import { parseJsonPointer } from '../shared/wire/json-pointer.ts';
import { wholeNumber } from './arguments.ts';
import type { Context, Runner } from './context.ts';
import { Delivery } from './delivery.ts';
import { CommandFailure, EXIT, type ExitCode } from './exit-codes.ts';
import { csvRecords } from './input-csv.ts';
import { type InputEntry, type InputRecord, jsonRecords, textRecords } from './input-lines.ts';
import { report, type Stop } from './produce-report.ts';
import { NO_PROGRESS, openProgress, type ProgressTeller } from './progress.ts';
import { plain, type Terminal } from './terminal.ts';

const FORMATS = ['lines', 'ndjson', 'csv'] as const;
type Format = (typeof FORMATS)[number];

interface ProduceOptions {
  readonly file?: string;
  readonly format?: Format;
  readonly key?: string;
  readonly partition?: number;
  readonly skipInvalid?: boolean;
}

/** How long an interrupted command waits for what is on its way. */
const CLOSE_TIMEOUT_MS = 10_000;

const EXAMPLES = `
Formats: lines (each line is a value), ndjson (each line is a JSON value; null is a tombstone), csv (each row becomes
an object of strings, named by the first line). Without --format the file's name decides; then --key means ndjson.

Examples:
  $ echo 'hello' | vertebra produce greetings
  $ vertebra produce orders --file orders.ndjson --key /customer/id
  $ vertebra produce orders --format csv --key /id < orders.csv
  $ vertebra produce orders --file dirty.ndjson --skip-invalid`;

/** `vertebra produce <topic>` */
export function produceCommand(program: Command, run: Runner): void {
  const command = program
    .command('produce')
    .argument('<topic>')
    .summary('append records from a file or from standard input')
    .description('Appends records from a file or from standard input. It stops at the first line that is no record.')
    .option('--file <path>', 'read this instead of standard input')
    .addOption(new Option('--format <name>', 'how the input is written').choices(FORMATS))
    .option('--key <pointer>', 'JSON pointer to the key within each value, such as /customer/id')
    .option('--partition <number>', 'append to this partition alone', wholeNumber(0))
    .option('--skip-invalid', 'pass over lines that are no records')
    .addHelpText('after', EXAMPLES);
  run<ProduceOptions>(command, (context, options, topic) => produce(context, options, topic!), 'itself');
}

async function produce(context: Context, options: ProduceOptions, topic: string): Promise<ExitCode> {
  const { terminal, vertebra, signal } = context;
  const readEntries = readerOf(options);
  await checkPlace(context, topic, options.partition); // before anything is read
  const { input, totalBytes } = await openInput(options.file, terminal);
  input.on('error', () => {}); // told by whoever reads it, who may come later
  const producer = vertebra.producer({ codec: bytes() });
  const placed = options.partition !== undefined && { partition: options.partition };
  const delivery = new Delivery(
    (records) => producer.send({ topic, messages: records.map(({ key, value }) => ({ key, value, ...placed })) }),
    () => void input.destroy(), // whoever fills it may do so for ever
  );
  const startedAt = performance.now();
  // Whoever types the input needs no bar in between.
  const isTyped = options.file === undefined && terminal.stdin.isTTY === true;
  const progress = isTyped ? NO_PROGRESS : await openProgress(terminal.stderr, totalBytes);
  const end = () => {
    input.destroy();
    void producer.close({ timeoutMs: CLOSE_TIMEOUT_MS });
  };
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  let stop: Stop;
  try {
    stop = await pump(input, readEntries, delivery, options.skipInvalid ?? false, context, progress);
    await delivery.end();
  } finally {
    progress.stop();
    signal.removeEventListener('abort', end);
    input.destroy();
    await producer.close();
  }
  return report(context, delivery, stop, performance.now() - startedAt);
}

/** @throws what keeps anything from being appended there */
async function checkPlace({ vertebra, signal }: Context, topic: string, partition: number | undefined): Promise<void> {
  const { partitions } = await unlessAborted(vertebra.admin().describeTopic(topic), signal);
  if (partition === undefined || partition < partitions) return;
  throw new CommandFailure(`topic ${topic} has no partition ${partition}, it has ${partitions}`, EXIT.notFound);
}

/** Hands records on until the input ends, or one of it or its delivery fails. */
async function pump(
  input: Readable,
  readEntries: (input: AsyncIterable<Uint8Array>) => AsyncIterable<InputEntry[]>,
  delivery: Delivery,
  skip: boolean,
  { tell, signal }: Context,
  progress: ProgressTeller,
): Promise<Stop> {
  let bytesRead = 0;
  let skipped = 0;
  const counted = async function* () {
    for await (const chunk of input as AsyncIterable<Buffer>) {
      bytesRead += chunk.length;
      yield chunk;
    }
  };
  try {
    for await (const entries of readEntries(counted())) {
      if (signal.aborted) break;
      const records: InputRecord[] = [];
      for (const entry of entries) {
        if (!('fault' in entry)) records.push(entry);
        else if (skip && !entry.final) {
          skipped++;
          tell(`line ${entry.line} skipped: ${plain(entry.fault)}`);
        } else {
          await delivery.add(records);
          return { skipped, bad: entry };
        }
      }
      await delivery.add(records);
      progress.update({ records: delivery.counts.delivered, bytes: bytesRead });
      if (delivery.failure !== undefined) break;
    }
  } catch (error) {
    if (input.errored) return { skipped, unreadable: input.errored };
    if (!input.destroyed) throw error; // else it is the input that was cut
  }
  return { skipped };
}

function readerOf({ file, format, key }: ProduceOptions) {
  const chosen = format ?? formatOf(file, key);
  if (chosen === 'lines') {
    if (key !== undefined) throw new CommandFailure('--key needs --format ndjson or csv', EXIT.usage);
    return textRecords;
  }
  const keyPath = key === undefined ? undefined : pathOf(key);
  if (chosen === 'csv') return (input: AsyncIterable<Uint8Array>) => csvRecords(input, keyPath);
  return (input: AsyncIterable<Uint8Array>) => jsonRecords(input, keyPath);
}

function formatOf(file: string | undefined, key: string | undefined): Format {
  if (file !== undefined && /\.(?:ndjson|jsonl)$/i.test(file)) return 'ndjson';
  if (file !== undefined && /\.csv$/i.test(file)) return 'csv';
  return key === undefined ? 'lines' : 'ndjson';
}

function pathOf(pointer: string): string[] {
  try {
    return parseJsonPointer(pointer, '--key');
  } catch (error) {
    throw new CommandFailure((error as Error).message, EXIT.usage);
  }
}

async function openInput(file: string | undefined, { stdin, stdinBytes }: Terminal) {
  if (file === undefined) return { input: stdin, totalBytes: stdinBytes };
  try {
    const facts = await stat(file);
    if (facts.isDirectory()) throw new CommandFailure(`${file} is a folder`, EXIT.usage);
    return { input: createReadStream(file), totalBytes: facts.isFile() ? facts.size : undefined };
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(`${file} cannot be read: ${(error as Error).message}`, EXIT.usage);
  }
}
