import { paginateScan } from '@aws-sdk/client-dynamodb';
import { type OrderEvent, TOPIC } from '../shop/events.ts';
import type { Item } from '../shop/items.ts';
import { SUBSCRIPTIONS } from '../shop/subscriptions.ts';
import type { Books, Stock } from './audit.ts';
import type { World } from './world.ts';

/** Reads what all have written: the table, the topic from its first record on, the dead letters. */
export async function readBooks(world: World, placed: ReadonlySet<string>): Promise<Books> {
  const items = new Map<string, Item>();
  for await (const { Items = [] } of paginateScan({ client: world.dynamodb }, { TableName: world.table })) {
    for (const item of Items) items.set(item.id!.S!, item);
  }
  const of = (kind: string) => [...items].filter(([id]) => id.startsWith(`${kind}#`)).map(([, item]) => item);
  const points = of('points');
  return {
    placed,
    events: await eventsIn(world),
    charges: of('ledger').map(({ orderId, amountCents, approved }) => ({
      ...{ orderId: orderId!.S!, amountCents: Number(amountCents!.N), approved: approved!.BOOL! },
    })),
    stock: new Map(of('stock').map((item) => [item.id!.S!.slice('stock#'.length), stockOf(item)])),
    stockBefore: world.stockBefore,
    loyalty: { points: sum(points, 'points'), orders: sum(points, 'orders') },
    deadLetters: await deadLettersIn(world),
  };
}

export function stockOf(item: Item): Stock {
  const [available, reserved, sold] = ['available', 'reserved', 'sold'].map((name) => Number(item[name]?.N ?? 0));
  return { available: available!, reserved: reserved!, sold: sold! };
}

async function eventsIn({ backbone, partitions }: World): Promise<Map<string, OrderEvent[]>> {
  const events = new Map<string, OrderEvent[]>();
  for (let partition = 0; partition < partitions; partition++) {
    for await (const { value } of backbone.reader<OrderEvent>({ topic: TOPIC, partition })) {
      const { orderId } = value!.order;
      events.set(orderId, [...(events.get(orderId) ?? []), value!]);
    }
  }
  return events;
}

async function deadLettersIn({ backbone }: World): Promise<number> {
  const admin = backbone.admin();
  const services = Object.keys(SUBSCRIPTIONS);
  const pages = await Promise.all(services.map((groupId) => admin.listDeadLetters({ groupId })));
  return pages.reduce((count, { deadLetters }) => count + deadLetters.length, 0);
}

const sum = (items: readonly Item[], name: string) => items.reduce((all, item) => all + Number(item[name]?.N ?? 0), 0);
