import { randomUUID } from 'node:crypto';
import type { Item, Table } from 'dynalite/db/index.js';
import { itemBytes } from './capacity.ts';
import type { Change, Database, Remover } from './database.ts';
import { sameItem } from './expressions.ts';
import { REGION } from './store-view.ts';

export type StreamViewType = 'KEYS_ONLY' | 'NEW_IMAGE' | 'OLD_IMAGE' | 'NEW_AND_OLD_IMAGES';

/** One change, as Lambda's event source hands it over. */
export interface ChangeRecord {
  readonly eventID: string;
  readonly eventName: 'INSERT' | 'MODIFY' | 'REMOVE';
  readonly eventVersion: '1.1';
  readonly eventSource: 'aws:dynamodb';
  readonly awsRegion: string;
  readonly eventSourceARN: string;
  readonly dynamodb: {
    /** Epoch s. */
    readonly ApproximateCreationDateTime: number;
    readonly Keys: Item;
    readonly NewImage?: Item;
    readonly OldImage?: Item;
    readonly SequenceNumber: string;
    readonly SizeBytes: number;
    readonly StreamViewType: StreamViewType;
  };
  /** Present when the item expired. */
  readonly userIdentity?: { readonly type: 'Service'; readonly principalId: 'dynamodb.amazonaws.com' };
}

/** Is told after the fact: what it throws is logged and does not undo the change. */
export type ChangeListener = (record: ChangeRecord) => void;

/** The stream of one table since it was switched on, or since the process began: it is kept in memory only. */
export interface TableStream {
  readonly arn: string;
  readonly label: string;
  readonly table: Table;
  readonly view: StreamViewType;
  /** Oldest first; older ones than these are trimmed. */
  readonly records: { readonly sequence: bigint; readonly record: ChangeRecord }[];
  /** First sequence number that the stream has not trimmed. */
  trimmedBelow: bigint;
  /** Switched off: nothing is added any more. */
  closed: boolean;
}

/** Records are kept for a day, as AWS does, and at most this many per table, for the memory's sake. */
const RECORD_LIFE_MS = 24 * 3_600_000;
const RECORDS_MAX = 10_000;

/**
 * Streams of all tables. A change appears once it is stored, in the order of its item's changes. What a process had not
 * delivered when it ended is not delivered after its restart: whoever needs that reads the tables.
 */
export class ChangeFeed {
  readonly #streams = new Map<string, TableStream>();
  readonly #listeners = new Map<string, Set<ChangeListener>>();
  readonly #now: () => number;
  #sequence: bigint;

  constructor(database: Database, now: () => number) {
    this.#now = now;
    // Numbers of a later process are higher, because its clock is.
    this.#sequence = BigInt(now()) * 1_000_000_000n;
    database.listeners.push((changes, remover) => {
      for (const change of changes) this.#add(change, remover);
    });
  }

  /** Streams, closed ones included, oldest first. */
  get streams(): readonly TableStream[] {
    return [...this.#streams.values()];
  }

  byArn(arn: string): TableStream | undefined {
    return this.#streams.get(arn);
  }

  /** The number that the next record of any stream exceeds. */
  get position(): bigint {
    return this.#sequence;
  }

  /** Begins the stream that a table's description names. */
  begin(table: Table): void {
    const { LatestStreamArn: arn, LatestStreamLabel: label, StreamSpecification: specification } = table;
    if (!arn || !label || !specification?.StreamEnabled) return;
    const view = specification.StreamViewType as StreamViewType;
    this.#streams.set(arn, { arn, label, table, view, records: [], trimmedBelow: this.#sequence + 1n, closed: false });
  }

  end(table: Table): void {
    const stream = table.LatestStreamArn && this.#streams.get(table.LatestStreamArn);
    if (stream) stream.closed = true;
  }

  /** Calls `listener` with each change of a table that has a stream. @returns what ends that */
  onChange(table: string, listener: ChangeListener): () => void {
    const listeners = this.#listeners.get(table) ?? new Set();
    this.#listeners.set(table, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  #add({ table, before, after }: Change, remover: Remover): void {
    const stream = table.LatestStreamArn && this.#streams.get(table.LatestStreamArn);
    if (!stream || stream.closed || sameItem(before, after)) return;
    this.#sequence += 1n;
    const record = this.#recordOf(stream, before, after, remover);
    stream.records.push({ sequence: this.#sequence, record });
    this.#trim(stream);
    for (const listener of this.#listeners.get(table.TableName) ?? []) {
      try {
        listener(record);
      } catch (error) {
        console.error('a listener to changes failed:', error);
      }
    }
  }

  #recordOf(stream: TableStream, before: Item | undefined, after: Item | undefined, remover: Remover): ChangeRecord {
    const item = (after ?? before)!;
    const Keys = Object.fromEntries(stream.table.KeySchema.map(({ AttributeName: name }) => [name, item[name]!]));
    const { view } = stream;
    const NewImage = view === 'NEW_IMAGE' || view === 'NEW_AND_OLD_IMAGES' ? after : undefined;
    const OldImage = view === 'OLD_IMAGE' || view === 'NEW_AND_OLD_IMAGES' ? before : undefined;
    return {
      eventID: randomUUID().replaceAll('-', ''),
      eventName: !before ? 'INSERT' : after ? 'MODIFY' : 'REMOVE',
      eventVersion: '1.1',
      eventSource: 'aws:dynamodb',
      awsRegion: REGION,
      eventSourceARN: stream.arn,
      dynamodb: {
        ApproximateCreationDateTime: Math.floor(this.#now() / 1_000),
        Keys,
        ...(NewImage && { NewImage }),
        ...(OldImage && { OldImage }),
        SequenceNumber: sequenceText(this.#sequence),
        SizeBytes: [Keys, NewImage, OldImage].reduce((sum, image) => sum + (image ? itemBytes(image) : 0), 0),
        StreamViewType: view,
      },
      ...(remover === 'ttl' && { userIdentity: { type: 'Service', principalId: 'dynamodb.amazonaws.com' } as const }),
    };
  }

  #trim(stream: TableStream): void {
    const oldest = (this.#now() - RECORD_LIFE_MS) / 1_000;
    const { records } = stream;
    let gone = records.length > RECORDS_MAX ? RECORDS_MAX / 10 : 0;
    while (gone < records.length && records[gone]!.record.dynamodb.ApproximateCreationDateTime < oldest) gone += 1;
    if (gone === 0) return;
    records.splice(0, gone);
    stream.trimmedBelow = records[0]?.sequence ?? this.#sequence + 1n;
  }
}

/** Sequence numbers compare as numbers; all have the same length, so they compare as text, too. */
export function sequenceText(sequence: bigint): string {
  return String(sequence).padStart(24, '0');
}
