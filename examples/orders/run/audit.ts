import type { EventType, Order } from '../shop/events.ts';

/** What is in the books when nothing is under way any more. */
export interface Books {
  /** Orders of which somebody was told that they were taken. */
  readonly placed: ReadonlySet<string>;
  /** All events, by order, in the order in which they stand in the topic. */
  readonly events: ReadonlyMap<string, readonly { readonly type: EventType; readonly order: Order }[]>;
  /** The provider's own. */
  readonly charges: readonly { readonly orderId: string; readonly amountCents: number; readonly approved: boolean }[];
  readonly stock: ReadonlyMap<string, Stock>;
  /** What there was before the first order. */
  readonly stockBefore: number;
  /** Of all customers. */
  readonly loyalty: { readonly points: number; readonly orders: number };
  readonly deadLetters: number;
}

export interface Stock {
  readonly available: number;
  readonly reserved: number;
  readonly sold: number;
}

/** How an order may go. */
const WAYS: readonly (readonly EventType[])[] = [
  ['OrderPlaced', 'OrderRejected'],
  ['OrderPlaced', 'StockReserved', 'PaymentDeclined', 'StockReleased'],
  ['OrderPlaced', 'StockReserved', 'PaymentTaken', 'OrderShipped'],
];

/** @returns what does not add up, in sentences: nothing, if all is well */
export function audit(books: Books): string[] {
  return [...auditOrders(books), ...auditCharges(books), ...auditStock(books), ...auditLoyalty(books)];
}

/** How many orders went which way, so that nobody takes books for proof in which nothing stands. */
export function summaryOf({ events, charges }: Books): string {
  const ends = [...events.values()].map((told) => told.at(-1)!.type);
  const count = (end: EventType) => ends.filter((type) => type === end).length;
  const [shipped, declined, rejected] = (['OrderShipped', 'StockReleased', 'OrderRejected'] as const).map(count);
  return `${shipped} shipped, ${declined} not paid, ${rejected} out of stock; ${charges.length} charges`;
}

function auditOrders({ placed, events, deadLetters }: Books): string[] {
  const wrong: string[] = [];
  for (const orderId of placed) if (!events.has(orderId)) wrong.push(`${orderId} was taken, and is lost`);
  for (const [orderId, told] of events) {
    if (!placed.has(orderId)) wrong.push(`${orderId} is told of, and nobody placed it`);
    const way = told.map(({ type }) => type).join(', ');
    if (!WAYS.some((known) => known.join(', ') === way))
      wrong.push(`${orderId} went a way that there is none of: ${way}`);
  }
  if (deadLetters > 0) wrong.push(`${deadLetters} dead letters are left`);
  return wrong;
}

function auditCharges({ events, charges }: Books): string[] {
  const wrong: string[] = [];
  const taken = new Map<string, number>();
  for (const { orderId, amountCents, approved } of charges) {
    if (!approved) continue;
    if (taken.has(orderId)) wrong.push(`${orderId} was charged twice`);
    taken.set(orderId, amountCents);
  }
  for (const [orderId, told] of events) {
    const { order } = told[0]!;
    const isShipped = told.some(({ type }) => type === 'OrderShipped');
    if (isShipped && taken.get(orderId) !== order.totalCents) {
      wrong.push(`${orderId} costs ${order.totalCents} and was charged ${taken.get(orderId) ?? 0}`);
    }
    if (!isShipped && taken.has(orderId)) wrong.push(`${orderId} was charged, and not shipped`);
  }
  return wrong;
}

function auditStock({ events, stock, stockBefore }: Books): string[] {
  const wrong: string[] = [];
  const sold = new Map<string, number>();
  for (const { lines } of shippedIn(events)) {
    for (const { sku, quantity } of lines) sold.set(sku, (sold.get(sku) ?? 0) + quantity);
  }
  for (const [sku, now] of stock) {
    if (now.reserved !== 0) wrong.push(`${now.reserved} of '${sku}' are reserved for nobody`);
    if (now.sold !== (sold.get(sku) ?? 0))
      wrong.push(`${now.sold} of '${sku}' are sold, ${sold.get(sku) ?? 0} were shipped`);
    if (now.available < 0) wrong.push(`there are ${now.available} of '${sku}'`);
    if (now.available + now.reserved + now.sold !== stockBefore)
      wrong.push(`'${sku}' does not add up to ${stockBefore}`);
  }
  return wrong;
}

function auditLoyalty({ events, loyalty }: Books): string[] {
  const shipped = shippedIn(events);
  const points = shipped.reduce((sum, { totalCents }) => sum + totalCents, 0);
  const wrong: string[] = [];
  if (loyalty.orders !== shipped.length)
    wrong.push(`loyalty saw ${loyalty.orders} orders, ${shipped.length} were shipped`);
  if (loyalty.points !== points) wrong.push(`loyalty gave ${loyalty.points} points for ${points}`);
  return wrong;
}

function shippedIn(events: Books['events']): Order[] {
  return [...events.values()].flat().flatMap(({ type, order }) => (type === 'OrderShipped' ? [order] : []));
}
