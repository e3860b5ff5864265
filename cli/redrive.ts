import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { type Admin, ApiError, type RedriveCorrection } from '../client/index.ts';
import { REDRIVE_LETTERS_MAX, REDRIVES_BY_FILTER_MAX } from '../shared/domain/limits.ts';
import { wholeNumber } from './arguments.ts';
import type { Runner } from './context.ts';
import { CommandFailure, EXIT } from './exit-codes.ts';
import { filtered, lettersOf, type Wanted } from './letter-filter.ts';
import { openProgress } from './progress.ts';

interface Corrections {
  readonly value?: string;
  readonly valueFile?: string;
  readonly headersFile?: string;
  readonly original?: true;
}

interface Redriven extends Wanted, Corrections {
  readonly id?: readonly string[];
  readonly rate?: number;
  readonly dryRun?: true;
  readonly yes?: true;
}

/** `vertebra dlq redrive` */
export function addRedrive(letters: Command, run: Runner): void {
  const redrive = filtered(
    letters
      .command('redrive')
      .argument('<group>')
      .description('Gives dead letters back: to the subscription, or in the polls of the group.'),
  )
    .option('--id <id...>', 'these alone, however often they came back; others no more than three times')
    .option('--value <json>', 'of one that --id names: with this value')
    .option('--value-file <path>', 'the same, the JSON text of a file')
    .option('--headers-file <path>', 'of one that --id names: with these headers, a JSON object or list of pairs')
    .option('--original', 'those that --id names: as they were, whatever they were corrected to')
    .option('--rate <number>', 'so many in a second at most', wholeNumber(1))
    .option('--dry-run', 'only tell how many')
    .option('--yes', 'all of them, when nothing else narrows them down');
  run<Redriven>(redrive, async ({ vertebra, terminal, json, print, tell }, options, groupId) => {
    const { id, rate, dryRun = false, yes, value, valueFile, headersFile, original, ...wanted } = options;
    if (id === undefined && Object.keys(wanted).length === 0 && !yes && !dryRun) {
      throw new CommandFailure(
        'say which by --id, --topic, --partition, --key or --since, or all by --yes',
        EXIT.usage,
      );
    }
    const records = await correctionsOf(id, { ...defined({ value, valueFile, headersFile, original }) });
    const admin = vertebra.admin();
    const isStopped = dryRun ? async () => false : await stopWatch(admin, groupId!);
    const progress = await openProgress(terminal.stderr, undefined);
    let redriven = 0;
    try {
      for await (const ids of pagesOf(id ?? redrivable(admin, groupId!, wanted))) {
        if (redriven > 0 && (await isStopped())) throw stopped(redriven);
        // A page is spread out by the backbone; the next one begins where it ends.
        if (redriven > 0 && rate !== undefined && !dryRun) await sleep((REDRIVE_LETTERS_MAX * 1_000) / rate);
        const which = records === undefined ? { ids } : { records };
        const pace = rate === undefined ? {} : { ratePerSecond: rate };
        redriven += (await admin.redriveDeadLetters({ groupId: groupId!, ...which, dryRun, ...pace })).redriving;
        progress.update({ records: redriven, bytes: 0 });
      }
    } finally {
      progress.stop();
    }
    if (json) return print(JSON.stringify({ redriving: redriven, dryRun }));
    tell(`${dryRun ? 'Would deliver' : 'Delivering'} ${redriven} dead ${redriven === 1 ? 'letter' : 'letters'} again.`);
  });
}

/** @returns undefined when nothing is to be corrected */
async function correctionsOf(
  ids: readonly string[] | undefined,
  { value, valueFile, headersFile, original }: Corrections,
): Promise<RedriveCorrection[] | undefined> {
  const isCorrected = (value ?? valueFile ?? headersFile) !== undefined;
  if (!isCorrected && !original) return undefined;
  if (
    ids === undefined ||
    (isCorrected && (ids.length > 1 || original)) ||
    (value !== undefined && valueFile !== undefined)
  ) {
    const usage = 'give one --id with --value or --value-file, --headers-file, or some with --original';
    throw new CommandFailure(usage, EXIT.usage);
  }
  if (!isCorrected) return ids.map((id) => ({ id }));
  const text = value ?? (valueFile === undefined ? undefined : await readFile(valueFile, 'utf8'));
  const headers = headersFile === undefined ? undefined : parsed(await readFile(headersFile, 'utf8'), 'the headers');
  return [
    {
      id: ids[0]!,
      ...(text !== undefined && jsonValue(text)),
      ...(headers !== undefined && { headers: headers as NonNullable<RedriveCorrection['headers']> }),
    },
  ];
}

/** As it is written: parsed and written anew, numbers beyond 2^53 would be others. */
function jsonValue(text: string): Pick<RedriveCorrection, 'value' | 'valueEncoding'> {
  return parsed(text, 'the value') === null ? { value: null } : { value: text.trim(), valueEncoding: 'utf8' };
}

function parsed(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandFailure(`${what} must be JSON; a text has quotes`, EXIT.usage);
  }
}

/** Tells whether redrives were stopped since it was made, because too many failed in a row. */
async function stopWatch(admin: Admin, groupId: string): Promise<() => Promise<boolean>> {
  const before = await lastStop(admin, groupId);
  return async () => (await lastStop(admin, groupId)) > before;
}

/** Epoch ms on the backbone's clock; 0: never. */
async function lastStop(admin: Admin, groupId: string): Promise<number> {
  try {
    const { partitions } = await admin.describeSubscription(groupId);
    const stops = partitions.map(({ lastError }) => (lastError?.name === 'redrive_stopped' ? lastError.at : 0));
    return Math.max(0, ...stops);
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'subscription_not_found')) throw error;
    return (await admin.describeGroup(groupId)).redrives?.stoppedAt ?? 0;
  }
}

function stopped(redriven: number): CommandFailure {
  return new CommandFailure(
    `too many of ${redriven} dead letters failed again in a row: the others lie as before; see why, mend it, and redrive them`,
  );
}

function defined(options: { readonly [name in keyof Corrections]: Corrections[name] | undefined }): Corrections {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

async function* redrivable(admin: Admin, groupId: string, wanted: Wanted): AsyncGenerator<string> {
  for await (const { id, state, redrives } of lettersOf(admin, groupId, wanted)) {
    if (state === 'stored' && redrives < REDRIVES_BY_FILTER_MAX) yield id;
  }
}

async function* pagesOf(ids: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string[]> {
  let page: string[] = [];
  for await (const id of ids) {
    page.push(id);
    if (page.length < REDRIVE_LETTERS_MAX) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}
