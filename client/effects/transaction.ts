import type { DynamoDBClient, TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { TRANSACTION_BYTES_MAX, TRANSACTION_WRITES_MAX } from '../../shared/domain/append-limits.ts';
import { ITEM_BYTES_MAX } from '../../shared/domain/limits.ts';
import { InvalidOptions } from '../errors.ts';
import { isPrepared } from '../prepared-append.ts';

/** What is used of a client of DynamoDB. */
export type Sender = Pick<DynamoDBClient, 'send'>;

let loaded: Promise<typeof import('@aws-sdk/client-dynamodb')> | undefined;
/** The SDK's commands, loaded by who needs them: a client that only sends records does without. */
export function commands(): Promise<typeof import('@aws-sdk/client-dynamodb')> {
  loaded ??= import('@aws-sdk/client-dynamodb');
  return loaded;
}

/**
 * Refuses writes that cannot go into one transaction, before anything is sent.
 * @param own writes that are added to them
 * @param tables of the backbone, whose items are not for others to write
 * @throws {InvalidOptions}
 */
export function checkWrites(writes: readonly TransactWriteItem[], own: number, tables: readonly string[]): void {
  const room = TRANSACTION_WRITES_MAX - own;
  if (writes.length > room) {
    throw new InvalidOptions(
      `There are ${writes.length} writes; a transaction has room for ${room} beside the backbone's own`,
    );
  }
  let bytes = 0;
  for (const [i, write] of writes.entries()) {
    const act = write.Put ?? write.Update ?? write.Delete ?? write.ConditionCheck;
    if (act?.TableName === undefined)
      throw new InvalidOptions(`Write ${i} is no Put, Update, Delete or ConditionCheck`);
    const { TableName } = act;
    const isOwn = tables.some((table) => TableName === table || TableName.endsWith(`:table/${table}`));
    if (isOwn && !isPrepared(write)) {
      throw new InvalidOptions(`Write ${i} is to '${TableName}', a table of the backbone's own`);
    }
    const size = sizeOf(act);
    if (size > ITEM_BYTES_MAX)
      throw new InvalidOptions(`Write ${i} has ${size} bytes; an item has at most ${ITEM_BYTES_MAX}`);
    bytes += size;
  }
  if (bytes <= TRANSACTION_BYTES_MAX) return;
  throw new InvalidOptions(`The writes have ${bytes} bytes; a transaction has room for ${TRANSACTION_BYTES_MAX}`);
}

/** Bytes of an item or a key, about: what DynamoDB counts are names and values. */
function sizeOf({ Item, Key }: { Item?: object | undefined; Key?: object | undefined }): number {
  let bytes = 0;
  const count = (value: unknown): void => {
    if (typeof value === 'string') bytes += Buffer.byteLength(value);
    else if (value instanceof Uint8Array) bytes += value.length;
    else if (Array.isArray(value)) for (const one of value) count(one);
    else if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) count(one);
    else bytes += 1;
  };
  for (const [name, value] of Object.entries({ ...Item, ...Key })) {
    bytes += Buffer.byteLength(name);
    count(value);
  }
  return bytes;
}

/** Why each write of a cancelled transaction was refused, in their order; undefined when it was not cancelled. */
export function reasonsOf(error: unknown): readonly Reason[] | undefined {
  const cancelled = error as { name?: string; CancellationReasons?: readonly Reason[] };
  return cancelled?.name === 'TransactionCanceledException' ? (cancelled.CancellationReasons ?? []) : undefined;
}

export interface Reason {
  readonly Code?: string | undefined;
  readonly Item?: Record<string, never> | undefined;
}

export const isRefused = (reason: Reason | undefined) => reason?.Code === 'ConditionalCheckFailed';
const isPassing = ({ Code = '' }: Reason) =>
  Code === 'TransactionConflict' || Code === 'ThrottlingError' || Code === 'ProvisionedThroughputExceeded';

/**
 * Whether the same transaction may go through in a moment: nothing is in its way but haste, or haste hides what the backbone's own
 * writes, behind so many others, would have told.
 */
export function mayPass(reasons: readonly Reason[], others: number): boolean {
  const against = reasons.filter(({ Code = 'None' }) => Code !== 'None');
  return reasons.slice(others).some(isPassing) || (against.length > 0 && against.every(isPassing));
}
