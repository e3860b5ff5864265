import { InvalidRequest } from '../domain/errors.ts';
import type { PreparedAppend } from '../domain/prepared.ts';
import type { ProducedRecord } from '../domain/record.ts';
import { type ApiAnswer, jsonAnswer } from './http-answer.ts';
import { type ApiRequest, mediaTypeOf, topicOf } from './http-request.ts';
import { idempotencyKeyOf } from './idempotency-key.ts';
import { jsonObjectOf } from './json-body.ts';
import { JSON_TYPE } from './media-type.ts';
import type { PartitionShare } from './produce-batches.ts';
import { parseProduceBody } from './produce-request.ts';
import { parseQuery } from './query.ts';

/** Records to be stored by a transaction of the caller's. */
export interface PrepareCall {
  readonly topic: string;
  readonly records: readonly ProducedRecord[];
  /** Every value is a JSON text or null. */
  readonly json: boolean;
}

/** Reads `POST …/prepare`. @throws {BackboneError} as for records that are produced */
export function parsePrepareCall(request: ApiRequest): PrepareCall {
  const topic = topicOf(request);
  parseQuery(request.rawQuery, []);
  mediaTypeOf(request, [JSON_TYPE]);
  if (idempotencyKeyOf(request) !== undefined) {
    throw new InvalidRequest(
      "'Idempotency-Key' is for records that are produced: the transaction makes these happen once",
      {
        header: 'Idempotency-Key',
      },
    );
  }
  const { records, json } = parseProduceBody(request.readBody(), JSON_TYPE);
  const index = records.findIndex(({ upload }) => upload !== undefined);
  if (index >= 0) {
    throw new InvalidRequest(`Record ${index} names an upload, which no transaction can store`, {
      index,
      field: 'valueEncoding',
    });
  }
  return { topic, records, json };
}

/** A put of DynamoDB's, attribute values and all. */
interface Put {
  readonly TableName: string;
  readonly Item: Readonly<Record<string, object>>;
  readonly ConditionExpression: string;
  readonly ExpressionAttributeNames: Readonly<Record<string, string>>;
}

/**
 * Where each record will be, in the order sent, and what stores them: puts for the caller's own transaction, binary
 * values in base64, as in DynamoDB's JSON.
 */
export function prepareAnswer(
  shares: ReadonlyMap<number, PartitionShare>,
  { slots, placement, lifeMs }: PreparedAppend,
  puts: readonly Put[],
  token: string,
): ApiAnswer {
  const offsets: object[] = [];
  for (const { partition, reservation } of slots) {
    const { records, indexes } = shares.get(partition)!;
    for (const [i, { timestamp = placement.takenAt }] of records.entries()) {
      offsets[indexes[i]!] = { partition, offset: reservation.base + i, timestamp };
    }
  }
  return jsonAnswer({ offsets, puts: puts.map(withBase64), lifeMs, token });
}

function withBase64(put: Put): Put {
  const values = Object.entries(put.Item).map(([name, value]) => [
    name,
    'B' in value ? { B: Buffer.from(value.B as Uint8Array).toString('base64') } : value,
  ]);
  return { ...put, Item: Object.fromEntries(values) };
}

/** Reads `POST …/settle`. @throws {InvalidRequest} */
export function parseSettleCall(request: ApiRequest): { readonly topic: string; readonly token: string } {
  parseQuery(request.rawQuery, []);
  mediaTypeOf(request, [JSON_TYPE]);
  const { token, ...unknown } = jsonObjectOf(request.readBody());
  const [field] = Object.keys(unknown);
  if (field !== undefined) throw new InvalidRequest(`A settlement has no field '${field.slice(0, 64)}'`, { field });
  if (typeof token !== 'string') throw new InvalidRequest("'token' must be a text", { field: 'token' });
  return { topic: topicOf(request), token };
}
