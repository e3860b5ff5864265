import { type AttributeValue, UpdateItemCommand, type UpdateItemCommandInput } from '@aws-sdk/client-dynamodb';
import type { Failure, Position, PositionId, PushState } from '../domain/position.ts';
import { type DynamoDB, isConditionFailed, WriteAttempts } from './dynamo.ts';
import { LAYOUT_VERSION, positionKey, refuseUnknownLayout, type StateKey } from './keys.ts';

type Item = Record<string, AttributeValue>;

export type PositionChange = Omit<UpdateItemCommandInput, 'TableName' | 'Key'>;

/** @returns undefined when the condition held, else what it met @throws {WriteFailed | UnknownLayout} */
export async function updatePosition(
  dynamodb: DynamoDB,
  table: string,
  position: PositionId,
  change: PositionChange,
): Promise<Position | 'nothing' | undefined> {
  const command = new UpdateItemCommand({
    TableName: table,
    Key: key(positionKey(position)),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    ...change,
  });
  try {
    await new WriteAttempts(command).outcome(dynamodb.send(command));
    return undefined;
  } catch (error) {
    if (!isConditionFailed(error)) throw error;
    return error.Item === undefined ? 'nothing' : toPosition(error.Item);
  }
}

export function key({ pk, sk }: StateKey): Item {
  return { pk: { S: pk }, sk: { S: sk } };
}

export function toAttributes({ epoch, committed, owner, metadata, until, push }: Position): Item {
  return {
    v: { N: LAYOUT_VERSION },
    epoch: { N: String(epoch) },
    committed: { N: String(committed) },
    ...(owner === undefined ? {} : { owner: { S: owner } }),
    ...(metadata === undefined ? {} : { metadata: { S: metadata } }),
    ...(until === undefined ? {} : { until: { N: String(until) } }),
    ...(push === undefined ? {} : { push: pushToMap(push) }),
  };
}

export function toPosition(item: Item): Position {
  refuseUnknownLayout(item);
  return {
    epoch: Number(item.epoch!.N),
    committed: Number(item.committed!.N),
    ...(item.owner === undefined ? {} : { owner: item.owner.S! }),
    ...(item.metadata === undefined ? {} : { metadata: item.metadata.S! }),
    ...(item.until === undefined ? {} : { until: Number(item.until.N) }),
    ...(item.push === undefined ? {} : { push: toPush(item.push.M!) }),
  };
}

/*
 * Attribute `push`, a map:
 *
 *   failure?     {retryAt, attempts, absences, span, end, firstFailedAt}, numbers
 *   inARow?      dead letters one after another
 *   redrives?    redriven dead letters that failed one after another
 *   slow?        true
 *   expired?     offsets that retention has overtaken
 *   lastError?   {name, message, at}
 */
const FAILURE = [
  'retryAt',
  'attempts',
  'absences',
  'span',
  'end',
  'firstFailedAt',
] as const satisfies (keyof Failure)[];

export function pushToMap({
  failure,
  deadLettersInARow,
  redrivesFailed,
  isSlow,
  expired,
  lastError,
}: PushState): AttributeValue {
  return {
    M: {
      ...(failure && {
        failure: { M: Object.fromEntries(FAILURE.map((name) => [name, { N: String(failure[name]) }])) },
      }),
      ...(deadLettersInARow && { inARow: { N: String(deadLettersInARow) } }),
      ...(redrivesFailed && { redrives: { N: String(redrivesFailed) } }),
      ...(isSlow && { slow: { BOOL: true } }),
      ...(expired && { expired: { N: String(expired) } }),
      ...(lastError && {
        lastError: {
          M: { name: { S: lastError.name }, message: { S: lastError.message }, at: { N: String(lastError.at) } },
        },
      }),
    },
  };
}

function toPush({ failure, inARow, redrives, slow, expired, lastError }: Item): PushState {
  const error = lastError?.M;
  return {
    ...(failure && {
      failure: Object.fromEntries(FAILURE.map((name) => [name, Number(failure.M![name]!.N)])) as unknown as Failure,
    }),
    ...(inARow && { deadLettersInARow: Number(inARow.N) }),
    ...(redrives && { redrivesFailed: Number(redrives.N) }),
    ...(slow && { isSlow: true }),
    ...(expired && { expired: Number(expired.N) }),
    ...(error && {
      lastError: { name: error.name!.S!, message: error.message!.S!, at: Number(error.at!.N) },
    }),
  };
}
