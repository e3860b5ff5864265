import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Admin, DeadLetter } from '../client/index.ts';
import { REDRIVE_LETTERS_MAX, REDRIVES_BY_FILTER_MAX } from '../shared/domain/limits.ts';
import { type Place, place, wholeNumber } from './arguments.ts';
import type { Runner } from './context.ts';
import { CommandFailure, EXIT } from './exit-codes.ts';
import { openProgress } from './progress.ts';
import { table } from './table.ts';

const EXAMPLES = `
Examples:
  $ vertebra dlq list invoices --since 24h
  $ vertebra dlq show invoices 01J00000000000000000000000.3.41
  $ vertebra dlq redrive invoices --since 24h --rate 10 --dry-run
  $ vertebra dlq purge invoices --topic orders --partition 3`;

interface Wanted {
  readonly topic?: string;
  readonly partition?: number;
  readonly key?: string;
  readonly since?: Place;
}

/** `vertebra dlq …` */
export function deadLettersCommand(program: Command, run: Runner): void {
  const letters = program
    .command('dlq')
    .summary('list, show, redrive and purge dead letters')
    .description('Looks at records that a group or a subscription could not handle.')
    .helpCommand(false)
    .addHelpText('after', EXAMPLES);
  addList(letters, run);
  addShow(letters, run);
  addRedrive(letters, run);
  addPurge(letters, run);
}

function addList(letters: Command, run: Runner): void {
  const list = filtered(letters.command('list').argument('<group>').description('Lists dead letters.'));
  run<Wanted>(list, async ({ vertebra, json, print }, wanted, group) => {
    const found: DeadLetter[] = [];
    for await (const letter of lettersOf(vertebra.admin(), group!, wanted)) {
      if (json) await print(JSON.stringify(letter));
      else found.push(letter);
    }
    if (json || found.length === 0) return;
    const lines = table(found, [
      { title: 'ID', of: ({ id }) => id },
      { title: 'TOPIC', of: ({ topic }) => topic },
      { title: 'KEY', of: ({ key }) => (key === null || key === undefined ? null : String(key)) },
      { title: 'ATTEMPTS', of: ({ attempts }) => attempts },
      { title: 'WHEN', of: ({ deadLetteredAt }) => new Date(deadLetteredAt).toISOString() },
      { title: 'ERROR', of: ({ error }) => `${error.name}: ${error.message}`.slice(0, ERROR_CHARS) },
    ]);
    for (const line of lines) await print(line);
  });
}

function addShow(letters: Command, run: Runner): void {
  const show = letters
    .command('show')
    .argument('<group>')
    .argument('<id>')
    .description('Writes one dead letter with its record, as JSON.');
  run(show, async ({ vertebra, json, print }, _, group, id) => {
    const partition = Number(id!.split('.')[1]);
    const wanted = Number.isInteger(partition) ? { partition } : {};
    for await (const letter of lettersOf(vertebra.admin(), group!, wanted)) {
      if (letter.id === id) return print(json ? JSON.stringify(letter) : JSON.stringify(letter, null, 2));
    }
    throw new CommandFailure(`${group} has no dead letter ${id}`, EXIT.notFound);
  });
}

interface Redriven extends Wanted {
  readonly id?: readonly string[];
  readonly rate?: number;
  readonly dryRun?: true;
  readonly yes?: true;
}

function addRedrive(letters: Command, run: Runner): void {
  const redrive = filtered(
    letters.command('redrive').argument('<subscription>').description('Delivers dead letters again.'),
  )
    .option('--id <id...>', 'these alone, however often they came back; others no more than three times')
    .option('--rate <number>', 'so many in a second at most', wholeNumber(1))
    .option('--dry-run', 'only tell how many')
    .option('--yes', 'all of them, when nothing else narrows them down');
  run<Redriven>(redrive, async ({ vertebra, terminal, json, print, tell }, options, groupId) => {
    const { id, rate, dryRun = false, yes, ...wanted } = options;
    if (id === undefined && Object.keys(wanted).length === 0 && !yes && !dryRun) {
      throw new CommandFailure(
        'say which by --id, --topic, --partition, --key or --since, or all by --yes',
        EXIT.usage,
      );
    }
    const admin = vertebra.admin();
    const progress = await openProgress(terminal.stderr, undefined);
    let redriven = 0;
    try {
      for await (const ids of pagesOf(id ?? redrivable(admin, groupId!, wanted))) {
        // A page is spread out by the backbone; the next one begins where it ends.
        if (redriven > 0 && rate !== undefined && !dryRun) await sleep((REDRIVE_LETTERS_MAX * 1_000) / rate);
        const pace = rate === undefined ? {} : { ratePerSecond: rate };
        redriven += (await admin.redriveDeadLetters({ groupId: groupId!, ids, dryRun, ...pace })).redriving;
        progress.update({ records: redriven, bytes: 0 });
      }
    } finally {
      progress.stop();
    }
    if (json) return print(JSON.stringify({ redriving: redriven, dryRun }));
    tell(dryRun ? `Would deliver ${redriven} dead letters again.` : `Delivering ${redriven} dead letters again.`);
  });
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

function addPurge(letters: Command, run: Runner): void {
  const purge = filtered(
    letters.command('purge').argument('<group>').description('Deletes dead letters, for good.'),
  ).option('--yes', 'all of them, when nothing else narrows them down');
  run<Wanted & { readonly yes?: true }>(purge, async ({ vertebra, terminal, json, print, tell }, options, group) => {
    const { yes, ...wanted } = options;
    if (Object.keys(wanted).length === 0 && !yes) {
      throw new CommandFailure('say which by --topic, --partition, --key or --since, or all by --yes', EXIT.usage);
    }
    const admin = vertebra.admin();
    const progress = await openProgress(terminal.stderr, undefined);
    let purged = 0;
    try {
      for await (const { id } of lettersOf(admin, group!, wanted)) {
        await admin.deleteDeadLetter({ groupId: group!, id });
        progress.update({ records: ++purged, bytes: 0 });
      }
    } finally {
      progress.stop();
    }
    if (json) return print(JSON.stringify({ purged }));
    tell(`Deleted ${purged} dead letters.`);
  });
}

/** What a table shows of an error. */
const ERROR_CHARS = 80;

function filtered(command: Command): Command {
  return command
    .option('--topic <name>', 'of this topic alone')
    .option('--partition <number>', 'of this partition alone', wholeNumber(0))
    .option('--key <text>', 'with this key alone')
    .option('--since <time>', 'since a time, or how long ago, such as 24h', place(Date.now));
}

async function* lettersOf(admin: Admin, groupId: string, { since, ...wanted }: Wanted): AsyncGenerator<DeadLetter> {
  if (since !== undefined && !(typeof since === 'object' && 'at' in since)) {
    throw new CommandFailure('--since must be a time, or how long ago, such as 24h', EXIT.usage);
  }
  let nextToken: string | undefined;
  do {
    const page = await admin.listDeadLetters({
      ...{ groupId, ...wanted },
      ...(since && { since: since.at }),
      ...(nextToken !== undefined && { nextToken }),
    });
    yield* page.deadLetters;
    ({ nextToken } = page);
  } while (nextToken !== undefined);
}
