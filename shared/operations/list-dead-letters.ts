import {
  type DeadLetter,
  type DeadLetterId,
  type DeadLetterState,
  parseDeadLetterId,
  stateOf,
} from '../domain/dead-letter.ts';
import type { GroupId } from '../domain/group.ts';
import { DeadLetterNotFound, GroupNotFound } from '../domain/group-errors.ts';
import type { Page } from '../domain/topic.ts';
import type { GroupStores } from './group-ports.ts';
import { type LetterObjects, originalOf, redrivenOf, removeObjects } from './letter-payload.ts';
import type { LinkPorts } from './link-uploads.ts';
import { storeFailed } from './store-failed.ts';

export interface DeadLetterListPorts extends LinkPorts {
  readonly groups: Pick<GroupStores['groups'], 'read'>;
  readonly deadLetters: {
    list(group: GroupId, query: { readonly limit: number; readonly after?: string }): Promise<Page<DeadLetter>>;
    /** Where a list goes on behind this one. */
    placeOf(id: DeadLetterId): string;
  };
  readonly deadLetterObjects: Pick<LetterObjects, 'get'>;
}

export interface DeadLetterQuery {
  readonly group: string;
  readonly topic?: string;
  readonly partition?: number;
  /** Epoch ms: those dead-lettered then or later. */
  readonly since?: number;
  readonly state?: DeadLetterState;
  readonly limit: number;
  /** As the page before told it. */
  readonly after?: string;
}

/** Where dead letters go. */
export interface DeadLetterSink {
  /**
   * @param payload undefined: its object is gone
   * @param corrected what it was corrected to: null: it was not
   * @param link makes the URL of a payload that was uploaded
   * @returns `taken`; `passed`: it is not one that is wanted; `full`: there is no room for it
   */
  take(
    letter: DeadLetter,
    payload: Uint8Array | undefined,
    corrected: Uint8Array | null,
    link: (uploadId: string) => Promise<string>,
  ): Promise<'taken' | 'passed' | 'full'>;
}

/** Letters that one call looks at, at most, times a page: where few are wanted of many, a page may hold none. */
const PAGES_MAX = 8;

/**
 * A group's dead letters, oldest offset first within each partition. A page ends early when its answer is full, or when
 * enough was looked at.
 *
 * @returns where the next page goes on; undefined: this was the last
 * @throws {GroupNotFound | Throttled | Unavailable}
 */
export async function listDeadLetters(
  ports: DeadLetterListPorts,
  query: DeadLetterQuery,
  sink: DeadLetterSink,
): Promise<string | undefined> {
  const group = await ports.groups.read(query.group, true);
  if (group === undefined) throw new GroupNotFound(query.group);
  let { after } = query;
  let left = query.limit;
  for (let pages = 0; pages < PAGES_MAX && left > 0; pages++) {
    const page = await ports.deadLetters.list(group, { limit: left, ...(after !== undefined && { after }) });
    for (const letter of page.items) {
      if (isWanted(letter, query)) {
        const outcome = await show(ports, group, letter, sink);
        if (outcome === 'full') return after;
        if (outcome === 'taken') left--;
      }
      after = ports.deadLetters.placeOf(letter);
    }
    if (page.next === undefined) return undefined;
    after = page.next;
  }
  return after;
}

async function show(
  ports: Omit<DeadLetterListPorts, 'deadLetters'>,
  group: GroupId,
  letter: DeadLetter,
  sink: DeadLetterSink,
) {
  const { topicId, correction } = letter;
  const original = await originalOf(ports.deadLetterObjects, group, letter);
  const corrected = correction === undefined ? null : await redrivenOf(ports.deadLetterObjects, group, letter);
  const link = (uploadId: string) => ports.uploadUrls.get({ topicId, uploadId }, ports.clock.now());
  return sink.take(letter, original, corrected ?? null, link);
}

/** Shows one dead letter. @throws {GroupNotFound | DeadLetterNotFound | Throttled | Unavailable} */
export async function showDeadLetter(
  ports: Omit<DeadLetterListPorts, 'deadLetters'> & Pick<DeadLetterRemovalPorts, 'deadLetters'>,
  name: string,
  text: string,
  sink: DeadLetterSink,
): Promise<void> {
  const group = await ports.groups.read(name, true);
  if (group === undefined) throw new GroupNotFound(name);
  const id = parseDeadLetterId(text);
  const letter = id && (await ports.deadLetters.read(group, id));
  if (letter === undefined) throw new DeadLetterNotFound(name, text);
  await show(ports, group, letter, sink);
}

function isWanted(letter: DeadLetter, query: DeadLetterQuery): boolean {
  const { topic, partition, deadLetteredAt } = letter;
  return (
    (query.state ?? stateOf(letter)) === stateOf(letter) &&
    (query.topic ?? topic) === topic &&
    (query.partition ?? partition) === partition &&
    deadLetteredAt >= (query.since ?? 0)
  );
}

export interface DeadLetterRemovalPorts {
  readonly groups: Pick<GroupStores['groups'], 'read'>;
  readonly deadLetters: {
    read(group: GroupId, id: DeadLetterId): Promise<DeadLetter | undefined>;
    delete(group: GroupId, letter: DeadLetter): Promise<boolean>;
  };
  readonly deadLetterObjects: Pick<LetterObjects, 'remove'>;
}

/** Forgets one dead letter, for good. @throws {GroupNotFound | DeadLetterNotFound | Throttled | Unavailable} */
export async function removeDeadLetter(ports: DeadLetterRemovalPorts, name: string, text: string): Promise<void> {
  const group = await ports.groups.read(name, true);
  if (group === undefined) throw new GroupNotFound(name);
  const id = parseDeadLetterId(text);
  const letter = id && (await ports.deadLetters.read(group, id));
  if (letter === undefined) throw new DeadLetterNotFound(name, text);
  // The object first: without its item nobody would find it.
  await removeObjects(ports.deadLetterObjects, group, letter).catch(storeFailed);
  if (!(await ports.deadLetters.delete(group, letter).catch(storeFailed))) throw new DeadLetterNotFound(name, text);
}
