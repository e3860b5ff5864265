import { randomBytes } from 'node:crypto';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { Placement } from '../shared/domain/claim.ts';
import { BackboneError, PartitionNotFound } from '../shared/domain/errors.ts';
import { readEnv, readWakeEnv } from '../shared/env.ts';
import { appendBatches } from '../shared/operations/append-batches.ts';
import { appendEvents } from '../shared/operations/append-events.ts';
import { createUpload } from '../shared/operations/create-upload.ts';
import { Doorbell } from '../shared/operations/doorbell.ts';
import { prepareAppend, settlePrepared } from '../shared/operations/prepare-append.ts';
import type { RequestPorts } from '../shared/operations/reserve-append.ts';
import { WakeQueue } from '../shared/store/wake-queue.ts';
import { parseEventsCall } from '../shared/wire/cloud-event-input.ts';
import { eventsAnswer } from '../shared/wire/events-answer.ts';
import { fingerprintOfBatch, fingerprintOfRecords } from '../shared/wire/fingerprint.ts';
import { jsonAnswer } from '../shared/wire/http-answer.ts';
import { type ApiRequest, topicOf } from '../shared/wire/http-request.ts';
import { parsePrepareCall, parseSettleCall, prepareAnswer } from '../shared/wire/prepare-call.ts';
import { produceAnswer, rawProduceAnswer } from '../shared/wire/produce-answer.ts';
import { encodeShares, shareOut, uploadsOf } from '../shared/wire/produce-batches.ts';
import { type ProduceCall, parseProduceCall, parseRawProduceCall } from '../shared/wire/produce-call.ts';
import { parseSettleToken, toSettleToken } from '../shared/wire/settle-token.ts';
import { parseUploadRequest } from '../shared/wire/upload-request.ts';
import { type ApiRoutes, type ApiSettings, apiHandler, type GatewayHandler } from './api-handler.ts';
import type { Backbone } from './backbone.ts';
import { observe } from './observability.ts';
import { openProduce } from './produce-backbone.ts';
import { awsDynamoDB, CALLS } from './tables.ts';

/** Without a doorbell nobody is told, without admission nothing is held back. */
type ProduceBackbone = Backbone & Pick<RequestPorts, 'doorbell' | 'admission'>;

/** Appends: JSON or NDJSON records, spread by key, or one stored batch to one partition; announces uploads. */
export function produceHandler(backbone: ProduceBackbone, settings?: ApiSettings): GatewayHandler {
  return apiHandler(() => backbone, produceRoutes, settings);
}

export const handler = apiHandler((): ProduceBackbone => {
  const backbone = openProduce({ dynamodb: awsDynamoDB(), s3: new S3Client(CALLS) }, readEnv(), observe);
  const wakeQueue = new WakeQueue(new SQSClient(CALLS), readWakeEnv().wakeQueueUrl);
  return { ...backbone, doorbell: new Doorbell({ ...backbone, wakeQueue }) };
}, produceRoutes);

/**
 * Refuses a request with every record that is at fault. Which partitions there are is not asked before some record is:
 * it costs a read, and a good request finds out while it is appended.
 */
async function produceCallOf({ topics }: Backbone, request: ApiRequest): Promise<ProduceCall> {
  try {
    return parseProduceCall(request);
  } catch (error) {
    if (!namesRecords(error)) throw error;
    const topic = await topics.fresh(topicOf(request)).catch(() => undefined); // what is wrong with the records is known
    return parseProduceCall(request, topic?.partitions);
  }
}

function namesRecords(error: unknown): boolean {
  return error instanceof BackboneError && 'index' in error.data;
}

const SECRET_BYTES = 32;

function secretOf({ settleSecret }: Backbone): Promise<Uint8Array> {
  return settleSecret.read(() => randomBytes(SECRET_BYTES));
}

function produceRoutes(backbone: ProduceBackbone): ApiRoutes {
  return {
    'POST /v1/topics/{topic}/records': async (request, _, { principal: caller }) => {
      const { topic, records, json, idempotencyKey } = await produceCallOf(backbone, request);
      const uploads = uploadsOf(records);
      const result = await appendBatches(backbone, {
        ...{ topic, caller },
        build: (placement, payloads) => encodeShares(shareOut(records, placement), placement.takenAt, json, payloads),
        ...(uploads && { uploads }),
        ...(idempotencyKey && { once: { key: idempotencyKey, fingerprint: fingerprintOfRecords(records) } }),
      });
      return produceAnswer(shareOut(records, result.placement), result);
    },
    'POST /v1/topics/{topic}/partitions/{partition}/records': async (request, _, { principal: caller }) => {
      const { topic, partition, batch, idempotencyKey } = parseRawProduceCall(request);
      const result = await appendBatches(backbone, {
        ...{ topic, caller },
        build: ({ partitions }) => {
          if (partition >= partitions) throw new PartitionNotFound(topic, partition, partitions);
          return new Map([[partition, batch]]);
        },
        ...(idempotencyKey && { once: { key: idempotencyKey, fingerprint: fingerprintOfBatch(partition, batch) } }),
      });
      return rawProduceAnswer(result, batch.count);
    },
    'POST /v1/topics/{topic}/events': async (request, _, { principal: caller }) => {
      const { topic, events } = parseEventsCall(request);
      const appends = events.map(({ record, json, key, fingerprint }) => ({
        ...{ topic, caller },
        build: (placement: Placement) =>
          encodeShares(shareOut([record], placement), placement.takenAt, json, new Map()),
        once: { key, fingerprint },
        chain: record.key === null ? '' : `key ${Buffer.from(record.key).toString()}`,
      }));
      return eventsAnswer(events, await appendEvents(backbone, appends));
    },
    'POST /v1/topics/{topic}/prepare': async (request, _, { principal: caller }) => {
      const { topic, records, json } = parsePrepareCall(request);
      const secret = await secretOf(backbone);
      const prepared = await prepareAppend(backbone, {
        ...{ topic, caller },
        build: (placement) => encodeShares(shareOut(records, placement), placement.takenAt, json, new Map()),
      });
      const puts = prepared.slots.map(({ partition, reservation, batch }) =>
        backbone.log.put({ topicId: prepared.topic.id, partition }, reservation, batch),
      );
      return prepareAnswer(shareOut(records, prepared.placement), prepared, puts, toSettleToken(prepared, secret));
    },
    'POST /v1/topics/{topic}/settle': async (request: ApiRequest) => {
      const { topic, token } = parseSettleCall(request);
      const committed = await settlePrepared(backbone, parseSettleToken(token, topic, await secretOf(backbone)));
      return jsonAnswer({ committed });
    },
    'POST /v1/topics/{topic}/uploads': async (request: ApiRequest) => {
      const payload = parseUploadRequest(request);
      return jsonAnswer(await createUpload(backbone, topicOf(request), payload), 201);
    },
  };
}
