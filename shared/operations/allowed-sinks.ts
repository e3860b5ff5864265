import type { DeadLetter, DeadLetterId } from '../domain/dead-letter.ts';
import type { Group, GroupId } from '../domain/group.ts';
import type { LaneId } from '../domain/lane.ts';
import { type Caller, demand, isAllowed, type Right } from '../domain/rights.ts';
import type { Page } from '../domain/topic.ts';
import type { LaneMark } from '../domain/wake-up.ts';
import type { PollSink } from './group-requests.ts';
import type { DeadLetterSink } from './list-dead-letters.ts';

/**
 * What a member reads, of topics that its caller may read in this group: it may hold partitions of some that the call does not
 * name. The first that it may not read refuses the call, by `Forbidden`.
 */
export function allowedRecords(sink: PollSink, caller: Caller, group: string): PollSink {
  if (caller.rights === 'every') return sink;
  return {
    get room() {
      return sink.room;
    },
    open(partition, room) {
      demand(caller, 'consume', { topic: partition.topic, group });
      return sink.open(partition, room);
    },
    takeRedriven(of, payload, link) {
      demand(caller, 'consume', { topic: of.topic, group });
      return sink.takeRedriven(of, payload, link);
    },
  };
}

/** The one dead letter that is asked for, if its topic may be read. @throws {Forbidden} by `take` */
export function allowedLetter(sink: DeadLetterSink, caller: Caller, right: Right, group: string): DeadLetterSink {
  return {
    take: async (letter, ...shown) => {
      demand(caller, right, { topic: letter.topic, group });
      return sink.take(letter, ...shown);
    },
  };
}

/** Dead letters of topics that the caller has this right over; others are passed over. */
export function allowedLetters(sink: DeadLetterSink, caller: Caller, right: Right, group: string): DeadLetterSink {
  return {
    take: async (letter, ...shown) =>
      isAllowed(caller, right, { topic: letter.topic, group }) ? sink.take(letter, ...shown) : 'passed',
  };
}

/** Dead letters as whoever settles, redrives or forgets them looks them up. */
interface Letters {
  list(group: GroupId, query: { readonly limit?: number; readonly after?: string }): Promise<Page<DeadLetter>>;
  read(group: GroupId, id: DeadLetterId): Promise<DeadLetter | undefined>;
  delete(group: GroupId, letter: DeadLetterId & Pick<DeadLetter, 'redriveAt'>): Promise<boolean>;
}

/**
 * Dead letters for a caller who has this right over some of their topics: an id tells no topic, so it is asked when the letter is
 * found. One that is named is refused, by `Forbidden`; others are passed over.
 */
export function allowedStore(letters: Letters, caller: Caller, right: Right): Letters {
  if (caller.rights === 'every') return letters;
  return {
    async list(group, query) {
      const page = await letters.list(group, query);
      return {
        ...page,
        items: page.items.filter(({ topic }) => isAllowed(caller, right, { topic, group: group.name })),
      };
    },
    async read(group, id) {
      const letter = await letters.read(group, id);
      if (letter !== undefined) demand(caller, right, { topic: letter.topic, group: group.name });
      return letter;
    },
    delete: (group, letter) => letters.delete(group, letter),
  };
}

/**
 * What gives dead letters back, or forgets them, for a caller who reaches them by their group: where that is a subscription's, it
 * takes the right to subscribe, as by its own path.
 *
 * @throws {Forbidden | Throttled | Unavailable}
 */
export async function allowedByGroup<
  Ports extends {
    readonly groups: { read(name: string, strong: boolean): Promise<Group | undefined> };
    readonly deadLetters: Letters;
  },
>(ports: Ports, caller: Caller, name: string): Promise<Omit<Ports, 'deadLetters'> & { readonly deadLetters: Letters }> {
  if (caller.rights === 'every') return ports;
  const group = await ports.groups.read(name, true);
  const right = group?.isSubscription ? 'subscribe' : 'consume';
  demand(caller, right, { group: name });
  return { ...ports, deadLetters: allowedStore(ports.deadLetters, caller, right) };
}

/** Parked keys as whoever shows them, or acts on them, looks them up. */
interface Marks {
  lanesOf(group: GroupId, limit: number, after?: string): Promise<Page<LaneMark>>;
  ofLane(id: LaneId): Promise<LaneMark | undefined>;
}

/** Parked keys for a caller who may subscribe to some of their topics: as `allowedStore` of dead letters. */
export function allowedMarks(marks: Marks, caller: Caller): Marks {
  if (caller.rights === 'every') return marks;
  return {
    async lanesOf(group, limit, after) {
      const page = await marks.lanesOf(group, limit, after);
      const items = page.items.filter(({ to }) =>
        isAllowed(caller, 'subscribe', { topic: to.topic, group: group.name }),
      );
      return { ...page, items };
    },
    async ofLane(id) {
      const mark = await marks.ofLane(id);
      if (mark !== undefined) demand(caller, 'subscribe', { topic: mark.to.topic, group: id.group.name });
      return mark;
    },
  };
}
