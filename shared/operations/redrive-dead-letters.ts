import type { Clock } from '../domain/clock.ts';
import {
  type Correction,
  type DeadLetter,
  type DeadLetterId,
  deadLetterIdText,
  type KeptPayload,
  parseDeadLetterId,
} from '../domain/dead-letter.ts';
import { InvalidRequest } from '../domain/errors.ts';
import type { Group, GroupId } from '../domain/group.ts';
import { DeadLetterNotFound, GroupNotFound } from '../domain/group-errors.ts';
import { INLINE_CORRECTION_BYTES_MAX } from '../domain/limits.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { Subscription } from '../domain/subscription.ts';
import type { Page, PartitionId } from '../domain/topic.ts';
import type { Payload } from '../domain/upload.ts';
import type { Pending, Subscriber, WakeUp } from '../domain/wake-up.ts';
import type { GroupStores } from './group-ports.ts';
import { findTopic } from './group-topics.ts';
import { type LetterObjects, originalOf } from './letter-payload.ts';
import { findLetters, type RedriveFilter } from './redrive-filter.ts';
import { storeFailed } from './store-failed.ts';
import type { TopicCache } from './topic-cache.ts';

export interface RedrivePorts {
  readonly groups: { read(name: string, strong: boolean): Promise<Group | undefined> };
  readonly subscriptions: { read(name: string): Promise<Subscription | undefined> };
  readonly groupTopics: Pick<GroupStores['groupTopics'], 'all'>;
  readonly topics: TopicCache;
  readonly deadLetters: {
    list(group: GroupId, query: { readonly limit?: number; readonly after?: string }): Promise<Page<DeadLetter>>;
    read(group: GroupId, id: DeadLetterId): Promise<DeadLetter | undefined>;
  };
  readonly deadLetterObjects: LetterObjects & {
    putCorrection(group: GroupId, id: DeadLetterId, bytes: Uint8Array): Promise<Payload>;
  };
  readonly redrives: {
    /**
     * @param correction null: none; absent: as it was told last
     * @returns false when the letter is gone
     */
    begin(group: GroupId, letter: DeadLetterId, at: number, correction?: KeptPayload | null): Promise<boolean>;
  };
  readonly groupRedrives: {
    /** Has members' polls look for redrives. @returns false when the group is gone */
    mark(group: GroupId, now: number): Promise<boolean>;
  };
  readonly pending: { put(pending: Pending): Promise<void> };
  readonly wakeQueue: { wake(wakeUps: readonly WakeUp[]): Promise<void> };
  readonly clock: Clock;
}

/** Takes apart, and changes, the records that dead letters keep. */
export interface LetterCodec {
  /** undefined: there is no record. */
  keyOf(payload: Uint8Array): Uint8Array | null | undefined;
  /** @returns why it cannot be: there is no record */
  correct(payload: Uint8Array, correction: Correction): Uint8Array | 'payload_missing' | 'payload_corrupt';
}

export interface RedriveWish {
  readonly group: string;
  readonly wanted:
    | { readonly ids: readonly string[]; readonly corrections?: ReadonlyMap<string, Correction> }
    | { readonly filter: RedriveFilter };
  /** Absent: as fast as they are taken. */
  readonly ratePerSecond?: number;
  /** Counts, and does nothing. */
  readonly isDryRun: boolean;
  /** Epoch ms by which to answer. */
  readonly deadline: number;
}

/** A letter that is to be given back. `correction`: as it was told last when absent, as it was when null. */
interface Wanted {
  readonly letter: DeadLetter;
  readonly correction?: Uint8Array | null;
}

/** Time before the deadline at which no more letters are looked for. */
const MARGIN_MS = 10_000;

/**
 * Has dead letters given back to the one group that could not handle them, by partition and offset: to its target, or in
 * its members' polls. At most `REDRIVE_LETTERS_MAX` in one call. By a filter none goes that is on its way already, or came
 * back `REDRIVES_BY_FILTER_MAX` times; one that is named goes in any case, and once, however often it is named.
 *
 * @returns how many, and whether the filter may find others
 * @throws {GroupNotFound | DeadLetterNotFound | InvalidRequest | Throttled}; {Unavailable} some may be on their way:
 *   repeat it
 */
export async function redriveDeadLetters(
  ports: RedrivePorts,
  wish: RedriveWish,
  codec: LetterCodec,
): Promise<{ readonly redriving: number; readonly more: boolean }> {
  const group = await ports.groups.read(wish.group, true);
  if (group === undefined) throw new GroupNotFound(wish.group);
  const takers = await takersOf(ports, group);
  if ('filter' in wish.wanted) {
    const stopAt = wish.deadline - MARGIN_MS;
    const accepts = ({ topicId }: DeadLetter) => takers.has(topicId);
    const { letters, more } = await findLetters(ports, group, wish.wanted.filter, { accepts, codec, stopAt });
    const wanted = letters.map((letter) => ({ letter }));
    if (!wish.isDryRun) await begin(ports, group, wanted, takers, wish.ratePerSecond).catch(storeFailed);
    return { redriving: letters.length, more };
  }
  const wanted = await named(ports, group, wish.wanted, takers, codec);
  if (!wish.isDryRun) await begin(ports, group, wanted, takers, wish.ratePerSecond).catch(storeFailed);
  return { redriving: wanted.length, more: false };
}

