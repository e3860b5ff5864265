import { UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { Bucket } from '../domain/quota.ts';
import { BUCKET_LIFE_MS, BURST_MS } from '../domain/quota-limits.ts';
import { type DynamoDB, isConditionFailed, WriteAttempts } from './dynamo.ts';
import { itemKey } from './item-key.ts';
import { KNOWN_LAYOUT, KNOWN_VERSION, refuseUnknownLayout } from './keys.ts';
import { bucketKey } from './quota-keys.ts';

/** Writes until one holds: it begins the bucket, goes on with it, or is refused; between two, another may have begun it. */
const TRIES_MAX = 3;

/** The bucket's time is what is shared out: `until` tells up to when it was given away. */
const GO_ON = {
  UpdateExpression: 'SET #until = #until + :ms, expiresAt = :expiresAt',
  ConditionExpression: `${KNOWN_LAYOUT} AND #until BETWEEN :since AND :now`,
};
/** Nobody took anything for a while: what it has saved is bounded. */
const BEGIN = {
  UpdateExpression: 'SET #until = :begun, expiresAt = :expiresAt, v = :v',
  ConditionExpression: `attribute_not_exists(pk) OR (${KNOWN_LAYOUT} AND #until < :since)`,
};

/** How a bucket stands after somebody has tried to take of it. */
export interface BucketState {
  readonly isTaken: boolean;
  /** Epoch ms up to which its time was given away: while that is not over, nobody takes more. */
  readonly until: number;
}

/** Quotas' buckets in the State table, one item each. Takers never conflict: each write adds to what it finds. */
export class QuotaBuckets {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /**
   * Takes `ms` of a bucket's time, unless more of it was taken than has passed. So what is larger than any saving is taken,
   * too, and those after it wait. One write unit, refused or not; one more where the bucket stands otherwise than one knows.
   *
   * @param seenUntil `until` as one knows it; undefined: not at all
   * @throws {WriteFailed} it may have been taken
   */
  async take(bucket: Bucket, ms: number, now: number, seenUntil?: number): Promise<BucketState> {
    const since = now - BURST_MS;
    let begins = seenUntil === undefined || seenUntil < since;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const met = await this.#try(bucket, { ms, now, since, begins });
      if (typeof met === 'number') return { isTaken: true, until: met };
      if (met.until !== undefined && met.until > now) return { isTaken: false, until: met.until };
      begins = met.until === undefined || met.until < since;
    }
    return { isTaken: false, until: now + ms };
  }

  /** @returns the new `until`, or what was met instead */
  async #try(
    bucket: Bucket,
    { ms, now, since, begins }: { ms: number; now: number; since: number; begins: boolean },
  ): Promise<number | { readonly until: number | undefined }> {
    const expiresAt = Math.ceil((now + ms + BUCKET_LIFE_MS) / 1_000);
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: itemKey(bucketKey(bucket)),
      ...(begins ? BEGIN : GO_ON),
      ExpressionAttributeNames: { '#until': 'until' },
      ExpressionAttributeValues: {
        ...(begins
          ? { ':begun': { N: String(since + ms) } }
          : { ':ms': { N: String(ms) }, ':now': { N: String(now) } }),
        ':since': { N: String(since) },
        ':expiresAt': { N: String(expiresAt) },
        ...KNOWN_VERSION,
      },
      ReturnValues: 'UPDATED_NEW',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    try {
      const { Attributes } = await new WriteAttempts(command).outcome(this.#dynamodb.send(command));
      return Number(Attributes!.until!.N);
    } catch (error) {
      if (!isConditionFailed(error)) throw error;
      if (error.Item === undefined) return { until: undefined };
      refuseUnknownLayout(error.Item);
      return { until: Number(error.Item.until!.N) };
    }
  }
}
