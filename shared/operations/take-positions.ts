import { TopicNotFound, Unavailable } from '../domain/errors.ts';
import { type GroupId, type GroupTopic, type Member, nextEpoch } from '../domain/group.ts';
import { NoCommittedOffset } from '../domain/group-errors.ts';
import { POLL_PARTITIONS_MAX } from '../domain/limits.ts';
import { actOnAll } from '../domain/parallel.ts';
import { mayTake, type Plan, type Share } from '../domain/plan.ts';
import type { Topic } from '../domain/topic.ts';
import { createPositions, type Start } from './create-positions.ts';
import type { GroupPorts } from './group-ports.ts';
import type { Reading, TopicError } from './group-requests.ts';
import { findBounds } from './partition-bounds.ts';
import { passingError } from './store-failed.ts';
import { mixed, TURN_MS } from './turns.ts';

/** A partition that a member owns, and where it goes on. */
export interface Held {
  readonly topic: Topic;
  readonly partition: number;
  readonly epoch: number;
  readonly offset: number;
}

export interface Taker {
  readonly group: GroupId;
  readonly member: Pick<Member, 'key' | 'memberId'>;
  readonly plan: Plan;
  /** Epochs of positions that were found before plan and session were read strongly: of these nobody knows younger ones. */
  readonly foundBefore: Epochs;
  readonly autoOffsetReset: Reading['autoOffsetReset'];
  /** Epoch ms. */
  readonly deadline: number;
}

/** Of positions, by topic id and partition. */
export type Epochs = ReadonlyMap<string, number>;

export interface Taken {
  readonly held: readonly Held[];
  /** What went wrong with single partitions: they are left for the next poll. */
  readonly errors: readonly TopicError[];
  /** What speaks of a younger plan, or session, than this one. */
  readonly stale: Epochs;
}

/** Positions that one call looks at at most, where those before are still waited for. */
const LOOKS_MAX = 3 * POLL_PARTITIONS_MAX;
/** Times that a position is found to have changed between a look and a write before it is left for the next poll. */
const TRIES_MAX = 3;

/** A share with its topic as it is now. */
export type LiveShare = Share & { readonly of: Topic };

/** One that is to be taken, with what the member says of it: perhaps it had it before. */
export type Wanted = LiveShare & { readonly echo: { readonly epoch: number; readonly offset?: number } | undefined };

/**
 * Takes the partitions that a plan gives to a member and that are free, at most `POLL_PARTITIONS_MAX` of them, the
 * first of them, so that a call that is repeated finds the same ones. One write unit each; two where it is the group's first.
 *
 * @throws {NoCommittedOffset | GroupNotFound | Throttled | Unavailable} some may be taken; they are found so
 */
export async function takePositions(ports: GroupPorts, taker: Taker, wanted: readonly Wanted[]): Promise<Taken> {
  const taking = new Taking(ports, taker);
  const shares = inTurn(wanted, ports.clock.now());
  for (let from = 0; from < shares.length && taking.held.length < POLL_PARTITIONS_MAX; ) {
    const next = shares.slice(from, from + POLL_PARTITIONS_MAX - taking.held.length);
    from += next.length;
    await taking.all(next);
  }
  return taking;
}

/** Where there are more than one call looks at, those in front may be waited for: each second others are. */
function inTurn(wanted: readonly Wanted[], now: number): readonly Wanted[] {
  if (wanted.length <= LOOKS_MAX) return wanted;
  const first =
    Math.floor((mixed(Math.floor(now / TURN_MS)) % wanted.length) / POLL_PARTITIONS_MAX) * POLL_PARTITIONS_MAX;
  return [...wanted.slice(first), ...wanted.slice(0, first)].slice(0, LOOKS_MAX);
}

/** One call's takes. */
class Taking implements Taken {
  readonly held: Held[] = [];
  readonly errors: TopicError[] = [];
  readonly stale = new Map<string, number>();
  readonly #ports: GroupPorts;
  readonly #taker: Taker;
  #noted: Promise<readonly GroupTopic[]> | undefined;

  constructor(ports: GroupPorts, taker: Taker) {
    this.#ports = ports;
    this.#taker = taker;
  }

