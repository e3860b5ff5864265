import type { Clock } from '../domain/clock.ts';
import type { GroupId } from '../domain/group.ts';
import { dueAtOf, type LaneId } from '../domain/lane.ts';
import { PENDING_GRACE_MS } from '../domain/limits.ts';
import { settleAll } from '../domain/parallel.ts';
import { isServed, type Position, type PositionId } from '../domain/position.ts';
import type { Subscription } from '../domain/subscription.ts';
import type { PartitionId } from '../domain/topic.ts';
import type { Pending, WakeUp } from '../domain/wake-up.ts';
import type { Lags } from './measure-lag.ts';

export interface LaneSweepPorts {
  readonly pending: {
    /** Unless it was put anew. */
    remove(seen: Pending): Promise<void>;
  };
  readonly lanes: {
    /** With its mark, unless the key was parked anew. */
    remove(lane: LaneId, parkedAt: number): Promise<void>;
  };
  readonly subscriptions: { read(name: string): Promise<Subscription | undefined> };
  readonly positions: { read(p: PositionId, strong?: boolean): Promise<Position | undefined> };
  readonly heads: { read(p: PartitionId, strong?: boolean): Promise<{ readonly closed: boolean } | undefined> };
  readonly wakeQueue: { wake(wakeUps: readonly WakeUp[]): Promise<void> };
  /** Told since when keys are parked. */
  readonly lags: Pick<Lags, 'notePark'>;
  readonly clock: Clock;
  /** From 0 to 1, as `Math.random`. */
  random(): number;
}

/**
 * Lanes that one run looks at, at most; of more it chooses by chance, so that each has its turn. They stay for as long as
 * nobody mends their records: positions have places of their own.
 */
export const LANE_LOOKS_MAX = 5_000;

/**
 * What one run of the sweep does about parked keys: tells since when they are parked, wakes those that every other wake-up
 * has missed, and removes what is left of those whose subscription or topic is gone. A key costs half a read unit, each of
 * their partitions another, and each of their subscriptions one.
 */
export class LaneSweep {
  readonly #ports: LaneSweepPorts;
  readonly #subscriptions = new Map<string, Promise<Subscription | undefined>>();
  /** Whether topics are deleted, by partition. */
  readonly #deleted = new Map<string, Promise<boolean>>();
  /** Lanes that are to be looked at: of all so far, each as likely as any other. */
  readonly #chosen: { readonly mark: Pending; readonly id: LaneId }[] = [];
  #met = 0;

  constructor(ports: LaneSweepPorts) {
    this.#ports = ports;
  }

  /** What there is to do about a lane but to wake it. @param mark of this lane @throws {Throttled | Unavailable | WriteFailed} the next run looks again */
  async look(mark: Pending, lane: string): Promise<void> {
    const { lanes, lags, clock, positions } = this.#ports;
    const { to, topicId, partition, dueAt } = mark;
    const position = { group: to.group, topicId, partition };
    const subscription = await this.#subscriptionOf(to.group);
    if (subscription === undefined || (await this.#isDeleted(position)))
      return lanes.remove({ ...position, lane }, dueAt);
    if (!subscription.topics.includes(to.topic)) {
      // Its lanes go with the position: this one came, or was left, when that was gone.
      if ((await positions.read(position)) === undefined) await lanes.remove({ ...position, lane }, dueAt);
      return;
    }
    lags.notePark(to.group.name, dueAt);
    // Of one that was parked right now its own wake-up is on its way.
    if (subscription.state !== 'active' || dueAt + PENDING_GRACE_MS > clock.now()) return;
    const met = this.#met++;
    const place = met < LANE_LOOKS_MAX ? met : Math.floor(this.#ports.random() * this.#met);
    if (place < LANE_LOOKS_MAX) this.#chosen[place] = { mark, id: { ...position, lane } };
  }

  /**
   * Wakes those that every other wake-up has missed.
   *
   * @param stopAt epoch ms: what it has not come to the next run takes up @returns what kept it from looking at single ones
   */
  async wake(stopAt: number): Promise<unknown[]> {
    const looks = await settleAll(this.#chosen, async ({ mark, id }) => {
      if (this.#ports.clock.now() < stopAt) await this.#wakeIfLost(mark, id);
    });
    return looks.flatMap((look) => (look.status === 'rejected' ? [look.reason] : []));
  }

  /** By what some replica has of it: a wake-up too much, or a minute later, harms nobody. */
  async #wakeIfLost(mark: Pending, id: LaneId): Promise<void> {
    const { pending, positions, wakeQueue, clock } = this.#ports;
    const found = (await positions.read(id, false)) ?? (await positions.read(id));
    if (found === undefined) return pending.remove(mark);
    const now = clock.now();
    if (isServed(found, now) || dueAtOf(found) + PENDING_GRACE_MS > now) return;
    const { topicId, partition, lane } = id;
    await wakeQueue.wake([{ topicId, partition, to: mark.to, lane, hop: 0 }]);
  }

  /** @returns undefined: this incarnation is gone, and does not come back */
  #subscriptionOf({ id, name }: GroupId): Promise<Subscription | undefined> {
    const known = this.#subscriptions.get(id);
    if (known !== undefined) return known;
    const read = this.#ports.subscriptions.read(name).then((met) => (met?.group.id === id ? met : undefined));
    this.#subscriptions.set(id, read);
    return read;
  }

  #isDeleted({ topicId, partition }: PartitionId): Promise<boolean> {
    const { heads } = this.#ports;
    const name = `${topicId}.${partition}`;
    const known = this.#deleted.get(name);
    if (known !== undefined) return known;
    const read = async () => {
      const head =
        (await heads.read({ topicId, partition }, false)) ?? (await heads.read({ topicId, partition }, true));
      return head?.closed ?? true;
    };
    const reading = read();
    this.#deleted.set(name, reading);
    return reading;
  }
}
