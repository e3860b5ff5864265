import { BackboneError, PartitionsCannotShrink } from '../../../shared/domain/errors.ts';
import { actOnParked } from '../../../shared/operations/parked-keys.ts';
import { putSubscription, type SubscriptionWish } from '../../../shared/operations/put-subscription.ts';
import { type LetterCodec, redriveDeadLetters } from '../../../shared/operations/redrive-dead-letters.ts';
import { seekSubscription } from '../../../shared/operations/seek-subscription.ts';
import { deleteSubscription, pauseSubscription, resumeSubscription } from '../../../shared/operations/subscriptions.ts';
import { putTopic } from '../../../shared/operations/topics.ts';
import { SUBSCRIPTION_DEFAULTS } from '../../../shared/wire/subscription-requests.ts';
import { type PushPorts, portsOf } from './ports.ts';
import type { PushRun } from './push-run.ts';

const TRIES_MAX = 12;
const REDRIVE_MS = 25_000;
const ACT_MS = 25_000;

/** Asks until somebody answers, or refuses. @returns undefined when nobody does, or it is refused */
async function insist<T>(run: PushRun, act: (ports: PushPorts) => Promise<T>): Promise<T | undefined> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const host = run.anyHost();
    run.harm(host);
    const told = await run.world.call(host, () => act(portsOf(host)));
    if (told !== 'nothing' && 'answer' in told) return told.answer;
    if (told !== 'nothing' && told.error instanceof BackboneError && !told.error.retryable) {
      run.refused(told.error.code);
      return undefined;
    }
    if (told !== 'nothing') run.unexpected(told.error);
    await run.sleep(run.random.between(300, 2_000));
  }
  return undefined;
}

export async function subscribe(run: PushRun, name: string, wish: SubscriptionWish): Promise<boolean> {
  const made = await insist(run, (ports) => putSubscription(ports, name, wish, SUBSCRIPTION_DEFAULTS, () => {}));
  if (made === undefined) run.unsubscribed.add(name);
  else run.unsubscribed.delete(name);
  if (made !== undefined) run.seen.made.push({ groupId: made.subscription.group.id, end: run.world.now });
  return made !== undefined;
}

export async function pause(run: PushRun, name: string): Promise<void> {
  await insist(run, (ports) => pauseSubscription(ports, name));
  await run.sleep(run.random.pick([10, 2_000, 30_000]));
  await resume(run, name);
}

export async function resume(run: PushRun, name: string): Promise<void> {
  await insist(run, (ports) => resumeSubscription(ports, name));
}

export async function seek(run: PushRun, name: string): Promise<void> {
  const { random, world } = run;
  run.seen.sought.push({ name, begin: world.now });
  const to = random.pick(['earliest', 'latest', { offset: random.between(0, 8) }, { at: world.now - 20_000 }] as const);
  await insist(run, (ports) => seekSubscription(ports, { subscription: name, to }));
}

/** Has all dead letters of a subscription given back that a filter may. */
export async function redrive(run: PushRun, name: string): Promise<void> {
  const rate = run.random.pick([undefined, undefined, 1, 20]);
  const wish = { group: name, wanted: { filter: {} }, isDryRun: false, ...(rate && { ratePerSecond: rate }) };
  // None is corrected.
  const codec: LetterCodec = { keyOf: () => null, correct: () => 'payload_missing' };
  await insist(run, (ports) =>
    redriveDeadLetters(ports as never, { ...wish, deadline: ports.clock.now() + REDRIVE_MS }, codec),
  );
}

/** Has records of parked keys tried at once, or be dead letters. */
export async function actOnKeys(run: PushRun, name: string): Promise<void> {
  run.seen.acted.push({ name, begin: run.world.now });
  const act = run.random.pick(['resume', 'dead-letter', 'dead-letter'] as const);
  const told = await insist(run, (ports) => actOnParked(ports, name, { act, deadline: ports.clock.now() + ACT_MS }));
  if (told !== undefined && told.count > 0 && act === 'resume') run.saw('parked key tried by request');
}

/** Has something else be done with what fails from then on, parked keys among it. */
export async function rethink(run: PushRun, name: string): Promise<void> {
  const onFailure = run.random.pick(['deadLetter', 'halt', 'park', 'park'] as const);
  await subscribe(run, name, { topics: ['orders'], onFailure });
}

/** Deletes a subscription, and makes it anew. */
export async function resubscribe(run: PushRun, name: string, wish: SubscriptionWish): Promise<void> {
  await insist(run, (ports) => deleteSubscription(ports, name));
  await run.sleep(run.random.pick([0, 10, 300, 20_000]));
  await subscribe(run, name, wish);
}

export async function grow(run: PushRun): Promise<void> {
  const partitions = run.environment.partitions + run.random.between(1, 2);
  await insist(run, async (ports) => {
    try {
      await putTopic(ports as never, 'orders', { partitions });
    } catch (error) {
      if (!(error instanceof PartitionsCannotShrink)) throw error;
    }
  });
}
