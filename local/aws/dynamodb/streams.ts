import type { Store } from 'dynalite/db/index.js';
import { type ChangeFeed, type ChangeRecord, sequenceText, type TableStream } from './change-feed.ts';
import type { Database } from './database.ts';
import { resourceNotFound, streamError, validationError } from './errors.ts';
import { check } from './requests.ts';
import { StoreView } from './store-view.ts';

/** Every stream has one shard, of this name. */
const SHARD = 'shardId-00000000000000000000-00000001';
/** Source: AWS, "GetShardIterator": an iterator is valid for 15 minutes. */
const ITERATOR_LIFE_MS = 15 * 60_000;
/** Source: AWS, "GetRecords": 1,000 records or 1 MB. */
const RECORDS_MAX = 1_000;
const BYTES_MAX = 1024 * 1024;
const LIST_MAX = 100;

const ARN = { type: 'String', notNull: true, lengthGreaterThanOrEqual: 37, lengthLessThanOrEqual: 1024 };
const TYPES = {
  list: { TableName: { type: 'String' }, Limit: limit(LIST_MAX), ExclusiveStartStreamArn: { type: 'String' } },
  describe: { StreamArn: ARN, Limit: limit(LIST_MAX), ExclusiveStartShardId: { type: 'String' } },
  iterator: {
    StreamArn: ARN,
    ShardId: { type: 'String', notNull: true },
    ShardIteratorType: {
      type: 'String',
      notNull: true,
      enum: ['AFTER_SEQUENCE_NUMBER', 'LATEST', 'AT_SEQUENCE_NUMBER', 'TRIM_HORIZON'],
    },
    SequenceNumber: { type: 'String', regex: '\\d{21,40}' },
  },
  records: { ShardIterator: { type: 'String', notNull: true }, Limit: limit(RECORDS_MAX) },
};

function limit(most: number) {
  return { type: 'Integer', greaterThanOrEqual: 1, lessThanOrEqual: most };
}

interface Iterator {
  readonly arn: string;
  /** Sequence number of the first record to answer, or any below it. */
  readonly from: string;
  /** Whether what was trimmed since may be passed over. */
  readonly trimmable: boolean;
  /** Epoch ms. */
  readonly at: number;
}

/** The DynamoDB Streams API over the change feed. */
export class Streams {
  readonly #feed: ChangeFeed;
  readonly #now: () => number;
  readonly #store: Store;

  constructor(feed: ChangeFeed, database: Database, now: () => number) {
    this.#feed = feed;
    this.#now = now;
    this.#store = new StoreView(database);
  }

  list(body: unknown): unknown {
    const input = this.#checked<{ TableName?: string; Limit?: number; ExclusiveStartStreamArn?: string }>(body, 'list');
    const all = this.#feed.streams.filter(({ table }) => !input.TableName || table.TableName === input.TableName);
    const start = 1 + all.findIndex(({ arn }) => arn === input.ExclusiveStartStreamArn);
    const page = all.slice(start, start + (input.Limit ?? LIST_MAX));
    return {
      Streams: page.map(({ arn, label, table }) => ({
        StreamArn: arn,
        StreamLabel: label,
        TableName: table.TableName,
      })),
      ...(start + page.length < all.length && { LastEvaluatedStreamArn: page.at(-1)!.arn }),
    };
  }

  describe(body: unknown): unknown {
    const input = this.#checked<{ StreamArn: string; ExclusiveStartShardId?: string }>(body, 'describe');
    const stream = this.#stream(input.StreamArn);
    const last = stream.records.at(-1);
    const range = {
      StartingSequenceNumber: sequenceText(stream.trimmedBelow),
      ...(stream.closed && { EndingSequenceNumber: sequenceText(last?.sequence ?? stream.trimmedBelow) }),
    };
    return {
      StreamDescription: {
        StreamArn: stream.arn,
        StreamLabel: stream.label,
        StreamStatus: stream.closed ? 'DISABLED' : 'ENABLED',
        StreamViewType: stream.view,
        CreationRequestDateTime: Date.parse(`${stream.label}Z`) / 1_000,
        TableName: stream.table.TableName,
        KeySchema: stream.table.KeySchema,
        Shards: input.ExclusiveStartShardId ? [] : [{ ShardId: SHARD, SequenceNumberRange: range }],
      },
    };
  }

