import {
  type AttributeValue,
  type DynamoDBClient,
  GetItemCommand,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';

/*
 * One table holds what the services keep, so that the example needs but one. Each service writes its own items and reads no
 * others:
 *
 *   id                  of          attributes
 *   order#<orderId>     checkout    order (JSON), placedAt
 *   stock#<sku>         inventory   available, reserved, sold (pieces)
 *   hold#<orderId>      inventory   state: reserved, rejected, released or sold
 *   payment#<orderId>   payment     chargeId, approved
 *   parcel#<orderId>    shipping    shippedAt
 *   points#<customer>   loyalty     points, orders
 *   ledger#<key>        provider    chargeId, orderId, amountCents, approved: the other side's books
 */

export type Item = Record<string, AttributeValue>;
export type Dynamo = Pick<DynamoDBClient, 'send'>;

export const text = (value: string): AttributeValue => ({ S: value });
export const number = (value: number): AttributeValue => ({ N: String(value) });

export const put = (table: string, id: string, item: Item): TransactWriteItem => ({
  Put: { TableName: table, Item: { id: text(id), ...item } },
});

/** For what may be there but once. */
export const putNew = (table: string, id: string, item: Item): TransactWriteItem => ({
  Put: {
    TableName: table,
    Item: { id: text(id), ...item },
    ConditionExpression: 'attribute_not_exists(id)',
  },
});

/** Adds to counters; negative amounts only as far as they are there. */
export function count(table: string, id: string, amounts: Readonly<Record<string, number>>): TransactWriteItem {
  const names = Object.keys(amounts);
  const taken = names.filter((name) => amounts[name]! < 0);
  return {
    Update: {
      TableName: table,
      Key: { id: text(id) },
      UpdateExpression: `ADD ${names.map((name) => `#${name} :${name}`).join(', ')}`,
      ...(taken.length > 0 && { ConditionExpression: taken.map((name) => `#${name} >= :${name}Taken`).join(' AND ') }),
      ExpressionAttributeNames: Object.fromEntries(names.map((name) => [`#${name}`, name])),
      ExpressionAttributeValues: Object.fromEntries([
        ...names.map((name) => [`:${name}`, number(amounts[name]!)] as const),
        ...taken.map((name) => [`:${name}Taken`, number(-amounts[name]!)] as const),
      ]),
    },
  };
}

export async function read(dynamodb: Dynamo, table: string, id: string): Promise<Item | undefined> {
  const { Item } = await dynamodb.send(
    new GetItemCommand({ TableName: table, Key: { id: text(id) }, ConsistentRead: true }),
  );
  return Item;
}

export const transact = (dynamodb: Dynamo, writes: readonly TransactWriteItem[]) =>
  dynamodb.send(new TransactWriteItemsCommand({ TransactItems: [...writes] }));

/** Whether the first write's own condition is what a transaction failed of. */
export function firstWasRefused(error: unknown): boolean {
  const { name, CancellationReasons } = error as { name?: string; CancellationReasons?: { Code?: string }[] };
  return name === 'TransactionCanceledException' && CancellationReasons?.[0]?.Code === 'ConditionalCheckFailed';
}
