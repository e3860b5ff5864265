import { setTimeout as sleep } from 'node:timers/promises';
import { type OrderEvent, TOPIC } from '../shop/events.ts';
import type { Books } from './audit.ts';
import { readBooks } from './books.ts';
import { chanceOf } from './chance.ts';
import { orderMany, type PlacedOrder, someOrder } from './customers.ts';
import type { Options } from './options.ts';
import type { View } from './view.ts';
import type { World } from './world.ts';

/** Customers at the counter at a time. */
const PARALLEL = 16;
/** Looks in a row at which nothing was left to do: an answer of the provider's may be under way between two of them. */
const CALM_LOOKS = 3;
/** How often dead letters are given back. What fails for that long will not do: the books tell. */
const ROUNDS_MAX = 5;
/** Nothing has moved for so long: it never will. Prepared records that were abandoned hold a partition for 10 s. */
const STUCK_MS = 90_000;

/**
 * A day in the shop. Orders come in; shipping is away for a while, and catches up; a partner sends orders that nobody can read,
 * which are corrected; loyalty is opened when most is over, and reads what was before it.
 *
 * @returns the books in the end
 */
export async function runStory(world: World, view: View, options: Options, signal: AbortSignal): Promise<Books> {
  const chance = chanceOf(options.seed);
  const orders = Array.from({ length: options.orders }, (_, i) => someOrder(chance, i));
  const [early, late] = [orders.slice(0, orders.length / 2), orders.slice(orders.length / 2)];
  for (const service of ['inventory', 'payment', 'shipping'] as const) {
    await world.add(service);
    view.add(service);
  }
  const pace = paceOf(options.rate, signal);
  const place = (some: readonly PlacedOrder[]) => orderMany(world.shopUrl, some, { parallel: PARALLEL, pace, signal });
  const admin = world.backbone.admin();

  view.say(`The shop is open: ${options.orders} orders come in.`);
  await place(early);
  await admin.pauseSubscription('shipping');
  view.say('Shipping is down. Nobody else takes notice.');
  const foreign = await placeForeign(world, orders.length);
  await place(late);
  await admin.resumeSubscription('shipping');
  view.say('Shipping is back, and catches up.');
  await calm(world, view, signal);

  for (let rounds = 0; rounds < ROUNDS_MAX && (await correct(world, view, foreign)); rounds++) {
    await calm(world, view, signal);
  }

  await world.add('loyalty');
  view.add('loyalty');
  view.say('Loyalty is new, and reads from the first record on.');
  await calm(world, view, signal);

  view.say('All is quiet. The books are read.');
  const placed = new Set([...orders, ...foreign].map(({ orderId }) => orderId));
  return readBooks(world, placed);
}

/** A partner's orders, written straight into the topic: with the quantity as a text. */
async function placeForeign(world: World, from: number): Promise<PlacedOrder[]> {
  const chance = chanceOf(from);
  const orders = [0, 1, 2].map((i) => someOrder(chance, from + i));
  const producer = world.backbone.producer();
  const messages = orders.map((placed) => {
    const { order } = eventOf(placed);
    const lines = order.lines.map(({ sku, quantity }) => ({ sku, quantity: String(quantity) }));
    return { key: order.orderId, value: { type: 'OrderPlaced', order: { ...order, lines } } };
  });
  await producer.send({ topic: TOPIC, messages });
  await producer.close();
  return orders;
}

/** What the partner meant. */
function eventOf({ orderId, basket }: PlacedOrder): OrderEvent {
  return { type: 'OrderPlaced', order: { orderId, ...basket, totalCents: 100 * basket.lines.length } };
}

/**
 * What an operator does: looks at the dead letters, and gives them back as they should have been.
 * @returns whether there were any: one that fails again is one again
 */
async function correct(world: World, view: View, foreign: readonly PlacedOrder[]): Promise<boolean> {
  const admin = world.backbone.admin();
  let found = 0;
  for (const groupId of view.services) {
    const { deadLetters } = await admin.listDeadLetters({ groupId });
    found += deadLetters.length;
    for (const { id, key, error } of deadLetters) {
      const meant = foreign.find(({ orderId }) => orderId === key);
      view.say(
        `${groupId} could not work on ${String(key)}: ${error.message}. It is ${meant ? 'corrected' : 'given back'}.`,
      );
      await admin.redriveDeadLetters({
        groupId,
        ...(meant === undefined ? { ids: [id] } : { records: [{ id, value: eventOf(meant) }] }),
      });
    }
  }
  return found > 0;
}

/** Waits until nobody has anything left to do. @throws {Error} when nothing moves any more */
async function calm(world: World, view: View, signal: AbortSignal): Promise<void> {
  const aborted = new Promise<never>((_, reject) => signal.addEventListener('abort', reject, { once: true }));
  let movedAt = Date.now();
  let before = 0;
  for (let calmLooks = 0; calmLooks < CALM_LOOKS; ) {
    const { services } = await Promise.race([view.next(), aborted]);
    const standings = [...services.values()];
    const isQuiet = standings.every(({ lag }) => lag === 0) && !(await isUnderWay(world, view));
    calmLooks = isQuiet ? calmLooks + 1 : 0;
    const halted = standings.find(({ state }) => state === 'halted');
    if (halted) throw new Error(`A service is halted: ${halted.reason}`);
    const done = standings.reduce((sum, standing) => sum + standing.done, 0);
    if (done !== before) movedAt = Date.now();
    before = done;
    if (Date.now() - movedAt > STUCK_MS) throw new Error(`Nothing has moved for ${STUCK_MS / 1_000} s`);
  }
}

/** Whether records are prepared, or dead letters given back, that nobody has come to. */
async function isUnderWay({ backbone }: World, view: View): Promise<boolean> {
  const admin = backbone.admin();
  const ends = await admin.fetchTopicOffsets(TOPIC);
  if (ends.some(({ high, logEndOffset }) => high < logEndOffset)) return true;
  const pages = await Promise.all(
    view.services.map((groupId) => admin.listDeadLetters({ groupId, state: 'redriving' })),
  );
  return pages.some(({ deadLetters }) => deadLetters.length > 0);
}

/** @returns what waits until the next order is due */
function paceOf(perSecond: number, signal: AbortSignal): () => Promise<void> {
  let due = Date.now();
  return async () => {
    if (perSecond === 0) return;
    due = Math.max(Date.now(), due + 1_000 / perSecond);
    await sleep(due - Date.now(), undefined, { signal });
  };
}
