import { InvalidRequest, TopicNotFound, Unavailable } from '../domain/errors.ts';
import { nextEpoch } from '../domain/group.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { Position, PositionId } from '../domain/position.ts';
import type { Subscription, SubscriptionChange } from '../domain/subscription.ts';
import { SubscriptionNotFound } from '../domain/subscription-errors.ts';
import { withSecret } from '../domain/target-spec.ts';
import type { Page } from '../domain/topic.ts';
import { actOnLane } from './act-on-lane.ts';
import { describeGroup, type GroupOffset } from './describe-groups.ts';
import { rest } from './keep-deliveries.ts';
import { storeFailed } from './store-failed.ts';
import type { SubscriptionPorts } from './subscription-ports.ts';
import { unsubscribeTopic } from './unsubscribe-topic.ts';
import { wakeSubscription } from './wake-subscription.ts';

/** Times that a change begins anew because the subscription was changed by others meanwhile. */
const TRIES_MAX = 8;

/** Subscriptions by name. @throws {Throttled | Unavailable} */
export async function listSubscriptions(
  { subscriptions }: Pick<SubscriptionPorts, 'subscriptions'>,
  { limit, after }: { readonly limit: number; readonly after?: string },
): Promise<Page<Subscription>> {
  const { items, ...page } = await subscriptions.list(limit, after);
  const found = await actOnAll(items, ({ name }) => subscriptions.read(name));
  return { ...page, items: found.filter((subscription) => subscription !== undefined) };
}

/** @throws {SubscriptionNotFound | Throttled | Unavailable} */
export async function findSubscription(
  { subscriptions }: Pick<SubscriptionPorts, 'subscriptions'>,
  name: string,
): Promise<Subscription> {
  const found = await subscriptions.read(name);
  if (found === undefined) throw new SubscriptionNotFound(name);
  return found;
}

/** Sees that there is one, for what is done with its group. @throws {SubscriptionNotFound | Throttled | Unavailable} */
export async function refuseWithoutSubscription(
  { groups }: { readonly groups: Pick<SubscriptionPorts['groups'], 'read'> },
  name: string,
): Promise<void> {
  const group = await groups.read(name, true);
  if (!group?.isSubscription) throw new SubscriptionNotFound(name);
}

/** A subscription, and how far it is in every partition, exactly. @throws {SubscriptionNotFound | Throttled | Unavailable} */
export async function describeSubscription(
  ports: SubscriptionPorts,
  name: string,
): Promise<{ readonly subscription: Subscription; readonly offsets: readonly GroupOffset[] }> {
  const subscription = await findSubscription(ports, name);
  const { offsets } = await describeGroup(ports, name);
  return { subscription, offsets };
}

/** Delivers nothing more, but what is on its way. @throws {SubscriptionNotFound | Throttled | Unavailable} */
export async function pauseSubscription(ports: SubscriptionPorts, name: string): Promise<Subscription> {
  return changeSubscription(ports, name, (seen) =>
    seen.state === 'active' ? { ...seen, state: 'paused', reason: 'paused by request' } : undefined,
  );
}

/**
 * Goes on where it was. What had failed is tried at once, and its attempts count from the start.
 *
 * @throws {SubscriptionNotFound | Throttled | Unavailable}
 */
export async function resumeSubscription(ports: SubscriptionPorts, name: string): Promise<Subscription> {
  const resumed = await changeSubscription(ports, name, ({ reason: _reason, lastError: _error, ...seen }) =>
    seen.state === 'active' ? undefined : { ...seen, state: 'active' },
  );
  await freshStart(ports, resumed).catch(storeFailed);
  return resumed;
}

