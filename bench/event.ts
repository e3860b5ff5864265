/** A stream of numbers in 0 ≤ n < 1 that is the same in every run (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const PRODUCTS = [
  'Espresso machine',
  'Grinder, conical',
  'Milk jug 350 ml',
  'Filter papers, 100',
  'Descaler',
  'Cups, set of 6',
];
const STREETS = ['Lindenallee', 'Rue des Écoles', 'Harbour Road', 'Via Garibaldi', 'Calle Mayor', 'Østergade'];
const CITIES = ['Hamburg', 'Lyon', 'Bristol', 'Torino', 'Zaragoza', 'København'];
const SHIPPING = ['standard', 'express', 'pickup'] as const;

/** A record as a producer sends it in JSON. */
export interface BenchEvent {
  readonly key?: string;
  readonly partition?: number;
  readonly value: object;
}

/** An order as a shop would publish it: nested, about 1 KB of JSON, ids and amounts that differ from event to event. */
export interface OrderEvent extends BenchEvent {
  readonly key: string;
}

/** `count` events, the same ones for the same seed. */
export function orderEvents(count: number, seed = 1): OrderEvent[] {
  const random = randomFrom(seed);
  return Array.from({ length: count }, (_, i) => orderEvent(random, i));
}

/** `count` events whose 1 KB does not compress, as when the producer encrypts it. */
export function sealedEvents(count: number, seed = 1): BenchEvent[] {
  const random = randomFrom(seed);
  return Array.from({ length: count }, (_, i) => {
    const sealed = Buffer.from(Array.from({ length: 720 }, () => Math.floor(random() * 256)));
    return {
      key: `order-${seed}-${i}`,
      value: { type: 'OrderPlaced', keyId: 'orders-7', sealed: sealed.toString('base64') },
    };
  });
}

function orderEvent(random: () => number, i: number): OrderEvent {
  const whole = (below: number) => Math.floor(random() * below);
  const hex = (digits: number) => Array.from({ length: digits }, () => whole(16).toString(16)).join('');
  const one = <T>(of: readonly T[]) => of[whole(of.length)]!;
  const placedAt = 1_767_225_600_000 + i * 137 + whole(100);
  const lines = Array.from({ length: 4 }, () => ({
    sku: `SKU-${10_000 + whole(90_000)}`,
    name: one(PRODUCTS),
    quantity: 1 + whole(5),
    unitPrice: { amount: whole(20_000) / 100, currency: 'EUR' },
    taxRate: one([0.07, 0.19, 0.2]),
  }));
  const orderId = `order-${1_000_000 + whole(9_000_000)}`;
  const value = {
    id: `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`,
    type: 'OrderPlaced',
    version: 3,
    occurredAt: new Date(placedAt).toISOString(),
    correlationId: hex(32),
    order: {
      orderId,
      placedAt,
      channel: one(['web', 'app', 'store']),
      customer: {
        id: whole(2 ** 31),
        email: `${hex(10)}@example.com`,
        loyaltyPoints: whole(10_000),
        vip: random() < 0.1,
      },
      lines,
      total: Math.round(lines.reduce((sum, line) => sum + line.quantity * line.unitPrice.amount, 0) * 100) / 100,
      shipTo: {
        street: `${one(STREETS)} ${1 + whole(200)}`,
        city: one(CITIES),
        postcode: String(10_000 + whole(90_000)),
      },
      shipping: one(SHIPPING),
      coupon: random() < 0.3 ? `SAVE${whole(50)}` : null,
    },
  };
  return { key: orderId, value };
}
