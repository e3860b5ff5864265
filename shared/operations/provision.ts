import { TopicNotFound } from '../domain/errors.ts';
import type { OnRemoval, Provision, ProvisionedThing } from '../domain/provision.ts';
import type { Subscription, SubscriptionSettings } from '../domain/subscription.ts';
import { SubscriptionNotFound } from '../domain/subscription-errors.ts';
import type { Topic } from '../domain/topic.ts';
import { putSubscription, type SubscriptionDefaults, type SubscriptionWish } from './put-subscription.ts';
import { storeFailed } from './store-failed.ts';
import type { SubscriptionPorts } from './subscription-ports.ts';
import { deleteSubscription, pauseSubscription } from './subscriptions.ts';
import { deleteTopic, getTopic, putTopic, type TopicPorts, type TopicSettings } from './topics.ts';

export interface ProvisionPorts extends SubscriptionPorts, TopicPorts {
  readonly topics: TopicPorts['topics'];
  readonly topicItems: TopicPorts['topicItems'] & SubscriptionPorts['topicItems'];
  readonly heads: TopicPorts['heads'] & SubscriptionPorts['heads'];
  readonly provisions: {
    read(thing: ProvisionedThing): Promise<Provision | undefined>;
    put(thing: ProvisionedThing, provision: Provision): Promise<void>;
    remove(thing: ProvisionedThing, owner: string): Promise<void>;
  };
  readonly deadLetters: {
    list(
      group: Subscription['group'],
      query: { readonly limit: number },
    ): Promise<{ readonly items: readonly unknown[] }>;
  };
}

/** What an app says of a topic, and what it said before where that is known. */
export interface ProvisionedTopic {
  readonly name: string;
  readonly settings: TopicSettings;
  readonly before?: TopicSettings;
}

/**
 * Makes a topic as the app says, takes over one that is there, or changes it. Partitions are never taken away: one that has
 * more of them than the app says keeps them, for somebody added them otherwise; only an app that says fewer than it did is
 * refused.
 *
 * @throws {PartitionsCannotShrink | Throttled | Unavailable}
 */
export async function provisionTopic(
  ports: ProvisionPorts,
  owner: string,
  { name, settings, before }: ProvisionedTopic,
): Promise<Topic> {
  const current = await ifThere(getTopic(ports, name));
  await takeOver(ports, { kind: 'topic', name }, owner, current !== undefined);
  const { partitions, ...rest } = settings;
  const shrinks = partitions !== undefined && partitions < (before?.partitions ?? 0);
  const keeps = !shrinks && current !== undefined && current.partitions > (partitions ?? 0);
  const limits = droppedLimits(settings, before);
  return (await putTopic(ports, name, { ...(keeps ? rest : settings), ...limits })).topic;
}

/** What the app has limited and limits no more is taken away; what somebody else has set stays. */
function droppedLimits(settings: TopicSettings, before: TopicSettings = {}): TopicSettings {
  return {
    ...(before.quota && settings.quota === undefined && { quota: null }),
    ...(before.maxLag && settings.maxLag === undefined && { maxLag: null }),
  };
}

/** What an app says of a subscription. */
export interface ProvisionedSubscription {
  readonly name: string;
  readonly wish: SubscriptionWish;
  readonly defaults: SubscriptionDefaults;
  readonly check: (settings: SubscriptionSettings) => void;
}

/**
 * Makes a subscription as the app says, takes over one that is there, or changes it. What the app says nothing of is as a new
 * one has it: also what it said before. @throws as `putSubscription`
 */
export async function provisionSubscription(
  ports: ProvisionPorts,
  owner: string,
  { name, wish, defaults, check }: ProvisionedSubscription,
): Promise<Subscription> {
  const current = await ports.subscriptions.read(name);
  await takeOver(ports, { kind: 'subscription', name }, owner, current !== undefined);
  const { from: _, ...usual } = defaults;
  const [batch, retry] = [
    { ...usual.batch, ...wish.batch },
    { ...usual.retry, ...wish.retry },
  ];
  const whole = { ...usual, filter: null, ...wish, batch, retry };
  return (await putSubscription(ports, name, whole, defaults, check)).subscription;
}

/**
 * What has left the app, or what a new resource stands for since: it goes, unless another resource looks after it by now, it
 * was there before the app, or the app said that it is to stay.
 *
 * @returns whether it is gone @throws {Throttled | Unavailable}
 */
export async function retire(
  ports: ProvisionPorts,
  owner: string,
  thing: ProvisionedThing,
  onRemoval: OnRemoval,
): Promise<boolean> {
  const provision = await ports.provisions.read(thing);
  if (provision?.owner !== owner || provision.adopted || onRemoval === 'retain') return false;
  if (onRemoval === 'unlessNeeded' && (await restsOnLetters(ports, thing.name))) return false;
  await ifThere(thing.kind === 'topic' ? deleteTopic(ports, thing.name) : deleteSubscription(ports, thing.name));
  await ports.provisions.remove(thing, owner).catch(storeFailed);
  return true;
}

/** Dead letters hold what else is nowhere any more: a subscription with some is paused, and kept. */
async function restsOnLetters(ports: ProvisionPorts, name: string): Promise<boolean> {
  const subscription = await ports.subscriptions.read(name);
  if (subscription === undefined) return false;
  const { items } = await ports.deadLetters.list(subscription.group, { limit: 1 });
  if (items.length === 0) return false;
  await pauseSubscription(ports, name);
  return true;
}

/** Before anything is made: whatever breaks off afterwards, it is known whether it had been there. */
async function takeOver(
  { provisions }: ProvisionPorts,
  thing: ProvisionedThing,
  owner: string,
  isThere: boolean,
): Promise<void> {
  const known = await provisions.read(thing);
  if (known?.owner === owner) return;
  await provisions.put(thing, { owner, adopted: known?.adopted ?? isThere }).catch(storeFailed);
}

async function ifThere<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof TopicNotFound || error instanceof SubscriptionNotFound) return undefined;
    throw error;
  }
}
