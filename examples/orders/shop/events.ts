/** The one topic of the shop. Its key is the order's id: what happens to one order stays in order, and orders run beside each other. */
export const TOPIC = 'orders';

export interface OrderLine {
  readonly sku: string;
  /** Pieces, a positive integer. */
  readonly quantity: number;
}

export interface Order {
  readonly orderId: string;
  readonly customer: string;
  /** What the provider knows the customer's card by. */
  readonly card: string;
  /** Each of another article. */
  readonly lines: readonly OrderLine[];
  readonly totalCents: number;
}

export const EVENT_TYPES = [
  'OrderPlaced', // checkout
  'StockReserved', // inventory
  'OrderRejected', // inventory: there is not enough of it
  'PaymentTaken', // payment, once the provider has answered
  'PaymentDeclined', // payment
  'StockReleased', // inventory: what was reserved for a payment that was declined
  'OrderShipped', // shipping
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** What happened to an order. The order itself travels along: nobody reads another service's items. */
export interface OrderEvent {
  readonly type: EventType;
  readonly order: Order;
}

/** The record tells of no order that anybody could work on. It comes again just so: a dead letter, to be corrected. */
export class InvalidOrder extends Error {
  override readonly name = 'InvalidOrder';
}

/** @param value as a record has it, base64 @throws {InvalidOrder} */
export function parseEvent(value: string | null | undefined): OrderEvent {
  const event = parsed(Buffer.from(value ?? '', 'base64').toString()) as Partial<OrderEvent> | null;
  if (!EVENT_TYPES.some((type) => type === event?.type)) throw new InvalidOrder('The event is of no known type');
  return { type: event!.type!, order: checkOrder(event!.order) };
}

/** @throws {InvalidOrder} saying what is wrong with it */
export function checkOrder(found: unknown): Order {
  const order = (found ?? {}) as Partial<Order>;
  for (const name of ['orderId', 'customer', 'card'] as const) {
    const text: unknown = order[name];
    if (typeof text !== 'string' || !/^[\w.-]{1,64}$/.test(text)) {
      throw new InvalidOrder(`'${name}' must be 1 to 64 letters, digits or . _ -`);
    }
  }
  const { lines } = order;
  if (!Array.isArray(lines) || lines.length < 1 || lines.length > LINES_MAX) {
    throw new InvalidOrder(`An order has 1 to ${LINES_MAX} lines`);
  }
  for (const { sku, quantity } of lines as OrderLine[]) {
    if (typeof sku !== 'string' || sku === '') throw new InvalidOrder('A line names no article');
    if (!Number.isInteger(quantity) || quantity < 1) {
      throw new InvalidOrder(`The quantity of '${sku}' must be a positive integer, not ${JSON.stringify(quantity)}`);
    }
  }
  if (new Set((lines as OrderLine[]).map(({ sku }) => sku)).size < lines.length) {
    throw new InvalidOrder('Two lines are of the same article');
  }
  if (!Number.isInteger(order.totalCents) || order.totalCents! < 0) throw new InvalidOrder('The order has no total');
  return order as Order;
}

/** Each line is a write of a transaction. */
const LINES_MAX = 20;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidOrder('The event is not JSON');
  }
}
