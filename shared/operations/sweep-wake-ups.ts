import type { Redrive } from '../domain/dead-letter.ts';
import type { GroupId } from '../domain/group.ts';
import { LAG_LOOKS_AHEAD_MAX, type LagHead } from '../domain/lag.ts';
import { dueAtOf } from '../domain/lane.ts';
import { LIST_LIMIT_MAX, PENDING_GRACE_MS, REDRIVE_GRACE_MS, SWEEP_POSITIONS_MAX } from '../domain/limits.ts';
import { settleAll } from '../domain/parallel.ts';
import { isServed } from '../domain/position.ts';
import type { Page, PartitionId } from '../domain/topic.ts';
import type { Pending, Subscriber } from '../domain/wake-up.ts';
import { hourOf } from './doorbell.ts';
import type { Lags } from './measure-lag.ts';
import { LaneSweep, type LaneSweepPorts } from './sweep-lanes.ts';

export interface WakeSweepPorts extends LaneSweepPorts {
  readonly touched: {
    /** @param hour since the epoch */
    list(hour: number, limit: number, after?: string): Promise<Page<PartitionId>>;
  };
  readonly pending: LaneSweepPorts['pending'] & {
    list(limit: number, after?: string): Promise<Page<Pending>>;
    put(pending: Pending): Promise<void>;
  };
  readonly redrives: { first(group: GroupId, partition: PartitionId): Promise<Redrive | undefined> };
  readonly subscribers: { of(topicId: string): Promise<readonly Subscriber[]> };
  readonly heads: {
    read(p: PartitionId, strong?: boolean): Promise<(LagHead & { readonly closed: boolean }) | undefined>;
  };
  readonly caughtUp: CaughtUp;
  /** Told who is behind, and since when keys are parked. */
  readonly lags: Pick<Lags, 'note' | 'notePark'>;
}

/** Share of a run's time in which lanes are woken: they are chosen while all marks are listed. */
const LANES_SHARE = 0.2;
/** Partitions that one container remembers at most. */
const PARTITIONS_MAX = 10_000;

/** How far partitions were when everybody who subscribes to them had caught up: spares looks, and nothing rests on it. */
export class CaughtUp {
  readonly #next = new Map<string, number>();

  has({ topicId, partition }: PartitionId, next: number): boolean {
    return this.#next.get(`${topicId}.${partition}`) === next;
  }

  add({ topicId, partition }: PartitionId, next: number): void {
    this.#next.set(`${topicId}.${partition}`, next);
    if (this.#next.size > PARTITIONS_MAX) this.#next.delete(this.#next.keys().next().value!);
  }
}

/** How a position stands: `resting`: caught up, or of nobody who is to be delivered to. */
type Standing = 'resting' | 'busy' | 'behind';

/**
 * Wakes whom every other wake-up has missed: positions that are pending and due, keys that are parked, and positions that
 * are behind in partitions that have grown in this hour or the one before. At rest it is three Queries of half a read unit each.
 *
 * @param stopAt epoch ms: what it has not come to the next run takes up
 * @returns what kept it from looking at single partitions
 */
export async function sweepWakeUps(ports: WakeSweepPorts, stopAt: number): Promise<unknown[]> {
  const sweep = new WakeSweep(ports, stopAt);
  await sweep.pending();
  const hour = hourOf(ports.clock.now());
  await sweep.touched(hour, false);
  await sweep.touched(hour - 1, true);
  return sweep.failures;
}

class WakeSweep {
  readonly failures: unknown[] = [];
  readonly #ports: WakeSweepPorts;
  readonly #stopAt: number;
  /** Subscriptions that are delivered to, by group and topic, as they were found last. */
  readonly #served = new Map<string, Promise<boolean>>();
  /** What is marked already. */
  readonly #pending = new Set<string>();
  readonly #lanes: LaneSweep;
  #looks = 0;
  #looksForLag = 0;

  constructor(ports: WakeSweepPorts, stopAt: number) {
    this.#ports = ports;
    this.#stopAt = stopAt;
    this.#lanes = new LaneSweep(ports);
  }

