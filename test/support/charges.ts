import { CreateTableCommand, type DynamoDBClient, ScanCommand, type TransactWriteItem } from '@aws-sdk/client-dynamodb';

const TableName = 'charges';

/** A table of somebody's own: how often each id was charged. */
export class Charges {
  readonly #dynamodb: DynamoDBClient;

  private constructor(dynamodb: DynamoDBClient) {
    this.#dynamodb = dynamodb;
  }

  static async open(dynamodb: DynamoDBClient): Promise<Charges> {
    await dynamodb.send(
      new CreateTableCommand({
        TableName,
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
        KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
      }),
    );
    return new Charges(dynamodb);
  }

  /** To be part of a transaction: one charge more. */
  static of(id: string | number): TransactWriteItem {
    const ExpressionAttributeValues = { ':one': { N: '1' } };
    const Key = { id: { S: String(id) } };
    return { Update: { TableName, Key, UpdateExpression: 'ADD n :one', ExpressionAttributeValues } };
  }

  /** By id. */
  async all(): Promise<Record<string, number>> {
    const { Items = [] } = await this.#dynamodb.send(new ScanCommand({ TableName, ConsistentRead: true }));
    return Object.fromEntries(Items.map(({ id, n }) => [id!.S!, Number(n!.N)]));
  }
}
