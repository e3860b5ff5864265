import { DeleteItemCommand, GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { type DynamoDB, readOutcome, WriteAttempts, whetherWritten } from './dynamo.ts';
import { type Item, itemKey } from './item-key.ts';
import { KNOWN_LAYOUT, KNOWN_VERSION, refuseUnknownLayout, SWEEP_LEASE } from './keys.ts';

const KEY = itemKey(SWEEP_LEASE);
const NAMES = { '#token': 'token', '#until': 'until' };
const MINE = `${KNOWN_LAYOUT} AND #token = :token`;

/** One item in the State table: the run of the sweep whose token it holds may work until its time is up. */
export class SweepLease {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /** @param until epoch ms @returns false while another run holds it. @throws {WriteFailed} */
  async take(token: string, until: number, now: number): Promise<boolean> {
    return this.#set(
      token,
      until,
      `attribute_not_exists(pk) OR (${KNOWN_LAYOUT} AND (#until <= :now OR #token = :token))`,
      {
        ':now': { N: String(now) },
      },
    );
  }

  /** @param until epoch ms @returns false when it is no longer mine. @throws {WriteFailed} */
  async renew(token: string, until: number): Promise<boolean> {
    return this.#set(token, until, MINE);
  }

  /** Until when a run may work, epoch ms; undefined: none does. @throws {Throttled | Unavailable} */
  async heldUntil(): Promise<number | undefined> {
    const { Item } = await readOutcome(this.#dynamodb.send(new GetItemCommand({ TableName: this.#table, Key: KEY })));
    if (Item === undefined) return undefined;
    refuseUnknownLayout(Item);
    return Number(Item.until!.N);
  }

  /** Lets the next run in; a lease that is no longer mine is left alone. @throws {WriteFailed} */
  async release(token: string): Promise<void> {
    const command = new DeleteItemCommand({
      TableName: this.#table,
      Key: KEY,
      ConditionExpression: MINE,
      ExpressionAttributeNames: { '#token': NAMES['#token'] },
      ExpressionAttributeValues: { ':token': { S: token }, ...KNOWN_VERSION },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  async #set(token: string, until: number, condition: string, values: Item = {}): Promise<boolean> {
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: KEY,
      UpdateExpression: 'SET #token = :token, #until = :until, v = :v',
      ConditionExpression: condition,
      ExpressionAttributeNames: NAMES,
      ExpressionAttributeValues: {
        ':token': { S: token },
        ':until': { N: String(until) },
        ...KNOWN_VERSION,
        ...values,
      },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    return whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }
}