  async all(shares: readonly Wanted[]): Promise<void> {
    let left = shares;
    for (let tries = 0; tries < TRIES_MAX && left.length > 0; tries++) {
      const starts: (Start & { readonly share: Wanted })[] = [];
      const changed = await this.#each(left, async (share) => {
        const start = await this.#take(share);
        if (start === 'again') return true;
        if (start !== undefined) starts.push({ ...start, share });
        return false;
      });
      left = [...left.filter((_, i) => changed[i]), ...(await this.#create(starts))];
    }
  }

  /** What passes with one partition spoils no other. */
  async #each(shares: readonly Wanted[], act: (share: Wanted) => Promise<boolean>): Promise<boolean[]> {
    return actOnAll(shares, async (share) => {
      try {
        return await act(share);
      } catch (error) {
        const { topic, partition } = share;
        this.errors.push({ topic, partition, error: passingError(error) });
        return false;
      }
    });
  }

  /** @returns what to create where there is nothing; 'again': somebody else was faster */
  async #take(share: Wanted): Promise<Start | 'again' | undefined> {
    const { group, member, plan, foundBefore } = this.#taker;
    const { topicId, of: topic, partition } = share;
    const { positions, proven, clock } = this.#ports;
    const id = { group, topicId, partition };
    const position = await positions.read(id);
    const now = clock.now();
    const name = `${topicId}.${partition}`;
    const verdict = mayTake(position, share, member, plan, now, position?.epoch === foundBefore.get(name));
    if (verdict === 'stale') this.stale.set(name, position!.epoch);
    if (verdict === 'wait' || verdict === 'stale') return undefined;
    const epoch = nextEpoch(position?.epoch ?? 0, now, share.epochFrom);
    if (position === undefined) {
      return { topicId, partition, epoch, committed: await this.#startOf(topic, partition), owner: member.memberId };
    }
    proven.note(id, position.committed);
    // Its own of an earlier tenure, and nobody else's since: it goes on where it was.
    const isEchoed = position.owner === member.memberId && share.echo?.epoch === position.epoch;
    const offset = (isEchoed ? share.echo?.offset : undefined) ?? position.committed;
    if (verdict === 'mine') this.held.push({ topic, partition, epoch: position.epoch, offset: position.committed });
    else if (await positions.take(id, position, member.memberId, epoch)) {
      this.held.push({ topic, partition, epoch, offset });
    } else return 'again';
    return undefined;
  }

  /** @returns the shares of those that somebody made meanwhile */
  async #create(starts: readonly (Start & { readonly share: Wanted })[]): Promise<Wanted[]> {
    if (starts.length === 0) return [];
    try {
      const made = await createPositions(
        this.#ports,
        this.#taker.group,
        starts.map(({ share: _, ...start }) => start),
      );
      for (const [i, start] of starts.entries()) {
        const { share, partition, epoch, committed: offset } = start;
        if (!made[i]) continue;
        this.#ports.proven.note(start, offset);
        this.held.push({ topic: share.of, partition, epoch, offset });
      }
      return starts.filter((_, i) => !made[i]).map(({ share }) => share);
    } catch (error) {
      const passing = passingError(error);
      for (const { share } of starts) {
        this.errors.push({ topic: share.topic, partition: share.partition, error: passing });
      }
      return [];
    }
  }

  /** Where a partition begins that the group never had; what was added since it knew the topic, at its first record (G5). */
  async #startOf(topic: Topic, partition: number): Promise<number> {
    const { group, autoOffsetReset, deadline } = this.#taker;
    this.#noted ??= this.#ports.groupTopics.all(group);
    const known = (await this.#noted).find(({ topicId }) => topicId === topic.id)?.known;
    if (known === undefined) throw new Unavailable(`The group does not know topic '${topic.name}' yet`);
    const isAdded = partition >= known;
    if (!isAdded && autoOffsetReset === 'none') throw new NoCommittedOffset(topic.name, partition);
    const isLatest = !isAdded && autoOffsetReset === 'latest';
    // What is stored as the end must never be told to lie past it.
    const bounds = await findBounds(this.#ports, topic, partition, deadline, isLatest);
    if (bounds === undefined) {
      this.#ports.topics.drop(topic.name);
      throw new TopicNotFound(topic.name);
    }
    return isLatest ? bounds.highWatermark : bounds.logStartOffset;
  }
}
