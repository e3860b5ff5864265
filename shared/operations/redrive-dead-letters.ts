import type { Clock } from '../domain/clock.ts';
import { type DeadLetter, type DeadLetterId, parseDeadLetterId } from '../domain/dead-letter.ts';
import { InvalidRequest } from '../domain/errors.ts';
import type { Group, GroupId } from '../domain/group.ts';
import { DeadLetterNotFound, GroupNotFound, RedriveOfPull } from '../domain/group-errors.ts';
import { REDRIVE_LETTERS_MAX, REDRIVES_BY_FILTER_MAX } from '../domain/limits.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { Subscription } from '../domain/subscription.ts';
import type { Page, PartitionId } from '../domain/topic.ts';
import type { Pending, Subscriber, WakeUp } from '../domain/wake-up.ts';
import type { GroupStores } from './group-ports.ts';
import { storeFailed } from './store-failed.ts';

export interface RedrivePorts {
  readonly groups: { read(name: string, strong: boolean): Promise<Group | undefined> };
  readonly subscriptions: { read(name: string): Promise<Subscription | undefined> };
  readonly groupTopics: Pick<GroupStores['groupTopics'], 'all'>;
  readonly deadLetters: {
    list(group: GroupId, query: { readonly limit?: number; readonly after?: string }): Promise<Page<DeadLetter>>;
    read(group: GroupId, id: DeadLetterId): Promise<DeadLetter | undefined>;
  };
  readonly redrives: {
    /** @returns false when the letter is gone */
    begin(group: GroupId, letter: DeadLetterId, at: number): Promise<boolean>;
  };
  readonly pending: { put(pending: Pending): Promise<void> };
  readonly wakeQueue: { wake(wakeUps: readonly WakeUp[]): Promise<void> };
  readonly clock: Clock;
}

export interface RedriveFilter {
  readonly topic?: string;
  readonly partition?: number;
  /** Epoch ms: those dead-lettered then or later. */
  readonly since?: number;
}

export interface RedriveWish {
  readonly group: string;
  readonly wanted: { readonly ids: readonly string[] } | { readonly filter: RedriveFilter };
  /** Absent: as fast as the target takes them. */
  readonly ratePerSecond?: number;
  /** Counts, and does nothing. */
  readonly isDryRun: boolean;
  /** Epoch ms by which to answer. */
  readonly deadline: number;
}

/** Time before the deadline at which no more letters are looked for. */
const MARGIN_MS = 10_000;

/**
 * Has dead letters given back to the one subscription that they failed at, by partition and offset. At most
 * `REDRIVE_LETTERS_MAX` in one call. By a filter none goes that is on its way already, or came back
 * `REDRIVES_BY_FILTER_MAX` times; one that is named goes in any case, and once, however often it is named.
 *
 * @returns how many, and whether the filter may find others
 * @throws {GroupNotFound | RedriveOfPull | DeadLetterNotFound | InvalidRequest | Throttled}; {Unavailable} some may be on
 *   their way: repeat it
 */
export async function redriveDeadLetters(
  ports: RedrivePorts,
  wish: RedriveWish,
): Promise<{ readonly redriving: number; readonly more: boolean }> {
  const group = await ports.groups.read(wish.group, true);
  if (group === undefined) throw new GroupNotFound(wish.group);
  const subscription = await ports.subscriptions.read(wish.group);
  if (subscription?.group.id !== group.id) throw new RedriveOfPull(wish.group);
  const subscribers = await subscribersOf(ports, group, subscription);
  const { letters, more } =
    'ids' in wish.wanted
      ? { letters: await named(ports, group, wish.wanted.ids, subscribers), more: false }
      : await found(ports, group, wish.wanted.filter, subscribers, wish.deadline - MARGIN_MS);
  if (!wish.isDryRun) await begin(ports, group, letters, subscribers, wish.ratePerSecond).catch(storeFailed);
  return { redriving: letters.length, more };
}

/** By the id of the topic. */
type Subscribers = ReadonlyMap<string, Subscriber>;

async function subscribersOf(ports: RedrivePorts, { name, id }: GroupId, of: Subscription): Promise<Subscribers> {
  const group = { name, id };
  const topics = (await ports.groupTopics.all(group)).filter((topic) => of.topics.includes(topic.name));
  return new Map(topics.map((topic) => [topic.topicId, { group, topic: topic.name, known: topic.known }]));
}

async function named(
  ports: RedrivePorts,
  group: GroupId,
  ids: readonly string[],
  subscribers: Subscribers,
): Promise<DeadLetter[]> {
  return actOnAll(ids, async (text) => {
    const id = parseDeadLetterId(text);
    const letter = id && (await ports.deadLetters.read(group, id));
    if (letter === undefined) throw new DeadLetterNotFound(group.name, text);
    if (subscribers.has(letter.topicId)) return letter;
    throw new InvalidRequest(`'ids' names ${text}: its topic is not subscribed to any more`, { field: 'ids' });
  });
}

async function found(
  ports: RedrivePorts,
  group: GroupId,
  filter: RedriveFilter,
  subscribers: Subscribers,
  stopAt: number,
): Promise<{ readonly letters: DeadLetter[]; readonly more: boolean }> {
  const letters: DeadLetter[] = [];
  for (let after: string | undefined; ; ) {
    const page = await ports.deadLetters.list(group, { ...(after !== undefined && { after }) });
    for (const letter of page.items) {
      if (!subscribers.has(letter.topicId) || !isWanted(letter, filter)) continue;
      if (letters.length === REDRIVE_LETTERS_MAX) return { letters, more: true };
      letters.push(letter);
    }
    after = page.next;
    if (after === undefined) return { letters, more: false };
    if (ports.clock.now() >= stopAt) return { letters, more: true };
  }
}

function isWanted(letter: DeadLetter, { topic, partition, since = 0 }: RedriveFilter): boolean {
  return (
    letter.redriveAt === undefined &&
    letter.redrives < REDRIVES_BY_FILTER_MAX &&
    (topic ?? letter.topic) === letter.topic &&
    (partition ?? letter.partition) === letter.partition &&
    letter.deadLetteredAt >= since
  );
}

async function begin(
  ports: RedrivePorts,
  group: GroupId,
  letters: readonly DeadLetter[],
  subscribers: Subscribers,
  ratePerSecond: number | undefined,
): Promise<void> {
  const now = ports.clock.now();
  const ordered = [...letters].sort(byPlace);
  const marks = new Map<string, PartitionId & { readonly to: Subscriber; readonly isRedrive: true }>();
  for (const { topicId, partition } of ordered) {
    marks.set(`${topicId}.${partition}`, { topicId, partition, to: subscribers.get(topicId)!, isRedrive: true });
  }
  // Before any letter: what becomes of the rest, the sweep finds those that are marked.
  await actOnAll([...marks.values()], (mark) => ports.pending.put({ ...mark, dueAt: now }));
  const stepMs = ratePerSecond === undefined ? 0 : 1_000 / ratePerSecond;
  const turns = ordered.map((letter, i) => ({ letter, at: now + Math.floor(i * stepMs) }));
  await actOnAll(turns, ({ letter, at }) => ports.redrives.begin(group, letter, at));
  await ports.wakeQueue.wake([...marks.values()].map((mark) => ({ ...mark, hop: 0 }))).catch(() => {});
}

function byPlace(a: DeadLetterId, b: DeadLetterId): number {
  if (a.topicId !== b.topicId) return a.topicId < b.topicId ? -1 : 1;
  return a.partition - b.partition || a.offset - b.offset;
}
