import { number, put } from './items.ts';
import { processAndTell } from './outbox.ts';
import type { Step } from './step.ts';

/** Sends what is paid. */
export const shipping: Step = async (services, record, { order }) => {
  const parcel = put(services.table, `parcel#${order.orderId}`, { shippedAt: number(Date.now()) });
  await processAndTell(services, record, [parcel], { type: 'OrderShipped', order });
};