  async pending(): Promise<void> {
    const { pending, clock } = this.#ports;
    const now = clock.now();
    const listing = this.#each(
      (after) => pending.list(LIST_LIMIT_MAX, after),
      async (mark) => {
        if (mark.lane !== undefined) return this.#lanes.look(mark, mark.lane);
        if (mark.isRedrive) return this.#redrive(mark);
        this.#pending.add(nameOf(mark, mark.to));
        // Until it is due it is looked at for its lag alone, which must not take the place of those that are to be woken.
        const isDue = mark.dueAt + PENDING_GRACE_MS <= clock.now();
        if (!isDue && ++this.#looksForLag > LAG_LOOKS_AHEAD_MAX) return;
        const head = await this.#ports.heads.read(mark, isDue);
        const next = head?.next ?? 0;
        const standing = await this.#standingOf(mark, mark.to, next, head);
        if (!isDue) return;
        if (standing === 'resting') await pending.remove(mark);
        else if (standing === 'behind') await this.#wake(mark, mark.to, next);
      },
      this.#stopAt - LANES_SHARE * (this.#stopAt - now),
    );
    const [listed] = await Promise.allSettled([listing]);
    this.failures.push(...(await this.#lanes.wake(this.#stopAt)));
    if (listed.status === 'rejected') throw listed.reason;
  }

  /** @param isOld what is behind since then stays in sight, whatever happens, until it has caught up */
  async touched(hour: number, isOld: boolean): Promise<void> {
    const { touched, heads, subscribers, caughtUp, pending, clock } = this.#ports;
    await this.#each(
      (after) => touched.list(hour, LIST_LIMIT_MAX, after),
      async (partition) => {
        const head = await heads.read(partition, false);
        const next = head?.next ?? 0;
        if (caughtUp.has(partition, next)) return;
        const standings: Standing[] = [];
        for (const to of await subscribers.of(partition.topicId)) {
          const standing = await this.#standingOf(partition, to, next, head);
          standings.push(standing);
          if (standing === 'behind') await this.#wake(partition, to, next);
          if (standing !== 'resting' && isOld && !this.#pending.has(nameOf(partition, to)))
            await pending.put({ ...partition, to, dueAt: clock.now() });
        }
        if (standings.every((standing) => standing === 'resting')) caughtUp.add(partition, next);
      },
    );
  }

  async #each<T>(
    list: (after?: string) => Promise<Page<T>>,
    look: (item: T) => Promise<void>,
    stopAt = this.#stopAt,
  ): Promise<void> {
    for (let after: string | undefined; ; ) {
      const page = await list(after);
      const outcomes = await settleAll(page.items, async (item) => {
        if (this.#looks < SWEEP_POSITIONS_MAX && this.#ports.clock.now() < stopAt) await look(item);
      });
      for (const outcome of outcomes) if (outcome.status === 'rejected') this.failures.push(outcome.reason);
      after = page.next;
      if (after === undefined || this.#looks >= SWEEP_POSITIONS_MAX || this.#ports.clock.now() >= stopAt) return;
    }
  }

  /** While there is a letter to be given back, its mark stays: also while nothing is delivered. */
  async #redrive(mark: Pending): Promise<void> {
    const { pending, redrives, subscriptions, clock, wakeQueue } = this.#ports;
    const { to, topicId, partition, dueAt } = mark;
    if (dueAt + PENDING_GRACE_MS > clock.now()) return;
    const subscription = await subscriptions.read(to.group.name);
    const isSubscribed = subscription?.group.id === to.group.id && subscription.topics.includes(to.topic);
    const next = isSubscribed ? await redrives.first(to.group, mark) : undefined;
    if (next === undefined) return pending.remove(mark);
    if (next.at + REDRIVE_GRACE_MS > clock.now()) return;
    if ((await this.#standingOf(mark, to, Number.POSITIVE_INFINITY)) !== 'behind') return;
    await wakeQueue.wake([{ to, topicId, partition, isRedrive: true, hop: 0 }]);
  }

  /** @param head absent: how far it is behind is not to be told */
  async #standingOf(
    { topicId, partition }: PartitionId,
    to: Subscriber,
    next: number,
    head?: LagHead,
  ): Promise<Standing> {
    this.#looks += 1;
    if (!(await this.#isActive(to))) return 'resting';
    const position = await this.#ports.positions.read({ group: to.group, topicId, partition }, true);
    // One that was added since is made by its first delivery.
    if (position === undefined && partition < to.known) return 'resting';
    const committed = position?.committed ?? 0;
    if (committed >= next) return 'resting';
    const { topic, group } = to;
    if (head) this.#ports.lags.note({ subscription: group.name, topic, topicId, partition, committed, head });
    if (position === undefined) return 'behind';
    const now = this.#ports.clock.now();
    return isServed(position, now) || dueAtOf(position) > now ? 'busy' : 'behind';
  }

  /** That it is, is remembered for this run. That it is not may have changed, and takes marks off: it is asked anew. */
  async #isActive({ group, topic }: Subscriber): Promise<boolean> {
    const name = `${group.id}#${topic}`;
    const known = this.#served.get(name);
    if (await known) return true;
    const asked = this.#ports.subscriptions
      .read(group.name)
      .then((met) => met?.group.id === group.id && met.state === 'active' && met.topics.includes(topic));
    this.#served.set(name, asked);
    return asked;
  }

  async #wake({ topicId, partition }: PartitionId, to: Subscriber, next: number): Promise<void> {
    await this.#ports.wakeQueue.wake([{ topicId, partition, to, last: next - 1, hop: 0 }]);
  }
}

function nameOf({ topicId, partition }: PartitionId, { group }: Subscriber): string {
  return `${group.id}#${topicId}.${partition}`;
}
