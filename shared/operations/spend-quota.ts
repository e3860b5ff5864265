import type { Clock } from '../domain/clock.ts';
import type { Share } from '../domain/quota.ts';
import {
  type Bucket,
  costOf,
  EMPTY_HAND,
  givenBack,
  type Hand,
  type Load,
  spend,
  taken,
  toTake,
} from '../domain/quota.ts';
import { QuotaExceeded } from '../domain/quota-errors.ts';
import { BUCKETS_MAX } from '../domain/quota-limits.ts';
import type { Topic } from '../domain/topic.ts';
import { WriteFailed } from '../domain/write-failed.ts';

export interface QuotaPorts {
  readonly buckets: {
    take(
      bucket: Bucket,
      ms: number,
      now: number,
      seenUntil?: number,
    ): Promise<{ readonly isTaken: boolean; readonly until: number }>;
  };
  readonly clock: Clock;
}

/** One bucket as this container knows it. */
interface Known {
  hand: Hand;
  until?: number;
  /** Epoch ms before which nothing more is to be had. */
  closedUntil: number;
  taking?: Promise<void>;
}

/** What this container has taken of quotas in advance, so that few appends cost a write. */
export class Quotas {
  readonly #ports: QuotaPorts;
  readonly #known = new Map<string, Known>();

  constructor(ports: QuotaPorts) {
    this.#ports = ports;
  }

  /** Pays for an append, by the caller's quota and by the topic's. @throws {QuotaExceeded} nothing was paid */
  async pay(topic: Pick<Topic, 'id' | 'name' | 'quota'>, load: Load, caller: string): Promise<void> {
    const { quota } = topic;
    if (quota === undefined) return;
    const { perCaller, ...rates } = quota;
    const own = perCaller && { topicId: topic.id, rates: perCaller, caller };
    if (own) await this.#payFrom(own, load, topic.name);
    if (Object.keys(rates).length === 0) return;
    try {
      await this.#payFrom({ topicId: topic.id, rates }, load, topic.name);
    } catch (error) {
      if (own) this.#giveBack(own, load);
      throw error;
    }
  }

  async #payFrom(bucket: Bucket, load: Load, topic: string): Promise<void> {
    const known = this.#of(bucket);
    const cost = costOf(load, bucket.rates);
    for (;;) {
      const now = this.#ports.clock.now();
      const rest = spend(known.hand, cost, now);
      if (rest !== undefined) {
        known.hand = rest;
        return;
      }
      if (known.closedUntil > now) {
        const scope = bucket.caller === undefined ? 'topic' : 'caller';
        throw new QuotaExceeded(topic, scope, Math.ceil(known.closedUntil - now));
      }
      known.taking ??= this.#take(bucket, known, cost).finally(() => {
        delete known.taking;
      });
      await known.taking;
    }
  }

  async #take(bucket: Bucket, known: Known, cost: Share): Promise<void> {
    const now = this.#ports.clock.now();
    const ms = toTake(known.hand, cost, now);
    try {
      const { isTaken, until } = await this.#ports.buckets.take(bucket, ms, now, known.until);
      known.until = until;
      if (isTaken) known.hand = taken(known.hand, ms, now);
      else known.closedUntil = until;
    } catch (error) {
      if (!(error instanceof WriteFailed)) throw error;
      // What cannot be asked holds nobody back: the append has its own writes to fail by.
      known.hand = taken(known.hand, ms, now);
    }
  }

  #giveBack(bucket: Bucket, load: Load): void {
    const known = this.#of(bucket);
    known.hand = givenBack(known.hand, costOf(load, bucket.rates));
  }

  #of({ topicId, rates, caller = '' }: Bucket): Known {
    const name = JSON.stringify([topicId, rates.bytesPerSecond, rates.recordsPerSecond, caller]);
    const known = this.#known.get(name) ?? { hand: EMPTY_HAND, closedUntil: 0 };
    this.#known.delete(name);
    this.#known.set(name, known); // last: the first is whoever was not asked for longest
    if (this.#known.size > BUCKETS_MAX) this.#known.delete(this.#known.keys().next().value!);
    return known;
  }
}
