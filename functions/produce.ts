import { PartitionNotFound } from '../shared/domain/errors.ts';
import { appendBatches } from '../shared/operations/append-batches.ts';
import type { ApiRequest } from '../shared/wire/http-request.ts';
import { produceAnswer, rawProduceAnswer } from '../shared/wire/produce-answer.ts';
import { encodeShares, type PartitionShare, shareOut } from '../shared/wire/produce-batches.ts';
import { parseProduceCall, parseRawProduceCall } from '../shared/wire/produce-call.ts';
import { type ApiRoutes, apiHandler, type GatewayHandler } from './api-handler.ts';
import { awsBackbone, type Backbone } from './backbone.ts';

/** What a test fixes. */
export interface ProduceOptions {
  readonly corsOrigins?: readonly string[];
  /** 0 ≤ n < 1: where a request without keys goes. */
  readonly random?: () => number;
}

/** Appends: JSON or NDJSON records, spread by key, or one stored batch to one partition. */
export function produceHandler(
  backbone: Backbone,
  { corsOrigins, random = Math.random }: ProduceOptions = {},
): GatewayHandler {
  return apiHandler(() => produceRoutes(backbone, random), corsOrigins);
}

export const handler = apiHandler(() => produceRoutes(awsBackbone(), Math.random));

function produceRoutes(backbone: Backbone, random: () => number): ApiRoutes {
  return {
    'POST /v1/topics/{topic}/records': async (request: ApiRequest) => {
      const { topic, records, json } = parseProduceCall(request);
      const [now, spread] = [backbone.clock.now(), random()];
      let shares = new Map<number, PartitionShare>();
      const outcomes = await appendBatches(backbone, {
        topic,
        build: ({ partitions }) => {
          shares = shareOut(records, partitions, spread);
          return encodeShares(shares, now, json);
        },
      });
      return produceAnswer(shares, outcomes, now);
    },
    'POST /v1/topics/{topic}/partitions/{partition}/records': async (request: ApiRequest) => {
      const { topic, partition, batch } = parseRawProduceCall(request);
      const outcomes = await appendBatches(backbone, {
        topic,
        build: ({ partitions }) => {
          if (partition >= partitions) throw new PartitionNotFound(topic, partition, partitions);
          return new Map([[partition, batch]]);
        },
      });
      return rawProduceAnswer(outcomes, batch.count);
    },
  };
}
