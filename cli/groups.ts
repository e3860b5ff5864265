import type { Command } from 'commander';
import type { GroupDescription } from '../client/index.ts';
import { type Place, partitions, place } from './arguments.ts';
import type { Context, Runner } from './context.ts';
import { CommandFailure, EXIT } from './exit-codes.ts';
import { lagTable, membersTable } from './group-tables.ts';
import { watch } from './watch.ts';

const EXAMPLES = `
Examples:
  $ vertebra groups list
  $ vertebra groups describe billing --watch
  $ vertebra groups reset billing orders --to 2026-01-31T12:00:00Z
  $ vertebra groups reset billing orders --partitions 3 --to 1200
  $ vertebra groups delete billing`;

/** `vertebra groups …` */
export function groupsCommand(program: Command, run: Runner): void {
  const groups = program
    .command('groups')
    .summary('list, describe, reset and delete consumer groups')
    .description('Shows where consumer groups stand, sets them back or ahead, deletes them.')
    .helpCommand(false)
    .addHelpText('after', EXAMPLES);
  addList(groups, run);
  addDescribe(groups, run);
  addReset(groups, run);
  addDelete(groups, run);
}

function addList(groups: Command, run: Runner): void {
  const list = groups.command('list').description('Lists all groups.');
  run(list, async ({ vertebra, json, print }) => {
    const found = await vertebra.admin().listGroups();
    if (json) return print(JSON.stringify(found));
    for (const { group } of found) await print(group);
  });
}

/** Time between two looks unless it is said. */
const WATCH_S_DEFAULT = 2;

function addDescribe(groups: Command, run: Runner): void {
  const describe = groups
    .command('describe')
    .argument('<group>')
    .description("Shows a group's members, and its position and lag on each partition.")
    .option('--watch [seconds]', `show it again and again, until Ctrl-C (default every ${WATCH_S_DEFAULT} s)`);
  run<{ readonly watch?: string | true }>(describe, async (context, options, group) => {
    const admin = context.vertebra.admin();
    if (options.watch === undefined) return show(context, await admin.describeGroup(group!));
    const seconds = options.watch === true ? WATCH_S_DEFAULT : secondsOf(options.watch);
    await watch(context, seconds, async () => linesOf(context, await admin.describeGroup(group!)));
  });
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (seconds >= 0.1 && seconds <= 86_400) return seconds;
  throw new CommandFailure(`--watch must be a number of seconds, not '${text}'`, EXIT.usage);
}

async function show(context: Context, group: GroupDescription): Promise<void> {
  for (const line of linesOf(context, group)) await context.print(line);
}

function linesOf({ json }: Context, group: GroupDescription): string[] {
  return json ? [JSON.stringify(group)] : [...membersTable(group), '', ...lagTable(group.offsets)];
}

interface ResetOptions {
  readonly to: Place;
  readonly partitions?: readonly number[];
}

function addReset(groups: Command, run: Runner): void {
  const reset = groups
    .command('reset')
    .argument('<group>')
    .argument('<topic>')
    .description('Sets where a group goes on. It must have no live members: exit code 5.')
    .requiredOption(
      '--to <place>',
      'earliest, latest, an offset, a time, or how long ago, such as 15m',
      place(Date.now),
    )
    .option('--partitions <numbers>', 'these alone, such as 0,2,5 (default all)', partitions);
  run<ResetOptions>(reset, async ({ vertebra, json, print }, { to, partitions: some }, group, topic) => {
    const only = some && { partitions: some };
    const moved = await vertebra.admin().resetOffsets({ groupId: group!, topic: topic!, to, ...only });
    if (json) return print(JSON.stringify(moved));
    for (const { partition, offset } of moved) await print(`${topic}-${partition} goes on at ${offset}`);
  });
}

function addDelete(groups: Command, run: Runner): void {
  const remove = groups
    .command('delete')
    .argument('<group...>')
    .description('Deletes groups: what they have committed is forgotten.');
  run(remove, async ({ vertebra, json, tell }, _, ...given) => {
    for (const group of given.flat()) {
      await vertebra.admin().deleteGroups([group]);
      if (!json) tell(`Deleted ${group}.`);
    }
  });
}
