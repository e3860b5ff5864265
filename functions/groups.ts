import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import { MethodNotAllowed } from '../shared/domain/errors.ts';
import { type Caller, isAllowed, type Right } from '../shared/domain/rights.ts';
import { seenIn } from '../shared/domain/topic.ts';
import { readGroupsEnv } from '../shared/env.ts';
import {
  allowedByGroup,
  allowedLetter,
  allowedLetters,
  allowedRecords,
  allowedStore,
} from '../shared/operations/allowed-sinks.ts';
import { commitOffsets } from '../shared/operations/commit-offsets.ts';
import { deadLetter } from '../shared/operations/dead-letter.ts';
import { deleteGroup } from '../shared/operations/delete-group.ts';
import { describeGroup, listGroups } from '../shared/operations/describe-groups.ts';
import { heartbeatGroup } from '../shared/operations/heartbeat-group.ts';
import { leaveGroup } from '../shared/operations/leave-group.ts';
import { listDeadLetters, removeDeadLetter, showDeadLetter } from '../shared/operations/list-dead-letters.ts';
import { pollGroup } from '../shared/operations/poll-group.ts';
import { redriveDeadLetters } from '../shared/operations/redrive-dead-letters.ts';
import { resetGroup } from '../shared/operations/reset-group.ts';
import { refuseWithoutSubscription } from '../shared/operations/subscriptions.ts';
import { DeadLetterAnswer } from '../shared/wire/dead-letter-answer.ts';
import { correctLetter, encodeKeptRecord, keyOfLetter } from '../shared/wire/dead-letter-record.ts';
import { groupAnswer, groupListAnswer, resetAnswer } from '../shared/wire/group-admin-answers.ts';
import {
  onlyGroupOf,
  parseDeadLetterListing,
  parseDeadLetterRequest,
  parseGroupListing,
  parseResetRequest,
} from '../shared/wire/group-admin-requests.ts';
import { commitsAnswer, heartbeatAnswer, PollAnswer } from '../shared/wire/group-answers.ts';
import {
  parseCommitsRequest,
  parseHeartbeatRequest,
  parseLeaveRequest,
  parsePollRequest,
} from '../shared/wire/group-requests.ts';
import { jsonAnswer } from '../shared/wire/http-answer.ts';
import type { ApiRequest } from '../shared/wire/http-request.ts';
import { parseRedriveRequest } from '../shared/wire/redrive-request.ts';
import { methodsOf } from '../shared/wire/routes.ts';
import { type ApiRoutes, type ApiSettings, apiHandler, type GatewayHandler } from './api-handler.ts';
import { openBackbone } from './backbone.ts';
import { type GroupsBackbone, openGroups } from './groups-backbone.ts';
import { observe } from './observability.ts';
import { awsDynamoDB, CALLS } from './tables.ts';

/** The members' side of consumer groups, and the administrators'. */
export function groupsHandler(backbone: GroupsBackbone, settings?: ApiSettings): GatewayHandler {
  return apiHandler(() => backbone, groupRoutes, settings);
}

export const handler = apiHandler(awsGroups, groupRoutes);

function awsGroups(): GroupsBackbone {
  const env = readGroupsEnv();
  const clients = { dynamodb: awsDynamoDB(), s3: new S3Client(CALLS), sqs: new SQSClient(CALLS) };
  return openGroups(openBackbone(clients, env, observe), clients, env);
}

/** The one that is to be shown. @throws {MethodNotAllowed} it is where redrives are asked for, and no letter's place */
function shownLetterOf({ method, path, parameters }: ApiRequest): string {
  const id = parameters.get('id') ?? '';
  if (id === 'redrive') throw new MethodNotAllowed(method, path, methodsOf(path));
  return id;
}

const LETTERS = { keyOf: keyOfLetter, correct: correctLetter };