async function freshStart(ports: SubscriptionPorts, { group }: Subscription): Promise<void> {
  const topics = await ports.groupTopics.all(group);
  await actOnAll(topics, async ({ topicId, name, known, partitions }) => {
    // Those that were added since have no position before they are woken.
    const now = await ports.topics.fresh(name).catch(ifGone);
    const count = now?.id === topicId ? now.partitions : partitions;
    const all = Array.from({ length: count }, (_, partition) => partition);
    await actOnAll(all, async (partition) => {
      const id = { group, topicId, partition };
      const parked = await startAfresh(ports, id);
      for (const lane of parked ?? []) await actOnLane(ports, { group, topic: name, known }, { ...id, lane }, 'resume');
    });
    await wakeSubscription(ports, { group, topic: name, known }, topicId, all);
  });
}

/** What failed there is forgotten, but not what is counted of parked keys and of lost records. @returns the lanes that it passes over */
async function startAfresh({ positions, clock }: SubscriptionPorts, id: PositionId): Promise<Position['parked']> {
  const seen = await positions.read(id);
  // Whoever is still at it ends by itself: no second call is begun beside it.
  if (seen?.push !== undefined && seen.owner === undefined) {
    const { passed, expired } = seen.push;
    const { committed, parked } = seen;
    const push = { ...(passed && { passed }), ...(expired !== undefined && { expired }) };
    const kept = { ...(Object.keys(push).length > 0 && { push }), ...(parked && { parked }) };
    await positions.change(id, seen, { committed, epoch: nextEpoch(seen.epoch, clock.now()), ...kept });
  }
  return seen?.parked;
}

function ifGone(error: unknown): undefined {
  if (!(error instanceof TopicNotFound)) throw error;
}

/**
 * A new secret signs from now on, and beside it, for a while, the one before.
 *
 * @throws {SubscriptionNotFound | InvalidRequest | Throttled | Unavailable}
 */
export async function rotateSecret(ports: SubscriptionPorts, name: string): Promise<string> {
  const secret = ports.newSecret();
  await changeSubscription(ports, name, (seen) => {
    if (!('http' in seen.target))
      throw new InvalidRequest(`The target of '${name}' has no secret: it is not an HTTP target`);
    return { ...seen, target: { http: withSecret(seen.target.http, secret, ports.clock.now()) } };
  });
  return secret;
}

/**
 * Takes a subscription's name away, and that of its group: calls on their way are fenced, and what it held is removed in
 * the background.
 *
 * @throws {SubscriptionNotFound}; {Throttled | Unavailable} it may be gone already
 */
export async function deleteSubscription(ports: SubscriptionPorts, name: string): Promise<void> {
  try {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const { group } = await findSubscription(ports, name);
      const topics = await ports.groupTopics.all(group);
      if (!(await ports.subscriptions.delete(group, ports.clock.now()))) continue;
      // Where this is broken off, the purge does it.
      await actOnAll(topics, (topic) => unsubscribeTopic(ports, group, topic));
      await actOnAll(topics, ({ topicId, partitions }) =>
        actOnAll(
          Array.from({ length: partitions }, (_, partition) => partition),
          (partition) => ports.positions.remove({ group, topicId, partition }),
        ),
      );
      if ((await ports.subscriptions.list(1)).items.length === 0) await rest(ports);
      return;
    }
  } catch (error) {
    storeFailed(error);
  }
  throw new Unavailable(`Subscription '${name}' is being changed by others all the time`);
}

/** @param to undefined: it is as it should be already @throws {SubscriptionNotFound | Throttled | Unavailable} */
async function changeSubscription(
  ports: SubscriptionPorts,
  name: string,
  to: (seen: Subscription) => SubscriptionChange | undefined,
): Promise<Subscription> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const seen = await findSubscription(ports, name);
    const wanted = to(seen);
    if (wanted === undefined) return seen;
    const changed = await ports.subscriptions
      .change(seen, { ...wanted, updatedAt: ports.clock.now() })
      .catch(storeFailed);
    if (changed !== undefined) return changed;
  }
  throw new Unavailable(`Subscription '${name}' is being changed by others all the time`);
}
