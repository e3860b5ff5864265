import { InvalidRequest } from '../domain/errors.ts';
import type { Batch, ProducedRecord } from '../domain/record.ts';
import { type ApiRequest, mediaTypeOf, partitionOfPath, topicOf } from './http-request.ts';
import { idempotencyKeyOf } from './idempotency-key.ts';
import { JSON_TYPE, NDJSON_TYPE, RECORD_BATCH_TYPE } from './media-type.ts';
import { parseProduceBody } from './produce-request.ts';
import { parseQuery } from './query.ts';
import { checkRawBatch } from './record-batch.ts';

/** Records for a topic. */
export interface ProduceCall {
  readonly topic: string;
  readonly records: readonly ProducedRecord[];
  /** Every value is known to be a JSON text or null. */
  readonly json: boolean;
  readonly idempotencyKey: string | undefined;
}

/**
 * Reads `POST …/records`, JSON or NDJSON.
 * @param partitions how many the topic has, if that is known: records that name others are at fault as well
 * @throws {BackboneError} saying what is wrong with it, and where
 */
export function parseProduceCall(request: ApiRequest, partitions?: number): ProduceCall {
  const topic = topicOf(request);
  const mediaType = mediaTypeOf(request, [JSON_TYPE, NDJSON_TYPE]);
  const { key } = parseQuery(request.rawQuery, ['key']);
  if (key !== undefined && mediaType !== NDJSON_TYPE) {
    throw new InvalidRequest(`'key' is for ${NDJSON_TYPE}; in JSON each record brings its own`, { parameter: 'key' });
  }
  const idempotencyKey = idempotencyKeyOf(request);
  return { topic, idempotencyKey, ...parseProduceBody(request.readBody(), mediaType, key, partitions) };
}

/** One stored batch for one partition. */
export interface RawProduceCall {
  readonly topic: string;
  readonly partition: number;
  readonly batch: Batch;
  readonly idempotencyKey: string | undefined;
}

/** Reads `POST …/partitions/{partition}/records`: the batch is checked, and stored as it was sent. */
export function parseRawProduceCall(request: ApiRequest): RawProduceCall {
  const [topic, partition] = [topicOf(request), partitionOfPath(request)];
  parseQuery(request.rawQuery, []);
  mediaTypeOf(request, [RECORD_BATCH_TYPE]);
  const idempotencyKey = idempotencyKeyOf(request);
  const bytes = request.readBody();
  const { count } = checkRawBatch(bytes);
  return { topic, partition, idempotencyKey, batch: { count, bytes, json: false } };
}
