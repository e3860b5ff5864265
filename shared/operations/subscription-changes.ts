import { CONFIGURATION_CACHE_MS } from '../domain/limits.ts';
import type { Subscription } from '../domain/subscription.ts';
import type { DeliverPorts } from './deliver-ports.ts';

/** Whether a subscription is still what a delivery goes by: one that has much to do works on for minutes. */
export class SubscriptionChanges {
  readonly #ports: Pick<DeliverPorts, 'subscriptions' | 'clock'>;
  readonly #known: Subscription;
  /** Epoch ms. */
  #seenAt: number;

  /** @param known as it was just read */
  constructor(ports: Pick<DeliverPorts, 'subscriptions' | 'clock'>, known: Subscription) {
    this.#ports = ports;
    this.#known = known;
    this.#seenAt = ports.clock.now();
  }

  /** One read, once in `CONFIGURATION_CACHE_MS`. @throws {Throttled | Unavailable} */
  async isOutdated(): Promise<boolean> {
    const { subscriptions, clock } = this.#ports;
    const now = clock.now();
    if (now - this.#seenAt < CONFIGURATION_CACHE_MS) return false;
    const { group, revision } = this.#known;
    const met = await subscriptions.read(group.name);
    this.#seenAt = now;
    return met?.group.id !== group.id || met.revision !== revision;
  }
}
