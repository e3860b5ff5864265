import { checkOrder, InvalidOrder, type Order, type OrderLine } from './events.ts';
import { type Item, number, putNew, read, text } from './items.ts';
import { storeAndTell } from './outbox.ts';
import type { Services } from './services.ts';

/** What the shop sells. */
export const PRICES_CENTS: Readonly<Record<string, number>> = {
  ...{ cup: 900, plate: 1_200, bowl: 1_400, jug: 2_900, tray: 1_900, vase: 3_400 },
  ...{ lamp: 5_900, chair: 8_900, shelf: 7_400, table: 19_900, rug: 12_900, clock: 4_200 },
};

export interface Basket {
  readonly customer: string;
  readonly card: string;
  readonly lines: readonly OrderLine[];
}

/**
 * Takes an order, under an id that the customer's side has made: sent again, it is the same order.
 * @returns what it costs; `isNew`: it was not there before
 * @throws {InvalidOrder}
 */
export async function placeOrder(
  services: Services,
  orderId: string,
  basket: Basket,
): Promise<{ order: Order; isNew: boolean }> {
  const { customer, card, lines } = basket;
  const order = checkOrder({ orderId, customer, card, lines, totalCents: totalOf(lines) });
  const id = `order#${orderId}`;
  const { dynamodb, table } = services;
  // A condition that would often fail has to be looked at before anything is prepared: readers wait for what is.
  const before = await read(dynamodb, table, id);
  if (before !== undefined) return { order: sameOrder(before, order), isNew: false };
  const item = { order: text(JSON.stringify(order)), placedAt: number(Date.now()) };
  const isNew = await storeAndTell(services, putNew(table, id, item), { type: 'OrderPlaced', order });
  return { order, isNew };
}

/** @returns undefined where there is no such order */
export async function statusOf({ dynamodb, table }: Services, orderId: string): Promise<string | undefined> {
  const [order, hold, payment, parcel] = await Promise.all(
    ['order', 'hold', 'payment', 'parcel'].map((kind) => read(dynamodb, table, `${kind}#${orderId}`)),
  );
  if (parcel) return 'shipped';
  if (payment) return payment.approved?.BOOL ? 'paid' : 'payment declined';
  if (hold) return hold.state!.S!;
  return order && 'placed';
}

function totalOf(lines: unknown): number {
  if (!Array.isArray(lines)) throw new InvalidOrder('An order has lines');
  return (lines as OrderLine[]).reduce((sum, { sku, quantity }) => {
    const price = Object.hasOwn(PRICES_CENTS, sku) ? PRICES_CENTS[sku]! : undefined;
    if (price === undefined) throw new InvalidOrder(`There is no article '${sku}'`);
    return sum + price * quantity;
  }, 0);
}

function sameOrder(found: Item, wanted: Order): Order {
  if (found.order!.S !== JSON.stringify(wanted)) throw new InvalidOrder(`'${wanted.orderId}' is another order`);
  return wanted;
}
