import { randomUUID } from 'node:crypto';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { itemKey } from '../../shared/store/item-key.ts';
import { LAYOUT_VERSION, refuseUnknownLayout } from '../../shared/store/keys.ts';
import { effectKey } from '../../shared/store/once-keys.ts';
import { InvalidOptions } from '../errors.ts';
import { SURROUNDINGS, type Surroundings } from '../surroundings.ts';
import type { Delivered, RecordDelivery } from './delivery.ts';
import { EffectInProgress, EffectUnfinished } from './errors.ts';
import { deliveryOf, expiryOf, type OnceOptions, recordOf, stateTableOf } from './process-once.ts';
import { commands } from './transaction.ts';

/** Longest that a stored result may be, as JSON. */
const RESULT_BYTES_MAX = 64 * 1024;
const TIMEOUT_MS_DEFAULT = 60_000;

export interface EffectOptions extends OnceOptions {
  /** How long the effect may take: before it is over, no other delivery begins it. Default: 60 s. */
  readonly timeoutMs?: number;
  /**
   * What is to become of an effect that was begun and never told to be done. `retry`: it is begun again: right where the other side
   * knows it by an idempotency key. `human`: `EffectUnfinished`, until somebody has looked and said so by `resolveEffect`.
   */
  readonly whenUnfinished: 'retry' | 'human';
  /** How long the record is remembered, ms. Default: as long as its topic keeps it, and a day. */
  readonly windowMs?: number;
}

type Item = Record<string, AttributeValue>;

/** As it was seen, and not ended since. */
const UNDONE = '(#token = :seen AND attribute_not_exists(#result))';

/**
 * Does something outside of DynamoDB once for a record: a charge, a mail. It is noted that the effect begins, then that it is done, with
 * its result, which later deliveries of the record are given instead.
 *
 * Between the two notes nobody can know whether it came about. What then happens is yours to say: `whenUnfinished`.
 *
 * @param effect given a key of its own for the record, the same for each attempt: hand it on as an idempotency key
 * @returns its result, as JSON carries it; `repeated`: it was done before, and not now
 * @throws {EffectInProgress} {EffectUnfinished} nothing was done; what `effect` throws: then it is unfinished
 */
export async function effectOnce<T>(
  delivered: Delivered,
  effect: (idempotencyKey: string) => Promise<T>,
  options: EffectOptions,
): Promise<{ readonly result: T; readonly repeated: boolean }> {
  const record = await EffectRecord.of(delivered, options);
  const before = await record.begin();
  if (before !== undefined) return { result: before.result as T, repeated: true };
  let result: T;
  try {
    result = await effect(record.idempotencyKey);
  } catch (error) {
    await record.giveUp();
    throw error;
  }
  await record.end(result);
  return { result, repeated: false };
}

/**
 * What somebody found out about an effect that was unfinished.
 * @param found `done` with its result, or `undone`: the next delivery begins it again
 */
export async function resolveEffect(
  delivered: Delivered,
  found: { readonly done: unknown } | 'undone',
  options: OnceOptions,
): Promise<void> {
  const record = await EffectRecord.of(delivered, { ...options, whenUnfinished: 'human' });
  await record.resolve(found);
}

class EffectRecord {
  readonly #delivery: RecordDelivery;
  readonly #options: EffectOptions;
  readonly #table: string;
  readonly #key: Item;
  readonly #retentionMs: number;
  readonly #surroundings: Surroundings;
  readonly #token = randomUUID();
  readonly idempotencyKey: string;

  private constructor(delivery: RecordDelivery, options: EffectOptions, key: Item, retentionMs: number) {
    this.#delivery = delivery;
    this.#options = options;
    this.#table = stateTableOf(options);
    this.#key = key;
    this.#retentionMs = retentionMs;
    this.#surroundings = options.surroundings ?? SURROUNDINGS;
    this.idempotencyKey = `${key.pk!.S}.${Number(key.sk!.S)}`;
  }

  static async of(delivered: Delivered, options: EffectOptions): Promise<EffectRecord> {
    const { timeoutMs = TIMEOUT_MS_DEFAULT, windowMs } = options;
    if (!(timeoutMs > 0)) throw new InvalidOptions("'timeoutMs' must be above 0");
    if (windowMs !== undefined && !(windowMs > 0)) throw new InvalidOptions("'windowMs' must be above 0");
    const delivery = deliveryOf(delivered);
    const ids = await delivery.identify();
    const { position, offset } = recordOf(delivery, ids);
    return new EffectRecord(delivery, options, itemKey(effectKey(position, offset)), ids.retentionMs);
  }

