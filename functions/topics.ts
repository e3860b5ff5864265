import { isAllowed } from '../shared/domain/rights.ts';
import { seenIn } from '../shared/domain/topic.ts';
import { describePartitions, findOffsets } from '../shared/operations/partitions.ts';
import { deleteTopic, getTopic, listDeletedTopics, listTopics, putTopic } from '../shared/operations/topics.ts';
import { type ApiAnswer, jsonAnswer } from '../shared/wire/http-answer.ts';
import { type ApiRequest, topicOf } from '../shared/wire/http-request.ts';
import { openApiDocument } from '../shared/wire/openapi.ts';
import { parseQuery } from '../shared/wire/query.ts';
import { deletedTopicListAnswer, putTopicAnswer, topicJson, topicListAnswer } from '../shared/wire/topic-answers.ts';
import { parseOffsetsAt, parseTopicListing, parseTopicSettings } from '../shared/wire/topic-requests.ts';
import { VERSION } from '../shared/wire/version.ts';
import { type ApiRoutes, type ApiSettings, apiHandler, type GatewayHandler } from './api-handler.ts';
import { apiKeyRoutes } from './api-keys.ts';
import { awsTables, type Tables } from './tables.ts';

/** Topics and their partitions, API keys, the service's own pages, and everything that no route names. */
export function topicsHandler(backbone: Tables, settings?: ApiSettings): GatewayHandler {
  return apiHandler(() => backbone, topicRoutes, settings);
}

export const handler = apiHandler(awsTables, topicRoutes);

function topicRoutes(backbone: Tables): ApiRoutes {
  return {
    'PUT /v1/topics/{topic}': async (request) => {
      const settings = parseTopicSettings(request);
      return putTopicAnswer(await putTopic(backbone, topicOf(request), settings));
    },
    'GET /v1/topics/{topic}': async (request) => {
      const topic = onlyTopicOf(request);
      return jsonAnswer(topicJson(await getTopic(backbone, topic)));
    },
    'DELETE /v1/topics/{topic}': async (request) => {
      const topic = onlyTopicOf(request);
      await deleteTopic(backbone, topic);
      return { status: 204 };
    },
    'GET /v1/topics': async (request, _, caller) => {
      const { deleted, ...page } = parseTopicListing(request);
      const isSeen = ({ name: topic }: { readonly name: string }) => isAllowed(caller, 'any', { topic });
      if (deleted) return deletedTopicListAnswer(seenIn(await listDeletedTopics(backbone, page), isSeen));
      return topicListAnswer(seenIn(await listTopics(backbone, page), isSeen));
    },
    'GET /v1/topics/{topic}/partitions': async (request) => {
      const topic = onlyTopicOf(request);
      return jsonAnswer({ partitions: await describePartitions(backbone, topic) });
    },
    'GET /v1/topics/{topic}/offsets': async (request) => {
      const at = parseOffsetsAt(request);
      return jsonAnswer({ offsets: await findOffsets(backbone, topicOf(request), at) });
    },
    ...apiKeyRoutes(backbone),
    'GET /v1/health': (request) => fixed(request, { status: 'ok', version: VERSION }),
    'GET /v1/openapi.json': (request) => fixed(request, openApiDocument()),
  };
}

/** The topic of a request that takes no query parameters. */
function onlyTopicOf(request: ApiRequest): string {
  parseQuery(request.rawQuery, []);
  return topicOf(request);
}

function fixed(request: ApiRequest, value: unknown): ApiAnswer {
  parseQuery(request.rawQuery, []);
  return jsonAnswer(value);
}
