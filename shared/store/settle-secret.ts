import { GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { type DynamoDB, readOutcome, WriteAttempts, whetherWritten } from './dynamo.ts';
import { itemKey } from './item-key.ts';
import { LAYOUT_VERSION, refuseUnknownLayout } from './keys.ts';
import { SETTLE_SECRET } from './once-keys.ts';

const KEY = itemKey(SETTLE_SECRET);

/** One item in the State table: made by whoever needs it first, and never changed. */
export class SettleSecret {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;
  #known: Promise<Uint8Array> | undefined;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /**
   * The secret, read once.
   * @param make new random bytes, for the first of all
   * @throws {Throttled | Unavailable | WriteFailed}
   */
  async read(make: () => Uint8Array): Promise<Uint8Array> {
    this.#known ??= this.#readOrMake(make);
    try {
      return await this.#known;
    } catch (error) {
      this.#known = undefined;
      throw error;
    }
  }

  async #readOrMake(make: () => Uint8Array): Promise<Uint8Array> {
    const found = await this.#find();
    if (found !== undefined) return found;
    const command = new PutItemCommand({
      TableName: this.#table,
      Item: { ...KEY, v: { N: LAYOUT_VERSION }, secret: { B: make() } },
      ConditionExpression: 'attribute_not_exists(pk)',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    // Its answer may be lost, and another may have been faster: what stands there counts.
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
    const stored = await this.#find();
    if (stored === undefined) throw new Error('the secret was stored and is gone');
    return stored;
  }

  async #find(): Promise<Uint8Array | undefined> {
    const command = new GetItemCommand({ TableName: this.#table, Key: KEY, ConsistentRead: true });
    const { Item } = await readOutcome(this.#dynamodb.send(command));
    if (Item === undefined) return undefined;
    refuseUnknownLayout(Item);
    return Item.secret!.B!;
  }
}
