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

export function toAttributes({ epoch, committed, owner, metadata, until, push, parked, about }: Position): Item {
  return {
    v: { N: LAYOUT_VERSION },
    epoch: { N: String(epoch) },
    committed: { N: String(committed) },
    ...(owner === undefined ? {} : { owner: { S: owner } }),
    ...(metadata === undefined ? {} : { metadata: { S: metadata } }),
    ...(until === undefined ? {} : { until: { N: String(until) } }),
    ...(push === undefined ? {} : { push: pushToMap(push) }),
    ...(parked === undefined ? {} : { parked: toLaneSet([...parked]) }),
    ...(about && {
      key: { B: about.key },
      keyBytes: { N: String(about.keyBytes) },
      parkedAt: { N: String(about.parkedAt) },
      ...(about.giveUp !== undefined && { giveUp: { N: String(about.giveUp) } }),
    }),
  };
}

/** Attribute `parked`: 8 bytes for each lane, a set that is never written whole, so that nobody writes back what was taken off. */
export function toLaneSet(lanes: readonly string[]): AttributeValue {
  return { BS: lanes.map((lane) => Buffer.from(lane, 'hex')) };
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
    ...(item.parked && { parked: new Set(item.parked.BS!.map((bytes) => Buffer.from(bytes).toString('hex'))) }),
    ...(item.key && {
      about: {
        key: item.key.B!,
        keyBytes: Number(item.keyBytes!.N),
        parkedAt: Number(item.parkedAt!.N),
        ...(item.giveUp && { giveUp: Number(item.giveUp.N) }),
      },
    }),
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
 *   passed?      for each lane 8 bytes and 4, big-endian: records that were passed over
 *   settled?     of a lane: its records that are settled
 *   ready?       true
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
  passed,
  settled,
  isReady,
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
      ...(passed?.size && { passed: { B: packPassed(passed) } }),
      ...(settled && { settled: { N: String(settled) } }),
      ...(isReady && { ready: { BOOL: true } }),
      ...(lastError && {
        lastError: {
          M: { name: { S: lastError.name }, message: { S: lastError.message }, at: { N: String(lastError.at) } },
        },
      }),
    },
  };
}

function toPush({ failure, inARow, redrives, slow, expired, passed, settled, ready, lastError }: Item): PushState {
  const error = lastError?.M;
  return {
    ...(failure && {
      failure: Object.fromEntries(FAILURE.map((name) => [name, Number(failure.M![name]!.N)])) as unknown as Failure,
    }),
    ...(inARow && { deadLettersInARow: Number(inARow.N) }),
    ...(redrives && { redrivesFailed: Number(redrives.N) }),
    ...(slow && { isSlow: true }),
    ...(expired && { expired: Number(expired.N) }),
    ...(passed && { passed: unpackPassed(passed.B!) }),
    ...(settled && { settled: Number(settled.N) }),
    ...(ready && { isReady: true }),
    ...(error && {
      lastError: { name: error.name!.S!, message: error.message!.S!, at: Number(error.at!.N) },
    }),
  };
}

const LANE_BYTES = 8;
const PASSED_BYTES = LANE_BYTES + 4;

function packPassed(passed: ReadonlyMap<string, number>): Uint8Array {
  const packed = Buffer.alloc(passed.size * PASSED_BYTES);
  let at = 0;
  for (const [lane, count] of passed) {
    packed.write(lane, at, 'hex');
    packed.writeUInt32BE(count, at + LANE_BYTES);
    at += PASSED_BYTES;
  }
  return packed;
}

function unpackPassed(bytes: Uint8Array): ReadonlyMap<string, number> {
  const packed = Buffer.from(bytes);
  const passed = new Map<string, number>();
  for (let at = 0; at < packed.length; at += PASSED_BYTES) {
    passed.set(packed.toString('hex', at, at + LANE_BYTES), packed.readUInt32BE(at + LANE_BYTES));
  }
  return passed;
}
