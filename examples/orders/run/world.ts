import {
  CreateTableCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { Vertebra } from '../../../client/index.ts';
import { startLocalBackbone } from '../../../local/embedding.ts';
import { PRICES_CENTS } from '../shop/checkout.ts';
import { TOPIC } from '../shop/events.ts';
import { FakeProvider } from '../shop/fake-provider.ts';
import { number, text } from '../shop/items.ts';
import { recordAnswer } from '../shop/payment.ts';
import { provideServices, type Services } from '../shop/services.ts';
import { type ServiceName, settingsOf } from '../shop/subscriptions.ts';
import { stockOf } from './books.ts';
import { chanceOf } from './chance.ts';
import { Crashes } from './crashes.ts';
import type { Options } from './options.ts';
import { openShop } from './shop-server.ts';

/** Everything that runs: the backbone, the shop's table, its functions, its door to the street. */
export interface World {
  readonly backbone: Vertebra;
  /** Of who looks on: it never crashes. */
  readonly dynamodb: DynamoDBClient;
  readonly table: string;
  readonly partitions: number;
  /** Pieces of each article. */
  readonly stockBefore: number;
  readonly shopUrl: string;
  readonly crashes: Crashes;
  /** Subscribes a service. */
  add(service: ServiceName): Promise<void>;
  /** Pieces of all articles. */
  countStock(): Promise<{ available: number; reserved: number; sold: number }>;
  close(): Promise<void>;
}

const TABLE = 'shop';
/** Of what is ordered: scarce enough that some orders come too late. */
const STOCK_SHARE = 0.34;

export async function openWorld({ orders, partitions, crashes: rate, seed }: Options): Promise<World> {
  let isClosing = false;
  const local = await startLocalBackbone({
    // What is cut off in the end fails, and is nobody's fault.
    onFailure: (message, error) => isClosing || console.error(`orders: ${message}`, error),
  });
  const dynamodb = new DynamoDBClient(local.clientConfig());
  const backbone = new Vertebra({ endpoint: local.url });
  const stockBefore = Math.ceil(orders * STOCK_SHARE);
  await Promise.all([
    makeTable(dynamodb, stockBefore),
    backbone.admin().createTopics({ topics: [{ topic: TOPIC, numPartitions: partitions }] }),
  ]);
  const crashes = new Crashes(chanceOf(seed + 1), rate);
  const common = { backbone, dynamodb, table: TABLE, stateTable: local.stateTable };
  // The provider is another company: it does not die with the shop's functions. Its answers reach a function of the shop's.
  const provider = new FakeProvider({
    ...{ dynamodb, table: TABLE, chance: chanceOf(seed + 2) },
    answer: (charge) => recordAnswer(openCall(), charge),
  });
  const openCall = (): Services => crashes.of({ ...common, provider });
  provideServices(openCall);
  const shop = await openShop();
  return {
    ...{ backbone, dynamodb, table: TABLE, partitions, stockBefore, shopUrl: shop.url, crashes },
    async add(service) {
      const functionArn = new URL(`../functions/${service}.ts`, import.meta.url).href;
      const target = { lambda: { functionArn } };
      await backbone.admin().putSubscription(service, { topics: [TOPIC], target, ...settingsOf(service) });
    },
    countStock: () => countStock(dynamodb),
    async close() {
      isClosing = true;
      await shop.close();
      await local.dispose();
      dynamodb.destroy();
    },
  };
}

async function makeTable(dynamodb: DynamoDBClient, available: number): Promise<void> {
  await dynamodb.send(
    new CreateTableCommand({
      ...{ TableName: TABLE, BillingMode: 'PAY_PER_REQUEST' },
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    }),
  );
  await waitUntilTableExists({ client: dynamodb, maxWaitTime: 60, minDelay: 1 }, { TableName: TABLE });
  const stock = { available: number(available), reserved: number(0), sold: number(0) };
  for (const sku of Object.keys(PRICES_CENTS)) {
    await dynamodb.send(new PutItemCommand({ TableName: TABLE, Item: { id: text(`stock#${sku}`), ...stock } }));
  }
}

async function countStock(dynamodb: DynamoDBClient) {
  const all = { available: 0, reserved: 0, sold: 0 };
  for (const sku of Object.keys(PRICES_CENTS)) {
    const command = new GetItemCommand({ TableName: TABLE, Key: { id: text(`stock#${sku}`) } });
    const stock = stockOf((await dynamodb.send(command)).Item ?? {});
    for (const name of ['available', 'reserved', 'sold'] as const) all[name] += stock[name];
  }
  return all;
}
