import type { Command } from 'commander';
import type { Admin, ParkedKey } from '../client/index.ts';
import type { Runner } from './context.ts';
import { CommandFailure, EXIT } from './exit-codes.ts';
import { table } from './table.ts';

const EXAMPLES = `
Examples:
  $ vertebra parked list invoices
  $ vertebra parked resume invoices 01J00000000000000000000000.3.8f14e45fceea167a
  $ vertebra parked resume invoices --all
  $ vertebra parked dead-letter invoices 01J00000000000000000000000.3.8f14e45fceea167a`;

/** `vertebra parked …` */
export function parkedCommand(program: Command, run: Runner): void {
  const parked = program
    .command('parked')
    .summary('list, resume and give up keys that are parked')
    .description('Looks at keys of a subscription that wait behind a record of theirs that failed.')
    .helpCommand(false)
    .addHelpText('after', EXAMPLES);
  addList(parked, run);
  addActs(parked, run);
}

function addList(parked: Command, run: Runner): void {
  const list = parked.command('list').argument('<subscription>').description('Lists keys that are parked.');
  run(list, async ({ vertebra, json, print, tell }, _, name) => {
    const found: ParkedKey[] = [];
    for await (const key of parkedKeys(vertebra.admin(), name!)) {
      if (json) await print(JSON.stringify(key));
      else found.push(key);
    }
    if (json) return;
    if (found.length === 0) return tell('No key is parked.');
    const lines = table(found, [
      { title: 'ID', of: ({ id }) => id },
      { title: 'TOPIC', of: ({ topic }) => topic },
      { title: 'PARTITION', of: ({ partition }) => partition },
      { title: 'KEY', of: ({ key }) => key.slice(0, KEY_CHARS) },
      { title: 'OFFSET', of: ({ offset }) => offset },
      { title: 'WAITING', of: ({ waiting }) => waiting },
      { title: 'ATTEMPTS', of: ({ attempts }) => attempts },
      { title: 'SINCE', of: ({ parkedAt }) => new Date(parkedAt).toISOString() },
      {
        title: 'NEXT TRY',
        of: ({ nextRetryAt }) => (nextRetryAt === null ? 'now' : new Date(nextRetryAt).toISOString()),
      },
      { title: 'ERROR', of: ({ error }) => error && `${error.name}: ${error.message}`.slice(0, ERROR_CHARS) },
    ]);
    for (const line of lines) await print(line);
  });
}

function addActs(parked: Command, run: Runner): void {
  const resume = named(parked, 'resume', 'Tries what fails again at once, its attempts counted from the start.');
  run<{ readonly all?: true }>(resume, async ({ vertebra, json, print, tell }, { all }, name, ...given) => {
    const admin = vertebra.admin();
    const count = await actOn(given, all, async (ids) => {
      const { resuming, more } = await admin.resumeParkedKeys({ name: name!, ...ids });
      return { count: resuming, more };
    });
    if (json) return print(JSON.stringify({ resuming: count }));
    if (count === 0) return tell('No parked key waits for its next try.');
    tell(`Trying ${count} parked ${count === 1 ? 'key' : 'keys'} again.`);
    await tellIfStopped(admin, name!, tell);
  });
  const giveUp = named(parked, 'dead-letter', 'Makes dead letters of what fails: the keys go on with what is behind.');
  run<{ readonly all?: true }>(giveUp, async ({ vertebra, json, print, tell }, { all }, name, ...given) => {
    const admin = vertebra.admin();
    const count = await actOn(given, all, async (ids) => {
      const { deadLettering, more } = await admin.deadLetterParkedKeys({ name: name!, ...ids });
      return { count: deadLettering, more };
    });
    if (json) return print(JSON.stringify({ deadLettering: count }));
    if (count === 0) return tell('No parked key has a record that is known to fail, and is not given up already.');
    tell(
      `Giving up the failing ${count === 1 ? 'record' : 'records'} of ${count} parked ${count === 1 ? 'key' : 'keys'}.`,
    );
    await tellIfStopped(admin, name!, tell);
  });
}

/** What was said holds, and nothing happens. */
async function tellIfStopped(admin: Admin, name: string, tell: (line: string) => void): Promise<void> {
  const state = await admin.describeSubscription(name).then(
    ({ state }) => state,
    () => 'active', // what was asked for is done, whatever becomes of this
  );
  if (state !== 'active') tell(`Once it goes on: ${name} is ${state}. vertebra subscriptions resume ${name}`);
}

function named(parked: Command, name: string, description: string): Command {
  return parked
    .command(name)
    .argument('<subscription>')
    .argument('[id...]')
    .description(description)
    .option('--all', 'all that are parked');
}

/** @throws {CommandFailure} when neither some nor all are named */
async function actOn(
  given: readonly (string | readonly string[] | undefined)[],
  all: true | undefined,
  act: (which: { ids?: readonly string[] }) => Promise<{ readonly count: number; readonly more: boolean }>,
): Promise<number> {
  const ids = given.flat().filter((id) => id !== undefined);
  if ((ids.length === 0) === (all === undefined)) {
    const not = ids.length === 0 ? '' : ', not both';
    throw new CommandFailure(
      `say which by their ids, as "vertebra parked list" shows them, or all by --all${not}`,
      EXIT.usage,
    );
  }
  let count = 0;
  for (let rounds = 0; rounds < ROUNDS_MAX; rounds++) {
    const done = await act(ids.length === 0 ? {} : { ids });
    count += done.count;
    if (!done.more) return count;
  }
  throw new CommandFailure(`${count} keys are done, and there are others: say it again`);
}

/** Calls that one command makes: keys that fail again meanwhile would never come to an end. */
const ROUNDS_MAX = 20;

async function* parkedKeys(admin: Admin, name: string): AsyncGenerator<ParkedKey> {
  for (let nextToken: string | undefined; ; ) {
    const page = await admin.listParkedKeys({ name, ...(nextToken !== undefined && { nextToken }) });
    yield* page.parked;
    nextToken = page.nextToken;
    if (nextToken === undefined) return;
  }
}

/** What a table shows of a key, and of an error. */
const KEY_CHARS = 40;
const ERROR_CHARS = 80;