/** The topics whose records can be given back, by id: with whom they are delivered to, or null: members poll. */
type Takers = ReadonlyMap<string, Subscriber | null>;

async function takersOf(ports: RedrivePorts, { name, id, isSubscription }: Group): Promise<Takers> {
  const group = { name, id };
  const topics = await ports.groupTopics.all(group);
  if (!isSubscription) {
    const live = await actOnAll(
      topics,
      async (topic) => (await findTopic(ports.topics, topic.name, true))?.id === topic.topicId,
    );
    return new Map(topics.filter((_, i) => live[i]).map(({ topicId }) => [topicId, null]));
  }
  const subscription = await ports.subscriptions.read(name);
  if (subscription?.group.id !== id) throw new GroupNotFound(name);
  const subscribed = topics.filter((topic) => subscription.topics.includes(topic.name));
  return new Map(subscribed.map((topic) => [topic.topicId, { group, topic: topic.name, known: topic.known }]));
}

async function named(
  ports: RedrivePorts,
  group: GroupId,
  { ids, corrections }: { readonly ids: readonly string[]; readonly corrections?: ReadonlyMap<string, Correction> },
  takers: Takers,
  codec: LetterCodec,
): Promise<Wanted[]> {
  return actOnAll([...new Set(ids)], async (text) => {
    const id = parseDeadLetterId(text);
    const letter = id && (await ports.deadLetters.read(group, id));
    if (letter === undefined) throw new DeadLetterNotFound(group.name, text);
    if (!takers.has(letter.topicId)) {
      throw new InvalidRequest(`'ids' names ${text}: its topic is deleted, or not subscribed to any more`, {
        field: 'ids',
      });
    }
    const change = corrections?.get(text);
    return change === undefined
      ? { letter }
      : { letter, correction: await corrected(ports, group, letter, change, codec) };
  });
}

/** @returns null where nothing is to be different: the record as it was. @throws {InvalidRequest} there is no record */
async function corrected(
  ports: RedrivePorts,
  group: GroupId,
  letter: DeadLetter,
  change: Correction,
  codec: LetterCodec,
): Promise<Uint8Array | null> {
  if (change.value === undefined && change.headers === undefined) return null;
  const original = await originalOf(ports.deadLetterObjects, group, letter);
  const made = original === undefined ? 'payload_missing' : codec.correct(original, change);
  if (typeof made !== 'string') return made;
  const id = deadLetterIdText(letter);
  throw new InvalidRequest(`'records' names ${id}, whose record is gone (${made})`, { field: 'records' });
}

async function begin(
  ports: RedrivePorts,
  group: GroupId,
  wanted: readonly Wanted[],
  takers: Takers,
  ratePerSecond: number | undefined,
): Promise<void> {
  if (wanted.length === 0) return;
  const now = ports.clock.now();
  const ordered = [...wanted].sort((a, b) => byPlace(a.letter, b.letter));
  const marks = new Map<string, PartitionId & { readonly to: Subscriber; readonly isRedrive: true }>();
  for (const { topicId, partition } of ordered.map(({ letter }) => letter)) {
    const to = takers.get(topicId);
    if (to) marks.set(`${topicId}.${partition}`, { topicId, partition, to, isRedrive: true });
  }
  // Before any letter: what becomes of the rest, the sweep, or the next poll, finds those that are marked.
  await actOnAll([...marks.values()], (mark) => ports.pending.put({ ...mark, dueAt: now }));
  if (marks.size === 0 && !(await ports.groupRedrives.mark(group, now))) throw new GroupNotFound(group.name);
  const stepMs = ratePerSecond === undefined ? 0 : 1_000 / ratePerSecond;
  const turns = ordered.map((one, i) => ({ ...one, at: now + Math.floor(i * stepMs) }));
  await actOnAll(turns, (turn) => beginOne(ports, group, turn));
  await ports.wakeQueue.wake([...marks.values()].map((mark) => ({ ...mark, hop: 0 }))).catch(() => {});
}

async function beginOne(
  { redrives, deadLetterObjects }: RedrivePorts,
  group: GroupId,
  { letter, correction, at }: Wanted & { readonly at: number },
): Promise<void> {
  const kept =
    !correction || correction.length <= INLINE_CORRECTION_BYTES_MAX
      ? correction && { bytes: correction }
      : { object: await deadLetterObjects.putCorrection(group, letter, correction) };
  const isThere = await redrives.begin(group, letter, at, kept);
  const [before, after] = [letter.correction, kept].map((one) =>
    one && 'object' in one ? one.object.sha256 : undefined,
  );
  if (isThere && kept !== undefined && before !== undefined && before !== after) {
    await deadLetterObjects.remove(group, letter, before);
  }
}

function byPlace(a: DeadLetterId, b: DeadLetterId): number {
  if (a.topicId !== b.topicId) return a.topicId < b.topicId ? -1 : 1;
  return a.partition - b.partition || a.offset - b.offset;
}
