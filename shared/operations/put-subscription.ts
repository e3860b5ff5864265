import { InvalidRequest, Unavailable } from '../domain/errors.ts';
import { PUSH_TIMEOUT_MS_DEFAULT } from '../domain/limits.ts';
import type { Subscription, SubscriptionSettings } from '../domain/subscription.ts';
import { GroupIsPull } from '../domain/subscription-errors.ts';
import type { TargetSpec } from '../domain/target-spec.ts';
import { storeFailed } from './store-failed.ts';
import type { SubscriptionPorts } from './subscription-ports.ts';
import { alignTopics, topicsToSubscribe } from './subscription-topics.ts';

/** A target as it is named: without a secret the one that it has stays, or it gets a new one. */
export type NamedTarget =
  | Exclude<TargetSpec, { http: unknown }>
  | { readonly http: { readonly url: string; readonly secret?: string } };

/** What is wanted of a subscription. Absent: as before, or as a new one has it. */
export interface SubscriptionWish extends Partial<Omit<SubscriptionSettings, 'target' | 'filter' | 'batch' | 'retry'>> {
  readonly target?: NamedTarget;
  /** null: none. */
  readonly filter?: string | null;
  readonly batch?: Partial<SubscriptionSettings['batch']>;
  readonly retry?: Partial<SubscriptionSettings['retry']>;
}

/** What a new subscription has where nothing is wished. */
export type SubscriptionDefaults = Omit<SubscriptionSettings, 'topics' | 'target' | 'filter' | 'timeoutMs'>;

/** Times that a change begins anew because the subscription was changed by others meanwhile. */
const TRIES_MAX = 8;

/**
 * Makes a subscription, or changes the settings that are given. Where it begins is resolved before this returns: what is
 * appended from then on is delivered. A call that failed is to be repeated.
 *
 * @param check refuses settings that do not go together
 * @throws {InvalidRequest | TopicNotFound | TargetNotAllowed | TargetForbidden | GroupIsPull | GroupFull |
 *   TooManySubscriptions} nothing was written; {Throttled | Unavailable}
 */
export async function putSubscription(
  ports: SubscriptionPorts,
  name: string,
  wish: SubscriptionWish,
  defaults: SubscriptionDefaults,
  check: (settings: SubscriptionSettings) => void,
): Promise<{ readonly subscription: Subscription; readonly created: boolean }> {
  try {
    return await put(ports, name, wish, defaults, check);
  } catch (error) {
    storeFailed(error);
  }
}

async function put(
  ports: SubscriptionPorts,
  name: string,
  wish: SubscriptionWish,
  defaults: SubscriptionDefaults,
  check: (settings: SubscriptionSettings) => void,
): Promise<{ readonly subscription: Subscription; readonly created: boolean }> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const seen = await ports.subscriptions.read(name);
    if (seen === undefined) await refusePullGroup(ports, name);
    const wanted = settingsOf(ports, wish, seen ?? defaults);
    check(wanted);
    const topics = await topicsToSubscribe(ports, name, wanted.topics);
    const { timeoutMs = wanted.timeoutMs } = await ports.targets.check(wanted.target);
    const settings = { ...wanted, timeoutMs };
    const subscription = await (seen === undefined ? create(ports, name, settings) : change(ports, seen, settings));
    if (subscription === undefined) continue;
    // In any case: a call before this one may have made it, and broken off here.
    await ports.deliveries.switch(true);
    await alignTopics(ports, subscription, topics);
    return { subscription, created: seen === undefined };
  }
  throw new Unavailable(`Subscription '${name}' is being changed by others all the time`);
}

async function refusePullGroup({ groups }: SubscriptionPorts, name: string): Promise<void> {
  const group = await groups.read(name, true);
  if (group !== undefined && !group.isSubscription) throw new GroupIsPull(name);
}

function settingsOf(
  { newSecret }: SubscriptionPorts,
  wish: SubscriptionWish,
  before: SubscriptionDefaults & Partial<SubscriptionSettings>,
): SubscriptionSettings {
  const topics = wish.topics ?? before.topics;
  if (topics === undefined) throw new InvalidRequest("'topics' is required", { field: 'topics' });
  const target = wish.target ?? before.target;
  if (target === undefined) throw new InvalidRequest("'target' is required", { field: 'target' });
  const filter = wish.filter === undefined ? before.filter : (wish.filter ?? undefined);
  return {
    topics: topics.toSorted(),
    target: 'http' in target ? withSecretOf(target, before.target, newSecret) : target,
    from: wish.from ?? before.from,
    batch: { ...before.batch, ...wish.batch },
    timeoutMs: wish.timeoutMs ?? before.timeoutMs ?? PUSH_TIMEOUT_MS_DEFAULT,
    ...(filter !== undefined && { filter }),
    retry: { ...before.retry, ...wish.retry },
    onFailure: wish.onFailure ?? before.onFailure,
    haltAfterDeadLetters: wish.haltAfterDeadLetters ?? before.haltAfterDeadLetters,
  };
}

function withSecretOf(
  { http }: Extract<NamedTarget, { http: unknown }>,
  before: TargetSpec | undefined,
  newSecret: () => string,
): TargetSpec {
  if (http.secret !== undefined && !(before && 'http' in before && before.http.secret === http.secret)) {
    return { http: { url: http.url, secret: http.secret } };
  }
  // The secret is the subscription's, not the URL's: a receiver that moves keeps it.
  return { http: before && 'http' in before ? { ...before.http, url: http.url } : { ...http, secret: newSecret() } };
}

async function create(
  ports: SubscriptionPorts,
  name: string,
  settings: SubscriptionSettings,
): Promise<Subscription | undefined> {
  const now = ports.clock.now();
  const group = { name, id: ports.newGroupId() };
  const subscription: Subscription = {
    ...{ ...settings, group, state: 'active' },
    ...{ createdAt: now, updatedAt: now, revision: 0 },
  };
  return (await ports.subscriptions.create(subscription)) ? subscription : undefined;
}

/** Whether it delivers stays as it is: whoever mended what halted it says so by `resume`. */
async function change(
  ports: SubscriptionPorts,
  seen: Subscription,
  settings: SubscriptionSettings,
): Promise<Subscription | undefined> {
  const { state, reason, lastError } = seen;
  return ports.subscriptions.change(seen, {
    ...settings,
    ...{ state, updatedAt: ports.clock.now() },
    ...(reason !== undefined && { reason }),
    ...(lastError !== undefined && { lastError }),
  });
}
