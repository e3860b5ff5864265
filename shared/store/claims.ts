import { createHash } from 'node:crypto';
import { GetItemCommand, PutItemCommand, ScanCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { Claim } from '../domain/claim.ts';
import type { Page } from '../domain/topic.ts';
import { decodeClaim, encodeClaim } from './claim-layout.ts';
import { type DynamoDB, isConditionFailed, readOutcome, WriteAttempts } from './dynamo.ts';
import { type Item, itemKey } from './item-key.ts';
import { claimKey, KNOWN_LAYOUT, KNOWN_VERSION, LAYOUT_VERSION, refuseUnknownLayout } from './keys.ts';
import { CLAIMS, parseClaimKey } from './listed-keys.ts';

/** What `Idempotency-Key`s stand for, in the State table: one item per topic id and key. */
export class Claims {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /** Reads a live claim, strongly consistent. @param now epoch ms @throws {Throttled | Unavailable} */
  async read(topicId: string, key: string, now: number): Promise<Claim | undefined> {
    const command = new GetItemCommand({ TableName: this.#table, Key: keyOf(topicId, key), ConsistentRead: true });
    const { Item } = await readOutcome(this.#dynamodb.send(command));
    const claim = Item === undefined ? undefined : toClaim(Item);
    return claim !== undefined && isLive(claim, now) ? claim : undefined;
  }

  /**
   * Makes a claim, unless a live one is there: ⌈KB⌉ write units.
   *
   * @returns the claim that was there first, undefined when this one holds. One that pins the same reservations is this
   *   one: a retry met what its own first attempt had written.
   * @throws {WriteFailed}
   */
  async make(topicId: string, key: string, claim: Claim, now: number): Promise<Claim | undefined> {
    const bytes = encodeClaim(claim);
    const command = new PutItemCommand({
      TableName: this.#table,
      Item: {
        ...keyOf(topicId, key),
        v: { N: LAYOUT_VERSION },
        claim: { B: bytes },
        expiresAt: { N: String(claim.expiresAt) },
      },
      ConditionExpression: `attribute_not_exists(pk) OR (${KNOWN_LAYOUT} AND expiresAt <= :now)`,
      ExpressionAttributeValues: { ':now': { N: String(Math.floor(now / 1_000)) }, ...KNOWN_VERSION },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    try {
      await new WriteAttempts(command).outcome(this.#dynamodb.send(command));
      return undefined;
    } catch (error) {
      if (!isConditionFailed(error)) throw error;
      const item = error.Item;
      if (item === undefined) throw WriteAttempts.vanished(error);
      return Buffer.from(bytes).equals(Buffer.from(bytesOf(item))) ? undefined : toClaim(item);
    }
  }

  /**
   * Goes through a megabyte of the whole table for claims, dead ones too: 128 read units.
   *
   * @returns `looked`: items that were gone through; `next`: where to go on
   * @throws {Throttled | Unavailable | UnknownLayout}
   */
  async scan(after?: string): Promise<Page<StoredClaim> & { readonly looked: number }> {
    const command = new ScanCommand({
      TableName: this.#table,
      FilterExpression: 'begins_with(pk, :claims)',
      ExpressionAttributeValues: { ':claims': { S: CLAIMS } },
      ...(after !== undefined && { ExclusiveStartKey: JSON.parse(after) }),
    });
    const { Items = [], ScannedCount, LastEvaluatedKey } = await readOutcome(this.#dynamodb.send(command));
    return {
      items: Items.map(toStored),
      looked: ScannedCount ?? Items.length,
      ...(LastEvaluatedKey && { next: JSON.stringify(LastEvaluatedKey) }),
    };
  }

  /**
   * Replaces a claim by compare-and-set.
   *
   * @returns false when it is no longer `from`, unless it is `to` already. @throws {WriteFailed}
   */
  async replace(topicId: string, key: string, from: Claim, to: Claim): Promise<boolean> {
    const bytes = encodeClaim(to);
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: keyOf(topicId, key),
      UpdateExpression: 'SET claim = :to, expiresAt = :until',
      ConditionExpression: `${KNOWN_LAYOUT} AND claim = :from AND expiresAt = :expiresAt`,
      ExpressionAttributeValues: {
        ':from': { B: encodeClaim(from) },
        ':to': { B: bytes },
        ':expiresAt': { N: String(from.expiresAt) },
        ':until': { N: String(to.expiresAt) },
        ...KNOWN_VERSION,
      },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    try {
      await new WriteAttempts(command).outcome(this.#dynamodb.send(command));
      return true;
    } catch (error) {
      if (!isConditionFailed(error)) throw error;
      return error.Item !== undefined && Buffer.from(bytes).equals(Buffer.from(bytesOf(error.Item)));
    }
  }
}

/** A claim, with what its item's key tells. */
export interface StoredClaim extends Claim {
  readonly topicId: string;
  /** SHA-256 of the idempotency key, base64url. */
  readonly keyDigest: string;
}

function toStored(item: Item): StoredClaim {
  return { ...toClaim(item), ...parseClaimKey(item.pk!.S!) };
}

/** A claim dies by the clock; its deletion may come days later. */
function isLive(claim: Claim, now: number): boolean {
  return claim.expiresAt > Math.floor(now / 1_000);
}

/** The key is the caller's text: only its digest enters the item's key. */
function keyOf(topicId: string, key: string): Item {
  return itemKey(claimKey(topicId, createHash('sha256').update(key).digest('base64url')));
}

function bytesOf(item: Item): Uint8Array {
  refuseUnknownLayout(item);
  const bytes = item.claim?.B;
  if (bytes === undefined) throw new Error(`item ${item.pk?.S} holds no claim`);
  return bytes;
}

function toClaim(item: Item): Claim {
  return { ...decodeClaim(bytesOf(item)), expiresAt: Number(item.expiresAt?.N) };
}
