import type { Command } from 'commander';
import type { Admin, DeadLetter } from '../client/index.ts';
import { type Place, place, wholeNumber } from './arguments.ts';
import { CommandFailure, EXIT } from './exit-codes.ts';

/** Which dead letters a command is about. */
export interface Wanted {
  readonly topic?: string;
  readonly partition?: number;
  readonly key?: string;
  readonly since?: Place;
}

export function filtered(command: Command): Command {
  return command
    .option('--topic <name>', 'of this topic alone')
    .option('--partition <number>', 'of this partition alone', wholeNumber(0))
    .option('--key <text>', 'with this key alone')
    .option('--since <time>', 'since a time, or how long ago, such as 24h', place(Date.now));
}

/** Page by page. */
export async function* lettersOf(
  admin: Admin,
  groupId: string,
  { since, ...wanted }: Wanted,
): AsyncGenerator<DeadLetter> {
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