function groupRoutes(backbone: GroupsBackbone): ApiRoutes {
  /** With dead letters as this caller may touch them. */
  const kept = (caller: Caller, right: Right = 'consume') => {
    return { ...backbone, deadLetters: allowedStore(backbone.deadLetters, caller, right) };
  };
  return {
    'POST /v1/groups/{group}/poll': async (request, deadline, caller) => {
      const poll = parsePollRequest(request);
      const answer = new PollAnswer(poll);
      const sink = allowedRecords(answer, caller, poll.group);
      return answer.finish(await pollGroup(kept(caller), { ...poll, deadline }, sink));
    },
    'POST /v1/groups/{group}/heartbeat': async (request, deadline, caller) => {
      const heartbeat = parseHeartbeatRequest(request);
      return heartbeatAnswer(await heartbeatGroup(kept(caller), { ...heartbeat, deadline }));
    },
    'POST /v1/groups/{group}/leave': async (request) => {
      const { group, memberId } = parseLeaveRequest(request);
      await leaveGroup(backbone, group, memberId);
      return { status: 204 };
    },
    'POST /v1/groups/{group}/commits': async (request, deadline) => {
      return commitsAnswer(await commitOffsets(backbone, parseCommitsRequest(request), deadline));
    },
    'POST /v1/groups/{group}/dead-letters': async (request, deadline) => {
      const report = parseDeadLetterRequest(request);
      return jsonAnswer(await deadLetter(backbone, { ...report, deadline }, encodeKeptRecord));
    },
    'GET /v1/groups/{group}/dead-letters': async (request, _, caller) => {
      const listing = parseDeadLetterListing(request);
      const answer = new DeadLetterAnswer(listing);
      const sink = allowedLetters(answer, caller, 'consume', listing.group);
      return answer.finish(await listDeadLetters(backbone, listing, sink));
    },
    'POST /v1/groups/{group}/dead-letters/redrive': async (request, deadline, caller) => {
      const wish = parseRedriveRequest(request);
      const ports = await allowedByGroup(backbone, caller, wish.group);
      return jsonAnswer(await redriveDeadLetters(ports, { ...wish, deadline }, LETTERS), 202);
    },
    'GET /v1/groups/{group}/dead-letters/{id}': async (request, _, caller) => {
      const [group, answer] = [onlyGroupOf(request), new DeadLetterAnswer({})];
      const sink = allowedLetter(answer, caller, 'consume', group);
      await showDeadLetter(backbone, group, shownLetterOf(request), sink);
      return answer.finishOne();
    },
    'DELETE /v1/groups/{group}/dead-letters/{id}': async (request, _, caller) => {
      const group = onlyGroupOf(request);
      const ports = await allowedByGroup(backbone, caller, group);
      await removeDeadLetter(ports, group, request.parameters.get('id') ?? '');
      return { status: 204 };
    },
    'GET /v1/subscriptions/{name}/dead-letters': async (request, _, caller) => {
      const listing = parseDeadLetterListing(request);
      await refuseWithoutSubscription(backbone, listing.group);
      const answer = new DeadLetterAnswer(listing);
      const sink = allowedLetters(answer, caller, 'subscribe', listing.group);
      return answer.finish(await listDeadLetters(backbone, listing, sink));
    },
    'POST /v1/subscriptions/{name}/dead-letters/redrive': async (request, deadline, caller) => {
      const wish = parseRedriveRequest(request);
      await refuseWithoutSubscription(backbone, wish.group);
      return jsonAnswer(await redriveDeadLetters(kept(caller, 'subscribe'), { ...wish, deadline }, LETTERS), 202);
    },
    'GET /v1/subscriptions/{name}/dead-letters/{id}': async (request, _, caller) => {
      const [name, answer] = [onlyGroupOf(request), new DeadLetterAnswer({})];
      await refuseWithoutSubscription(backbone, name);
      const sink = allowedLetter(answer, caller, 'subscribe', name);
      await showDeadLetter(backbone, name, shownLetterOf(request), sink);
      return answer.finishOne();
    },
    'DELETE /v1/subscriptions/{name}/dead-letters/{id}': async (request, _, caller) => {
      const name = onlyGroupOf(request);
      await refuseWithoutSubscription(backbone, name);
      await removeDeadLetter(kept(caller, 'subscribe'), name, request.parameters.get('id') ?? '');
      return { status: 204 };
    },
    'GET /v1/groups': async (request, _, caller) => {
      const page = await listGroups(backbone, parseGroupListing(request));
      return groupListAnswer(seenIn(page, ({ name: group }) => isAllowed(caller, 'any', { group })));
    },
    'GET /v1/groups/{group}': async (request) => groupAnswer(await describeGroup(backbone, onlyGroupOf(request))),
    'DELETE /v1/groups/{group}': async (request) => {
      await deleteGroup(backbone, onlyGroupOf(request));
      return { status: 204 };
    },
    'PUT /v1/groups/{group}/offsets': async (request) => {
      const reset = parseResetRequest(request);
      return resetAnswer(reset.topic, await resetGroup(backbone, reset));
    },
  };
}
