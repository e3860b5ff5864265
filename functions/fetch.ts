import { linkUploads } from '../shared/operations/link-uploads.ts';
import { readBatches } from '../shared/operations/read-batches.ts';
import { openFetchAnswer } from '../shared/wire/fetch-answer.ts';
import { parseFetchRequest } from '../shared/wire/fetch-request.ts';
import { type ApiRoutes, type ApiSettings, apiHandler, type GatewayHandler } from './api-handler.ts';
import { awsBackbone, type Backbone } from './backbone.ts';

/** Reads one partition: JSON records, or the stored batches as they are. */
export function fetchHandler(backbone: Backbone, settings?: ApiSettings): GatewayHandler {
  return apiHandler(() => backbone, fetchRoutes, settings);
}

export const handler = apiHandler(awsBackbone, fetchRoutes);

function fetchRoutes(backbone: Backbone): ApiRoutes {
  return {
    'GET /v1/topics/{topic}/partitions/{partition}/records': async (request, answerBy) => {
      const fetch = parseFetchRequest(request);
      const answer = openFetchAnswer(fetch);
      const reading = { ...fetch, slotsMax: fetch.maxRecords, deadline: answerBy };
      const result = await readBatches(backbone, reading, linkUploads(backbone, answer));
      if (answer.count > 0) {
        const log = `${result.topicId}.${fetch.partition}`;
        backbone.observe({ kind: 'records_read', log, count: answer.count });
      }
      return answer.finish(result);
    },
  };
}
