import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { type Delivered, processOnce } from '../../../client/index.ts';
import { type OrderEvent, TOPIC } from './events.ts';
import { firstWasRefused, transact } from './items.ts';
import type { Services } from './services.ts';

const messageOf = (event: OrderEvent) => ({ key: event.order.orderId, value: event });

/**
 * Stores something new and tells of it: both or neither.
 * @param first its condition says whether it is new
 * @returns false when it was there before: nothing was written
 */
export async function storeAndTell(services: Services, first: TransactWriteItem, event: OrderEvent): Promise<boolean> {
  const { items, settle } = await services.backbone.prepareAppend(TOPIC, [messageOf(event)]);
  const outcome = await transact(services.dynamodb, [first, ...items]).catch((error: unknown) => error);
  const { committed } = await settle(outcome);
  if (committed) return true; // also where the answer was lost on its way
  if (firstWasRefused(outcome)) return false;
  throw outcome;
}

/** What a record leads to, and the event that tells of it, once: with the mark that the record is done. */
export async function processAndTell(
  services: Services,
  record: Delivered,
  writes: readonly TransactWriteItem[],
  event: OrderEvent,
): Promise<void> {
  const { items, settle } = await services.backbone.prepareAppend(TOPIC, [messageOf(event)]);
  let outcome: unknown;
  try {
    outcome = await processOnce(record, [...writes, ...items], services);
  } catch (error) {
    outcome = error;
    throw error;
  } finally {
    await settle(outcome);
  }
}
