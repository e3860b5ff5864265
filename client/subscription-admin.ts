import { rfc3339, targetOf } from './admin-arguments.ts';
import type { AdminCalls } from './admin-calls.ts';
import type { OffsetTarget } from './admin-words.ts';
import type {
  ParkedKey,
  SubscriptionDescription,
  SubscriptionSettings,
  SubscriptionSummary,
} from './subscription-words.ts';
import { pathOf } from './transport.ts';

/** What `Admin` does with subscriptions. */
export class SubscriptionAdmin {
  readonly #calls: AdminCalls;

  constructor(calls: AdminCalls) {
    this.#calls = calls;
  }

  /** Subscribes, or changes the settings that are given: what is appended from then on is delivered. */
  async putSubscription(name: string, { from, ...settings }: SubscriptionSettings): Promise<SubscriptionSummary> {
    const start = typeof from === 'object' ? { at: rfc3339(from.at) } : from;
    return this.#calls.send('PUT', pathOf('subscriptions', name), { ...settings, from: start });
  }

  async listSubscriptions(): Promise<SubscriptionSummary[]> {
    return this.#calls.list(pathOf('subscriptions'), 'subscriptions');
  }

  async describeSubscription(name: string): Promise<SubscriptionDescription> {
    return this.#calls.get(pathOf('subscriptions', name));
  }

  async pauseSubscription(name: string): Promise<SubscriptionSummary> {
    return this.#calls.send('POST', pathOf('subscriptions', name, 'pause'), {});
  }

  /** Delivers again; what had failed is tried at once. */
  async resumeSubscription(name: string): Promise<SubscriptionSummary> {
    return this.#calls.send('POST', pathOf('subscriptions', name, 'resume'), {});
  }

  /** @param topic default: all @param partitions default: all @returns where it goes on */
  async seekSubscription(seek: {
    name: string;
    topic?: string;
    partitions?: readonly number[];
    to: OffsetTarget;
  }): Promise<{ readonly topic: string; readonly partition: number; readonly offset: number }[]> {
    const { name, to, ...where } = seek;
    const path = pathOf('subscriptions', name, 'seek');
    return (await this.#calls.send<{ offsets: [] }>('POST', path, { ...where, to: targetOf(to) })).offsets;
  }

  /** One page of keys that wait behind a record of theirs that failed; go on with `nextToken`. It may be empty and not the last. */
  async listParkedKeys({ name, ...page }: { name: string; limit?: number; nextToken?: string }): Promise<{
    readonly parked: readonly ParkedKey[];
    readonly nextToken?: string;
  }> {
    return this.#calls.get(pathOf('subscriptions', name, 'parked'), page);
  }

  /**
   * Has what fails of parked keys tried again at once, its attempts counted from the start.
   *
   * @param ids default: all @returns how many; `more`: there may be others, call again
   * @throws {ApiError} `parked_key_not_found`: nothing was done
   */
  async resumeParkedKeys({ name, ids }: { name: string; ids?: readonly string[] }): Promise<{
    readonly resuming: number;
    readonly more: boolean;
  }> {
    return this.#calls.send('POST', pathOf('subscriptions', name, 'parked', 'resume'), { ids });
  }

  /** Makes dead letters of what fails of parked keys: the keys go on with what is behind. As `resumeParkedKeys`. One attempt: a second one could give up the next record. */
  async deadLetterParkedKeys({ name, ids }: { name: string; ids?: readonly string[] }): Promise<{
    readonly deadLettering: number;
    readonly more: boolean;
  }> {
    return this.#calls.once('POST', pathOf('subscriptions', name, 'parked', 'dead-letter'), { ids });
  }

  /** A new secret; the one before it signs as well for a day. Tried once: a second time would end the one in use. */
  async rotateSecret(name: string): Promise<string> {
    return (await this.#calls.once<{ secret: string }>('POST', pathOf('subscriptions', name, 'rotate-secret'), {}))
      .secret;
  }

  async deleteSubscriptions(names: readonly string[]): Promise<void> {
    for (const name of names) await this.#calls.delete(pathOf('subscriptions', name), 'subscription_not_found');
  }
}
