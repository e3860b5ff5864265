import {
  dueAtOf,
  type Lane,
  type LaneId,
  type ParkedAct,
  type ParkedKey,
  parseParkedKeyId,
  waitingOf,
} from '../domain/lane.ts';
import { LIST_LIMIT_MAX } from '../domain/limits.ts';
import { actOnAll } from '../domain/parallel.ts';
import { isServed } from '../domain/position.ts';
import { pushOf } from '../domain/push-retry.ts';
import { ParkedKeyNotFound } from '../domain/subscription-errors.ts';
import type { Page } from '../domain/topic.ts';
import type { LaneMark, Subscriber } from '../domain/wake-up.ts';
import { actOnLane } from './act-on-lane.ts';
import { storeFailed } from './store-failed.ts';
import type { SubscriptionPorts } from './subscription-ports.ts';
import { findSubscription } from './subscriptions.ts';

export interface ParkedPorts
  extends Pick<SubscriptionPorts, 'subscriptions' | 'positions' | 'lanes' | 'wakeQueue' | 'clock'> {
  readonly pending: Pick<SubscriptionPorts['pending'], 'lanesOf' | 'ofLane'>;
}

/** Pages of other marks that one call passes, to find a parked key. */
const PAGES_MAX = 50;
/** Time before the deadline at which no more keys are looked for. */
const MARGIN_MS = 10_000;

/**
 * Keys that wait behind a record of theirs that failed. A page may hold fewer than `limit`, or none, and not be the last.
 *
 * @throws {SubscriptionNotFound | Throttled | Unavailable}
 */
export async function listParked(
  ports: ParkedPorts,
  name: string,
  { limit, after }: { readonly limit: number; readonly after?: string },
): Promise<Page<ParkedKey>> {
  const { group } = await findSubscription(ports, name);
  let page = await ports.pending.lanesOf(group, limit, after);
  for (let pages = 1; page.items.length === 0 && page.next !== undefined && pages < PAGES_MAX; pages++) {
    page = await ports.pending.lanesOf(group, limit, page.next);
  }
  const found = await actOnAll(page.items, (mark) => show(ports, mark));
  return { ...page, items: found.filter((one) => one !== undefined) };
}

/**
 * Has records that failed tried again at once, their attempts counted from the start; or has them be dead letters, so that
 * their keys go on. One that is being delivered now is left to that: should it fail, it is the dead letter that it was to be.
 *
 * @param wish `ids`: absent: all; `deadline`: epoch ms by which to answer
 * @returns how many: of those that are named, all of which it holds now; else those of which it did not before. `more`: there
 *   may be others, call again
 * @throws {SubscriptionNotFound} {ParkedKeyNotFound} nothing was done; {Throttled | Unavailable} some may be done
 */
export async function actOnParked(
  ports: ParkedPorts,
  name: string,
  { act, ids, deadline }: { readonly act: ParkedAct; readonly ids?: readonly string[]; readonly deadline: number },
): Promise<{ readonly count: number; readonly more: boolean }> {
  const { group } = await findSubscription(ports, name);
  const change = (mark: LaneMark) => actOnLane(ports, mark.to, laneOf(mark), act);
  if (ids !== undefined) {
    const done = await actOnAll(await marksOf(ports, group, ids), change).catch(storeFailed);
    return { count: done.filter((one) => one !== 'nothing').length, more: false };
  }
  let count = 0;
  for (let after: string | undefined; ; ) {
    const page = await ports.pending.lanesOf(group, LIST_LIMIT_MAX, after);
    const done = await actOnAll(page.items, change).catch(storeFailed);
    count += done.filter((one) => one === 'done').length;
    after = page.next;
    if (after === undefined || ports.clock.now() >= deadline - MARGIN_MS) return { count, more: after !== undefined };
  }
}

/** @throws {ParkedKeyNotFound} */
function marksOf({ pending }: ParkedPorts, group: Subscriber['group'], ids: readonly string[]): Promise<LaneMark[]> {
  return actOnAll([...new Set(ids)], async (text) => {
    const id = parseParkedKeyId(text);
    const mark = id && (await pending.ofLane({ group, ...id }));
    if (mark === undefined) throw new ParkedKeyNotFound(group.name, text);
    return mark;
  });
}

function laneOf({ to, topicId, partition, lane }: LaneMark): LaneId {
  return { group: to.group, topicId, partition, lane };
}

async function show({ positions, clock }: ParkedPorts, mark: LaneMark): Promise<ParkedKey | undefined> {
  const { to, topicId, partition, lane } = mark;
  const [found, position] = await Promise.all([
    positions.read(laneOf(mark)) as Promise<Lane | undefined>,
    positions.read({ group: to.group, topicId, partition }),
  ]);
  if (found === undefined) return undefined;
  const { about, committed } = found;
  const { failure, lastError } = pushOf(found);
  const { key, keyBytes, parkedAt } = about;
  const now = clock.now();
  const dueAt = dueAtOf(found);
  const waits = failure !== undefined && dueAt > now && !isServed(found, now);
  return {
    ...{ topicId, partition, lane, topic: to.topic, key, keyBytes, parkedAt, offset: committed },
    waiting: Math.max(failure === undefined ? 0 : 1, position === undefined ? 0 : waitingOf(found, lane, position)),
    attempts: failure?.attempts ?? 0,
    ...(lastError && { error: { name: lastError.name, message: lastError.message } }),
    ...(waits && { nextRetryAt: dueAt }),
  };
}
