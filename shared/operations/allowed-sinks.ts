import { type Caller, demand, isAllowed, type Right } from '../domain/rights.ts';
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