  iterator(body: unknown): unknown {
    const input = this.#checked<{
      StreamArn: string;
      ShardId: string;
      ShardIteratorType: string;
      SequenceNumber?: string;
    }>(body, 'iterator');
    const stream = this.#stream(input.StreamArn);
    if (input.ShardId !== SHARD) {
      throw resourceNotFound(`Requested resource not found: Shard does not exist for the stream: ${input.ShardId}`);
    }
    const bySequence = input.ShardIteratorType.endsWith('SEQUENCE_NUMBER');
    if (bySequence && !input.SequenceNumber) throw validationError('SequenceNumber is required for this iterator type');
    let from = stream.trimmedBelow;
    if (input.ShardIteratorType === 'LATEST') from = this.#feed.position + 1n;
    if (bySequence) from = BigInt(input.SequenceNumber!);
    if (input.ShardIteratorType === 'AFTER_SEQUENCE_NUMBER') from += 1n;
    if (from < stream.trimmedBelow) throw trimmed();
    return { ShardIterator: this.#pack(stream, from, input.ShardIteratorType === 'TRIM_HORIZON') };
  }

  records(body: unknown): unknown {
    const input = this.#checked<{ ShardIterator: string; Limit?: number }>(body, 'records');
    const iterator = this.#unpack(input.ShardIterator);
    const stream = this.#stream(iterator.arn);
    const from = BigInt(iterator.from);
    if (from < stream.trimmedBelow && !iterator.trimmable) throw trimmed();
    const page: ChangeRecord[] = [];
    let next = from;
    let bytes = 0;
    for (
      let i = firstFrom(stream, from);
      i < stream.records.length && page.length < (input.Limit ?? RECORDS_MAX);
      i++
    ) {
      const { record, sequence } = stream.records[i]!;
      bytes += record.dynamodb.SizeBytes;
      if (bytes > BYTES_MAX && page.length > 0) break;
      page.push(record);
      next = sequence + 1n;
    }
    const ended = stream.closed && page.at(-1) === stream.records.at(-1)?.record;
    return {
      Records: page.map(toWire),
      ...(!ended && { NextShardIterator: this.#pack(stream, next, iterator.trimmable && page.length === 0) }),
    };
  }

  #checked<T>(body: unknown, operation: keyof typeof TYPES): T {
    return check(body, TYPES[operation], undefined, this.#store) as unknown as T;
  }

  #stream(arn: string): TableStream {
    const stream = this.#feed.byArn(arn);
    if (!stream) throw resourceNotFound(`Requested resource not found: Stream: ${arn} not found`);
    return stream;
  }

  #pack(stream: TableStream, from: bigint, trimmable: boolean): string {
    const iterator: Iterator = { arn: stream.arn, from: String(from), trimmable, at: this.#now() };
    return Buffer.from(JSON.stringify(iterator)).toString('base64');
  }

  #unpack(text: string): Iterator {
    let iterator: Iterator;
    try {
      iterator = JSON.parse(Buffer.from(text, 'base64').toString());
    } catch {
      throw validationError('Invalid ShardIterator');
    }
    if (iterator.at + ITERATOR_LIFE_MS < this.#now()) {
      throw streamError('ExpiredIteratorException', 'Iterator has expired: it was made more than 15 minutes ago');
    }
    return iterator;
  }
}

/** Index of the first record at or after a sequence number. */
function firstFrom(stream: TableStream, sequence: bigint): number {
  let low = 0;
  let high = stream.records.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (stream.records[middle]!.sequence < sequence) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A record as the API answers it: its identity is spelled otherwise than in Lambda's event. */
function toWire({ eventSourceARN: _, userIdentity: identity, ...record }: ChangeRecord): unknown {
  return { ...record, ...(identity && { userIdentity: { Type: identity.type, PrincipalId: identity.principalId } }) };
}

function trimmed() {
  return streamError('TrimmedDataAccessException', 'The records at this position are no longer kept');
}
