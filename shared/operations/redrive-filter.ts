import type { Clock } from '../domain/clock.ts';
import { type DeadLetter, type DeadLetterState, stateOf } from '../domain/dead-letter.ts';
import type { GroupId } from '../domain/group.ts';
import { REDRIVE_LETTERS_MAX, REDRIVES_BY_FILTER_MAX } from '../domain/limits.ts';
import type { Page } from '../domain/topic.ts';
import { type LetterObjects, originalOf } from './letter-payload.ts';

/** As a list of dead letters takes it. */
export interface RedriveFilter {
  readonly topic?: string;
  readonly partition?: number;
  /** The record's key, as text. */
  readonly key?: string;
  /** Epoch ms: those dead-lettered then or later. */
  readonly since?: number;
  readonly state?: DeadLetterState;
}

interface Ports {
  readonly deadLetters: {
    list(group: GroupId, query: { readonly limit?: number; readonly after?: string }): Promise<Page<DeadLetter>>;
  };
  readonly deadLetterObjects: Pick<LetterObjects, 'get'>;
  readonly clock: Clock;
}

interface Search {
  accepts(letter: DeadLetter): boolean;
  readonly codec: { keyOf(payload: Uint8Array): Uint8Array | null | undefined };
  /** Epoch ms at which no more are looked for. */
  readonly stopAt: number;
}

/**
 * Finds the dead letters that a filter may give back, at most `REDRIVE_LETTERS_MAX`: none that is on its way, or came back
 * `REDRIVES_BY_FILTER_MAX` times. @throws {Throttled | Unavailable}
 */
export async function findLetters(
  ports: Ports,
  group: GroupId,
  filter: RedriveFilter,
  { accepts, codec, stopAt }: Search,
): Promise<{ readonly letters: DeadLetter[]; readonly more: boolean }> {
  const letters: DeadLetter[] = [];
  const key = filter.key === undefined ? undefined : Buffer.from(filter.key);
  for (let after: string | undefined; ; ) {
    const page = await ports.deadLetters.list(group, { ...(after !== undefined && { after }) });
    for (const letter of page.items) {
      if (!accepts(letter) || !isWanted(letter, filter)) continue;
      if (key !== undefined && !(await hasKey(ports, group, letter, key, codec))) continue;
      if (letters.length === REDRIVE_LETTERS_MAX) return { letters, more: true };
      letters.push(letter);
    }
    after = page.next;
    if (after === undefined) return { letters, more: false };
    if (ports.clock.now() >= stopAt) return { letters, more: true };
  }
}

async function hasKey(ports: Ports, group: GroupId, letter: DeadLetter, key: Buffer, codec: Search['codec']) {
  const original = await originalOf(ports.deadLetterObjects, group, letter);
  const met = original && codec.keyOf(original);
  return met !== undefined && met !== null && key.equals(met);
}

function isWanted(letter: DeadLetter, { topic, partition, since = 0, state = 'stored' }: RedriveFilter): boolean {
  return (
    state === 'stored' &&
    stateOf(letter) === 'stored' &&
    letter.redrives < REDRIVES_BY_FILTER_MAX &&
    (topic ?? letter.topic) === letter.topic &&
    (partition ?? letter.partition) === letter.partition &&
    letter.deadLetteredAt >= since
  );
}
