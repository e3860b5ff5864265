import { describe, expect, it } from 'vitest';
import { audit, type Books, summaryOf } from '../../../examples/orders/run/audit.ts';
import type { EventType, Order } from '../../../examples/orders/shop/events.ts';

const order = (orderId: string, quantity: number): Order => ({
  ...{ orderId, customer: 'ada', card: '4242', totalCents: 100 * quantity },
  lines: [{ sku: 'cup', quantity }],
});
const way = (of: Order, ...types: EventType[]) => [of.orderId, types.map((type) => ({ type, order: of }))] as const;
const charged = (of: Order, approved = true) => ({ orderId: of.orderId, amountCents: of.totalCents, approved });

const [shipped, declined, rejected] = [order('a', 2), order('b', 1), order('c', 9)];
const right: Books = {
  placed: new Set(['a', 'b', 'c']),
  events: new Map([
    way(shipped, 'OrderPlaced', 'StockReserved', 'PaymentTaken', 'OrderShipped'),
    way(declined, 'OrderPlaced', 'StockReserved', 'PaymentDeclined', 'StockReleased'),
    way(rejected, 'OrderPlaced', 'OrderRejected'),
  ]),
  charges: [charged(shipped), charged(declined, false)],
  stock: new Map([['cup', { available: 8, reserved: 0, sold: 2 }]]),
  stockBefore: 10,
  loyalty: { points: 200, orders: 1 },
  deadLetters: 0,
};

describe('books', () => {
  it('that add up have nothing wrong', () => {
    expect(audit(right)).toEqual([]);
    expect(summaryOf(right)).toBe('1 shipped, 1 not paid, 1 out of stock; 2 charges');
  });

  const instead = (orderId: string, ...types: EventType[]) =>
    new Map([...right.events, way(order(orderId, 2), ...types)]);
  it.each<[string, Partial<Books>, string]>([
    ['an order is lost', { placed: new Set(['a', 'b', 'c', 'd']) }, 'd was taken, and is lost'],
    ['an order came from nowhere', { placed: new Set(['a', 'b']) }, 'c is told of, and nobody placed it'],
    ['an event is told twice', { events: instead('a', 'OrderPlaced', 'OrderPlaced') }, 'a went a way'],
    [
      'events are out of order',
      { events: instead('a', 'OrderPlaced', 'PaymentTaken', 'StockReserved', 'OrderShipped') },
      'a went a way',
    ],
    ['a card is charged twice', { charges: [...right.charges, charged(shipped)] }, 'a was charged twice'],
    ['a parcel is not paid', { charges: [] }, 'a costs 200 and was charged 0'],
    ['too much is charged', { charges: [{ orderId: 'a', amountCents: 400, approved: true }] }, 'was charged 400'],
    ['somebody pays for nothing', { charges: [...right.charges, charged(rejected)] }, 'c was charged, and not shipped'],
    ['something stays reserved', { stock: new Map([['cup', { available: 7, reserved: 1, sold: 2 }]]) }, '1 of'],
    ['more was sold than shipped', { stock: new Map([['cup', { available: 7, reserved: 0, sold: 3 }]]) }, '3 of'],
    ['pieces vanish', { stock: new Map([['cup', { available: 7, reserved: 0, sold: 2 }]]) }, 'does not add up to 10'],
    ['loyalty missed an order', { loyalty: { points: 200, orders: 0 } }, 'loyalty saw 0 orders, 1 were shipped'],
    ['loyalty counted one twice', { loyalty: { points: 400, orders: 1 } }, 'loyalty gave 400 points for 200'],
    ['a dead letter is left', { deadLetters: 1 }, '1 dead letters are left'],
  ])('tell when %s', (_what, change, complaint) => {
    expect(audit({ ...right, ...change }).join('\n')).toContain(complaint);
  });
});
