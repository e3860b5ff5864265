import { effectOnce } from '../../../client/index.ts';
import type { Order } from './events.ts';
import { putNew, read, text } from './items.ts';
import { storeAndTell } from './outbox.ts';
import type { Services } from './services.ts';
import type { Step } from './step.ts';

/** What the provider says became of a charge. */
export interface Charge {
  readonly chargeId: string;
  readonly order: Order;
  readonly approved: boolean;
}

/** Nothing came back in time: money may have been taken, or not. */
export class ProviderTimeout extends Error {
  override readonly name = 'ProviderTimeout';
}

/** A company elsewhere that takes money from cards. What came of a charge it tells by an answer of its own, at least once. */
export interface PaymentProvider {
  /**
   * @param idempotencyKey asked again under the same key, it is the same charge
   * @throws {ProviderTimeout}
   */
  charge(request: { readonly idempotencyKey: string; readonly order: Order }): Promise<Charge>;
}

/** Before it is over no other delivery asks the provider for the same charge. Longer than a call of the provider takes. */
const CHARGE_TIMEOUT_MS = 1_000;

/** Has the provider charge the card. An attempt that nobody knows the end of is made again, under its own key. */
export const payment: Step = async ({ provider, ...once }, record, { order }) => {
  await effectOnce(record, (idempotencyKey) => provider.charge({ idempotencyKey, order }), {
    ...{ dynamodb: once.dynamodb, stateTable: once.stateTable },
    ...{ whenUnfinished: 'retry', timeoutMs: CHARGE_TIMEOUT_MS },
  });
};

/** Takes the provider's answer, and tells the others, once, however often it comes. */
export async function recordAnswer(services: Services, { chargeId, order, approved }: Charge): Promise<void> {
  const { dynamodb, table } = services;
  const id = `payment#${order.orderId}`;
  if ((await read(dynamodb, table, id)) !== undefined) return;
  const write = putNew(table, id, { chargeId: text(chargeId), approved: { BOOL: approved } });
  await storeAndTell(services, write, { type: approved ? 'PaymentTaken' : 'PaymentDeclined', order });
}
