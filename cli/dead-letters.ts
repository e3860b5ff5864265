import type { Command } from 'commander';
import type { DeadLetter } from '../client/index.ts';
import type { Runner } from './context.ts';
import { CommandFailure, EXIT } from './exit-codes.ts';
import { filtered, lettersOf, type Wanted } from './letter-filter.ts';
import { openProgress } from './progress.ts';
import { addRedrive } from './redrive.ts';
import { table } from './table.ts';

const EXAMPLES = `
Examples:
  $ vertebra dlq list invoices --since 24h
  $ vertebra dlq show invoices 01J00000000000000000000000.3.41
  $ vertebra dlq redrive invoices --since 24h --rate 10 --dry-run
  $ vertebra dlq redrive invoices --id 01J00000000000000000000000.3.41 --value '{"total":12.5}'
  $ vertebra dlq purge invoices --topic orders --partition 3`;

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
    const letter = await vertebra.admin().getDeadLetter({ groupId: group!, id: id! });
    await print(json ? JSON.stringify(letter) : JSON.stringify(letter, null, 2));
  });
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
