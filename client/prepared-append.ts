import { JSON_TYPE } from '../shared/wire/media-type.ts';
import { type Encoder, json } from './codec.ts';
import type { Connection } from './connection.ts';
import { type Delivery, InvalidOptions, ValidationError, VertebraError } from './errors.ts';
import { jsonOf } from './prepared-records.ts';
import { encodeMessage } from './producer-record.ts';
import type { Message } from './producer-words.ts';
import { retrying } from './retry.ts';
import { pathOf } from './transport.ts';
import { Upload } from './upload.ts';

export interface PrepareOptions<T> {
  /** How values become bytes. Default: `json()`. */
  readonly codec?: Encoder<T>;
  readonly signal?: AbortSignal;
}

/** Whether a transaction with prepared records was carried out. */
export interface Settled {
  readonly committed: boolean;
}

/** The time in which prepared records may be stored is over. Nothing was sent: settle them, then prepare anew. */
export class PreparedExpired extends VertebraError {
  constructor(topic: string, lifeMs: number) {
    super('prepared_expired', `The records prepared for '${topic}' had to be stored within ${lifeMs} ms`, {
      retryable: true,
      data: { topic, lifeMs },
    });
  }
}

/** One of the `TransactItems` of a TransactWriteItems; the shape is that of the AWS SDK for DynamoDB. */
export interface PreparedItem {
  readonly Put: Put<{ S: string } | { N: string } | { B: Uint8Array } | { BOOL: boolean }>;
}

interface Put<Value> {
  TableName: string;
  Item: Record<string, Value>;
  ConditionExpression: string;
  ExpressionAttributeNames: Record<string, string>;
}

/** What the API answers: bytes are in base64. */
interface Prepared {
  readonly offsets: readonly Delivery[];
  readonly puts: readonly Put<{ S: string } | { N: string } | { B: string } | { BOOL: boolean }>[];
  readonly lifeMs: number;
  readonly token: string;
}

/**
 * Records that a transaction of your own stores, beside its other writes: all of it happens, or nothing. Send `items`
 * within a few seconds, then `settle`, whatever came of it: readers of these partitions wait for it, 10 s at most.
 */
export class PreparedAppend {
  /** For the `TransactItems` of one TransactWriteItems. Sending them too late throws `PreparedExpired`. */
  readonly items: PreparedItem[];
  /** Where each record will be, in the order given. */
  readonly offsets: readonly Delivery[];
  readonly #connection: Connection;
  readonly #topic: string;
  readonly #token: string;
  #settled: Promise<Settled> | undefined;

  /** @param until on the connection's clock */
  constructor(connection: Connection, topic: string, { offsets, puts, lifeMs, token }: Prepared, until: number) {
    this.#connection = connection;
    this.#topic = topic;
    this.#token = token;
    this.offsets = offsets;
    this.items = puts.map(({ Item, ...put }) => {
      const stored = { ...put, Item: Object.fromEntries(Object.entries(Item).map(fromBase64)) };
      const item = {
        // Looked at when the request is written, which is when it is sent.
        get Put() {
          if (connection.surroundings.now() > until) throw new PreparedExpired(topic, lifeMs);
          return stored;
        },
      };
      prepared.add(item);
      return item;
    });
  }

  /**
   * Finds out what became of the transaction: `true` to `committed` means that business write and records are stored,
   * `false` that neither is, nor will be. Until it is settled, do not prepare the same records again.
   *
   * @param outcome what `send`, or `processOnce`, answered: then no call is made; or what it threw; or nothing, as in `finally`
   * @throws {ApiError} @throws {ConnectionError} @throws {RequestTimeout} nothing is decided; call it again
   */
  readonly settle = (outcome?: unknown): Promise<Settled> => {
    if (isDone(outcome)) this.#settled = Promise.resolve({ committed: true });
    this.#settled ??= this.#ask().catch((error: unknown) => {
      this.#settled = undefined;
      throw error;
    });
    return this.#settled;
  };

  async #ask(): Promise<Settled> {
    const path = pathOf('topics', this.#topic, 'settle');
    const body = { type: JSON_TYPE, bytes: JSON.stringify({ token: this.#token }) };
    const { committed } = (await this.#connection.call({ method: 'POST', path, body })).json<Settled>();
    return { committed };
  }
}

const prepared = new WeakSet<object>();

/** Whether a write of a transaction is one of those that `prepareAppend` gave. */
export function isPrepared(write: object): boolean {
  return prepared.has(write);
}

/** @throws {ValidationError} @throws {RecordTooLarge} @throws {ApiError} @throws {ConnectionError} @throws {RequestTimeout} @throws {Aborted} */
export async function prepareAppend<T>(
  connection: Connection,
  topic: string,
  messages: readonly Message<T>[],
  { codec = json<T>(), signal }: PrepareOptions<T> = {},
): Promise<PreparedAppend> {
  if (!Array.isArray(messages)) throw new InvalidOptions("'messages' must be an array");
  const { now } = connection.surroundings;
  const records = [];
  for (const [index, message] of messages.entries()) {
    if (message?.value instanceof Upload) throw new ValidationError(`Message ${index}: an upload cannot be prepared`);
    records.push(await encodeMessage(codec, message, { topic, index, now: now() }));
  }
  const body = { type: JSON_TYPE, bytes: `{"records":[${records.map(jsonOf).join(',')}]}` };
  const path = pathOf('topics', topic, 'prepare');
  const { retry, surroundings, transport } = connection;
  let askedAt = now();
  const attempt = () => {
    askedAt = now(); // what is left of its life was told after this
    return transport.call({ method: 'POST', path, body, signal });
  };
  const answer = await retrying(attempt, { ...retry, signal, surroundings });
  const told = answer.json<Prepared>();
  return new PreparedAppend(connection, topic, told, askedAt + told.lifeMs);
}

function isDone(outcome: unknown): boolean {
  if (typeof outcome !== 'object' || outcome === null || outcome instanceof Error) return false;
  const { $metadata, done } = outcome as { $metadata?: { httpStatusCode?: number }; done?: boolean };
  return done === true || $metadata?.httpStatusCode === 200;
}

function fromBase64<Value extends object>([name, value]: [string, Value | { B: string }]) {
  return [name, 'B' in value ? { B: Buffer.from(value.B, 'base64') } : value] as const;
}
