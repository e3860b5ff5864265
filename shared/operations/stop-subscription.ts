import type { GroupId } from '../domain/group.ts';
import type { Stop } from '../domain/push-retry.ts';
import type { Subscription } from '../domain/subscription.ts';
import type { DeliverPorts } from './deliver-ports.ts';

/** Times that the subscription is read again because somebody changes it at the same time. */
const TRIES_MAX = 10;

/**
 * Has nothing more delivered to a subscription until somebody has looked; one that is stopped already stays as it is.
 *
 * @throws {WriteFailed | Throttled | Unavailable}
 */
export async function stopSubscription(
  { subscriptions, clock }: Pick<DeliverPorts, 'subscriptions' | 'clock'>,
  group: GroupId,
  { state, reason, error }: Stop,
): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const seen = await subscriptions.read(group.name);
    if (seen?.group.id !== group.id || seen.state !== 'active') return;
    const to = { ...seen, state, reason, lastError: error, updatedAt: clock.now() };
    if ((await subscriptions.change(seen, to)) !== undefined) return;
  }
  throw new Error(`subscription '${group.name}' could not be stopped: it changes all the time`);
}

/**
 * Whether whoever delivers goes on: `changed`, by the settings that it has now; `over`, not at all.
 *
 * @throws {Throttled | Unavailable}
 */
export async function standingOf(
  { subscriptions }: Pick<DeliverPorts, 'subscriptions'>,
  { group, revision }: Subscription,
): Promise<'same' | 'changed' | 'over'> {
  const now = await subscriptions.read(group.name);
  if (now?.group.id !== group.id || now.state !== 'active') return 'over';
  return now.revision === revision ? 'same' : 'changed';
}