  /** @returns what it came to, if it is done already */
  async begin(): Promise<{ result: unknown } | undefined> {
    const now = this.#surroundings.now();
    const { timeoutMs = TIMEOUT_MS_DEFAULT, whenUnfinished } = this.#options;
    const seconds = { ':seconds': { N: String(Math.floor(now / 1_000)) } };
    if (await this.#put(now, now + timeoutMs, 'attribute_not_exists(pk) OR expiresAt <= :seconds', seconds))
      return undefined;
    const found = await this.#read();
    if (found === undefined) return this.begin(); // it expired in between
    if (found.result !== undefined) return resultOf(found);
    const [startedAt, until] = [Number(found.at!.N), Number(found.until!.N)];
    if (until > now) throw new EffectInProgress(this.#delivery, until - now);
    // An attempt that threw is known not to be at it any more.
    if (until > 0 && whenUnfinished === 'human') throw new EffectUnfinished(this.#delivery, startedAt);
    if (await this.#put(now, now + timeoutMs, UNDONE, { ':seen': found.token! })) return undefined;
    const met = await this.#read();
    if (met?.result !== undefined) return resultOf(met); // whoever began it has ended it after all
    throw new EffectInProgress(this.#delivery, timeoutMs);
  }

  /** It has thrown, so it is over, and nobody need wait for it. Never mind where this cannot be noted. */
  async giveUp(): Promise<void> {
    // 1: long ago. 0: and nobody need look.
    const until = this.#options.whenUnfinished === 'human' ? 1 : 0;
    await this.#put(this.#surroundings.now(), until, UNDONE, { ':seen': { S: this.#token } }).catch(() => {});
  }

  async end(result: unknown): Promise<void> {
    await this.#finish(result, this.#token);
  }

  async resolve(found: { readonly done: unknown } | 'undone'): Promise<void> {
    const item = await this.#read();
    if (item === undefined) throw new InvalidOptions('No such effect was begun');
    if (item.result !== undefined) {
      if (found !== 'undone' && item.result.S === textOf(found.done)) return; // said before
      throw new InvalidOptions('The effect is done, with another result than this');
    }
    if (found !== 'undone') return this.#finish(found.done, item.token!.S!);
    if (await this.#put(this.#surroundings.now(), 0, UNDONE, { ':seen': item.token! })) return;
    throw new InvalidOptions('The effect was ended, or begun anew, meanwhile');
  }

  async #finish(result: unknown, token: string): Promise<void> {
    const text = textOf(result);
    if (Buffer.byteLength(text) > RESULT_BYTES_MAX) {
      throw new InvalidOptions(
        `The result has ${Buffer.byteLength(text)} bytes as JSON; at most ${RESULT_BYTES_MAX} are kept`,
      );
    }
    const { UpdateItemCommand } = await commands();
    const { windowMs } = this.#options;
    await this.#options.dynamodb.send(
      new UpdateItemCommand({
        TableName: this.#table,
        Key: this.#key,
        UpdateExpression: `SET #result = :result${windowMs === undefined ? '' : ', expiresAt = :expiresAt'}`,
        ConditionExpression: 'v = :v AND #token = :token',
        ExpressionAttributeNames: { '#result': 'result', '#token': 'token' },
        ExpressionAttributeValues: {
          ...{ ':result': { S: text }, ':token': { S: token }, ':v': { N: LAYOUT_VERSION } },
          ...(windowMs !== undefined && {
            ':expiresAt': { N: String(secondsOf(this.#surroundings.now() + windowMs)) },
          }),
        },
      }),
    );
  }

  /** @returns whether it is this attempt's */
  async #put(at: number, until: number, condition: string, values: Item): Promise<boolean> {
    const { PutItemCommand } = await commands();
    const { windowMs } = this.#options;
    // What may still go on is not forgotten, however short its window is.
    const expiresAt =
      windowMs === undefined ? expiryOf(this.#retentionMs, at) : secondsOf(Math.max(at + windowMs, until));
    try {
      await this.#options.dynamodb.send(
        new PutItemCommand({
          TableName: this.#table,
          Item: {
            ...this.#key,
            v: { N: LAYOUT_VERSION },
            at: { N: String(at) },
            until: { N: String(until) },
            token: { S: this.#token },
            ...(expiresAt === 0 ? {} : { expiresAt: { N: String(expiresAt) } }),
          },
          // The SDK may meet its own first attempt; one that comes late must not undo what was ended.
          ConditionExpression: `${condition} OR (#token = :own AND attribute_not_exists(#result))`,
          ExpressionAttributeNames: { '#token': 'token', '#result': 'result' },
          ExpressionAttributeValues: { ...values, ':own': { S: this.#token } },
        }),
      );
      return true;
    } catch (error) {
      if ((error as Error).name === 'ConditionalCheckFailedException') return false;
      throw error;
    }
  }

  async #read(): Promise<Item | undefined> {
    const { GetItemCommand } = await commands();
    const command = new GetItemCommand({ TableName: this.#table, Key: this.#key, ConsistentRead: true });
    const { Item } = await this.#options.dynamodb.send(command);
    if (Item !== undefined) refuseUnknownLayout(Item);
    return Item;
  }
}

function resultOf(item: Item): { result: unknown } {
  return { result: JSON.parse(item.result!.S!) };
}

function secondsOf(ms: number): number {
  return Math.ceil(ms / 1_000);
}

/** A result as it is kept: one that is undefined comes back as null. */
function textOf(result: unknown): string {
  return JSON.stringify(result) ?? 'null';
}
