import type { EventType } from './events.ts';

/** Which events each service gets, and from where on. */
export const SUBSCRIPTIONS = {
  inventory: { types: ['OrderPlaced', 'PaymentDeclined', 'OrderShipped'] },
  payment: { types: ['StockReserved'] },
  shipping: { types: ['PaymentTaken'] },
  loyalty: { types: ['OrderShipped'] },
} as const satisfies Record<string, { readonly types: readonly EventType[] }>;
export type ServiceName = keyof typeof SUBSCRIPTIONS;

/** A record that is at fault halts its partition for as long as this takes; then it is a dead letter. */
export const MAX_ATTEMPTS = 12;

/** What a subscription of the service is made with, deployed or not. Each of them begins with the first order ever. */
export const settingsOf = (service: ServiceName) => ({
  from: 'earliest' as const,
  filter: { value: { type: [...SUBSCRIPTIONS[service].types] } },
  batch: { maxRecords: 25 },
  retry: { maxAttempts: MAX_ATTEMPTS, minBackoffMs: 20, maxBackoffMs: 1_000 },
});
