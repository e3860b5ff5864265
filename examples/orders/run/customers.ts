import { setTimeout as sleep } from 'node:timers/promises';
import { type Basket, PRICES_CENTS } from '../shop/checkout.ts';
import { DECLINED_CARD_END } from '../shop/fake-provider.ts';

const CUSTOMERS = 40;
/** Of 1: whose bank does not pay. */
const DECLINED = 0.1;
const LINES_MAX = 3;
const QUANTITY_MAX = 4;
/** Who does not hear that the order was taken sends it again, the same. */
const PAUSE_MS = 50;
const PAUSE_MS_MAX = 1_000;

export interface PlacedOrder {
  readonly orderId: string;
  readonly basket: Basket;
}

/** What somebody orders. */
export function someOrder(chance: () => number, index: number): PlacedOrder {
  const skus = Object.keys(PRICES_CENTS);
  const below = (limit: number) => Math.floor(chance() * limit);
  const first = below(skus.length);
  const lines = Array.from({ length: 1 + below(LINES_MAX) }, (_, i) => ({
    sku: skus[(first + i) % skus.length]!,
    quantity: 1 + below(QUANTITY_MAX),
  }));
  const end = chance() < DECLINED ? DECLINED_CARD_END : '4242';
  const basket = { customer: `customer-${1 + below(CUSTOMERS)}`, card: `4000-${end}`, lines };
  return { orderId: `order-${String(index).padStart(6, '0')}`, basket };
}

/** Sends an order until the shop says that it has it. */
export async function order(shopUrl: string, { orderId, basket }: PlacedOrder, signal: AbortSignal): Promise<void> {
  const request = { method: 'PUT', body: JSON.stringify(basket), signal };
  for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(PAUSE_MS_MAX, 2 * pauseMs)) {
    const answer = await fetch(`${shopUrl}/orders/${orderId}`, request).catch((error: unknown) => {
      if (signal.aborted) throw error;
      return undefined;
    });
    const body = await answer?.text();
    if (answer?.ok) return;
    if (answer !== undefined && answer.status < 500) throw new Error(`${orderId} was refused: ${body}`);
    await sleep(pauseMs, undefined, { signal });
  }
}

/** So many orders, so many at a time. @param pace waits until the next one may be sent */
export async function orderMany(
  shopUrl: string,
  orders: readonly PlacedOrder[],
  { parallel, pace, signal }: { parallel: number; pace: () => Promise<void>; signal: AbortSignal },
): Promise<void> {
  const waiting = orders.values();
  const customer = async () => {
    for (const one of waiting) {
      await pace();
      await order(shopUrl, one, signal);
    }
  };
  await Promise.all(Array.from({ length: parallel }, customer));
}
