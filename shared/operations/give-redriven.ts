import { type DeadLetter, deadLetterIdText, type Redrive } from '../domain/dead-letter.ts';
import { actOnAll } from '../domain/parallel.ts';
import {
  POLL_REDRIVES_MAX,
  REDRIVE_GIVEN_MAX,
  REDRIVE_GIVEN_MS,
  REDRIVES_FAILED_MAX,
  REDRIVES_MARKED_MS,
} from '../domain/redrive-limits.ts';
import type { Session } from './find-member.ts';
import type { PollSink, Reading, RedrivenReport } from './group-requests.ts';
import { findTopic } from './group-topics.ts';
import { redrivenOf } from './letter-payload.ts';
import { inTurn, turnAt } from './read-group.ts';
import type { MemberPorts } from './redriven-ports.ts';
import { inHand, landRedriven, recallSome } from './settle-redriven.ts';
import type { Held } from './take-positions.ts';

type Request = Pick<Reading, 'paused' | 'turn'> & {
  readonly redriven?: readonly RedrivenReport[];
  readonly deadline: number;
};

/** What became of one redrive: `ended`: it needs nothing more; `wait`: it, and those behind it, stay. */
type Given = 'given' | 'ended' | 'wait' | 'full';

const UNSETTLED = {
  name: 'redrive_not_settled',
  message: `members were given the record ${REDRIVE_GIVEN_MAX} times, and none said what became of it`,
};

/**
 * Gives a member dead letters that are on their way back, of the partitions that it holds and has not paused: in order of
 * their offsets, and none before its offset is committed past, else it comes as it lies. Each is given to one epoch at a
 * time: to another at once when that is over; to the same one again when the member says what it has and does not name it,
 * which an answer that got lost comes to, and else after a while, a few times.
 *
 * @returns how many @throws {Throttled | Unavailable | WriteFailed} what was given comes again
 */
export async function giveRedriven(
  ports: MemberPorts,
  { group, member }: Session,
  held: readonly Held[],
  request: Request,
  sink: PollSink,
): Promise<number> {
  const { at, failed = 0, stoppedAt = 0 } = group.redrives ?? {};
  if (at === undefined) return 0;
  const isOld = ports.clock.now() >= at + REDRIVES_MARKED_MS;
  if (failed >= REDRIVES_FAILED_MAX) {
    // Whoever counted the last one may have died over it.
    if (stoppedAt < at) await ports.groupRedrives.stop(group, ports.clock.now());
    if (!(await recallSome(ports, group)) && isOld) await ports.groupRedrives.unmark(group, at);
    return 0;
  }
  const giving = new Giving(ports, { group, member }, request, sink);
  if (!(await giving.all(held)) && isOld) await tidyUp(ports, group, at);
  return giving.count;
}

/** When nothing is left, polls need not look; and what nobody can be given any more, its topic being gone, lies as before. */
async function tidyUp(ports: MemberPorts, group: Session['group'], markedAt: number): Promise<void> {
  const [first] = await ports.redrives.list(group, 1);
  if (first === undefined) return ports.groupRedrives.unmark(group, markedAt);
  const named = (await ports.groupTopics.all(group)).find(({ topicId }) => topicId === first.topicId);
  const topic = named && (await findTopic(ports.topics, named.name));
  if (topic?.id !== first.topicId) await ports.redrives.recall(group, first);
}

/** One poll's. */
class Giving {
  count = 0;
  readonly #ports: MemberPorts;
  readonly #session: Session;
  readonly #request: Request;
  readonly #sink: PollSink;
  readonly #inHand: ReadonlySet<string>;

  constructor(ports: MemberPorts, session: Session, request: Request, sink: PollSink) {
    this.#ports = ports;
    this.#session = session;
    this.#request = request;
    this.#sink = sink;
    this.#inHand = inHand(request.redriven ?? []);
  }

  /** @returns false: there are none of these partitions */
  async all(held: readonly Held[]): Promise<boolean> {
    const { paused, turn } = this.#request;
    const resting = new Set(paused.map(({ topic, partition }) => `${topic}#${partition}`));
    const awake = held.filter(({ topic, partition }) => !resting.has(`${topic.name}#${partition}`));
    const chosen = inTurn(awake, turn ?? turnAt(this.#ports.clock.now())).chosen;
    const listed = await actOnAll(chosen, async (one) => ({
      one,
      redrives: await this.#ports.redrives.list(this.#session.group, POLL_REDRIVES_MAX + this.#inHand.size, {
        topicId: one.topic.id,
        partition: one.partition,
      }),
    }));
    for (const { one, redrives } of listed) {
      if (redrives.length > 0 && (await this.#partition(one, redrives)) === 'full') break;
    }
    return listed.some(({ redrives }) => redrives.length > 0);
  }

  async #partition({ topic, partition, epoch }: Held, redrives: readonly Redrive[]): Promise<'full' | undefined> {
    const { group, member } = this.#session;
    const position = await this.#ports.positions.read({ group, topicId: topic.id, partition }, true);
    // What a member believes that it holds may be another's: to that one it comes.
    if (position?.owner !== member.memberId || position.epoch !== epoch) return undefined;
    for (const redrive of redrives) {
      if (this.#inHand.has(deadLetterIdText(redrive))) continue;
      if (redrive.offset >= position.committed || !this.#isDue(redrive, epoch)) return undefined;
      // Given one after the other: an answer that came too late would spend a turn of each.
      if (this.count >= POLL_REDRIVES_MAX || this.#ports.clock.now() >= this.#request.deadline) return 'full';
      const given = await this.#give(redrive, epoch);
      if (given === 'full') return 'full';
      if (given === 'wait') return undefined;
      if (given === 'given') this.count += 1;
    }
    return undefined;
  }

  #isDue({ at, given }: Redrive, epoch: number): boolean {
    const isMissing = given !== undefined && (given.epoch !== epoch || this.#request.redriven !== undefined);
    return isMissing || at <= this.#ports.clock.now();
  }

  async #give(redrive: Redrive, epoch: number): Promise<Given> {
    const { redrives, deadLetters, deadLetterObjects, clock } = this.#ports;
    const { group, member } = this.#session;
    const letter = await deadLetters.read(group, redrive);
    if (letter === undefined) {
      await redrives.recall(group, redrive); // it was deleted meanwhile
      return 'ended';
    }
    const { given } = redrive;
    if (given !== undefined && given.times >= REDRIVE_GIVEN_MAX) {
      const unsettled = { letter, epoch: given.epoch, error: UNSETTLED, attempts: 1 };
      return (await landRedriven(this.#ports, group, unsettled)) ? 'ended' : 'wait';
    }
    const undo = await this.#take(letter, await redrivenOf(deadLetterObjects, group, letter));
    if (undo === undefined) return 'full';
    const until = clock.now() + Math.max(REDRIVE_GIVEN_MS, member.sessionTimeoutMs);
    if (await redrives.give(group, redrive, epoch, until)) return 'given';
    undo();
    return 'wait';
  }

  #take(letter: DeadLetter, payload: Uint8Array | undefined): Promise<(() => void) | undefined> {
    const { topicId, topic, partition, offset, redrives } = letter;
    const { uploadUrls, clock } = this.#ports;
    const link = (uploadId: string) => uploadUrls.get({ topicId, uploadId }, clock.now());
    const of = { topic, partition, offset, deadLetter: deadLetterIdText(letter), redriven: redrives + 1 };
    return this.#sink.takeRedriven(of, payload, link);
  }
}
