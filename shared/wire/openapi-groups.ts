import type { ErrorCode } from '../domain/errors.ts';
import { GROUP_EXAMPLES } from './openapi-group-schemas.ts';
import { answer, BODY, json, type Operation, STORE } from './openapi-operation.ts';
import type { ROUTES } from './routes.ts';

type GroupRoute = Extract<(typeof ROUTES)[number]['key'], `${string} /v1/groups${string}`>;

const body = (schema: string, example?: Parameters<typeof json>[1]) => ({
  required: true,
  content: json(schema, example),
});
/** What every call of a member may come to. */
const MEMBER: readonly ErrorCode[] = [
  ...BODY,
  'group_not_found',
  'member_not_found',
  'instance_fenced',
  'group_is_subscription',
  ...STORE,
];

/** The calls of consumer groups' members, and of whoever looks after the groups. */
export const GROUP_OPERATIONS: { readonly [route in GroupRoute]: Operation } = {
  'POST /v1/groups/{group}/poll': {
    summary: 'Join a group, or say that one lives; commit, release, take what one is given, and read it',
    takes: ['group'],
    body: body('Poll', GROUP_EXAMPLES.poll),
    answers: { 200: answer('What the member owns, and records of it', json('Polled')) },
    refuses: [...MEMBER, 'topic_not_found', 'group_full', 'no_committed_offset', 'outcome_unknown'],
  },
  'POST /v1/groups/{group}/heartbeat': {
    summary: 'As a poll, without taking or reading anything',
    takes: ['group'],
    body: body('Heartbeat'),
    answers: { 200: answer('What the member owns', json('Heard')) },
    refuses: [...MEMBER, 'outcome_unknown'],
  },
  'POST /v1/groups/{group}/leave': {
    summary: 'End a session: what it owned is free at once',
    takes: ['group'],
    body: body('Leave'),
    answers: { 204: { description: 'It has ended' } },
    refuses: [...MEMBER, 'outcome_unknown'],
  },
  'POST /v1/groups/{group}/commits': {
    summary: 'Commit offsets: with their epochs, or without while the group has no live member',
    takes: ['group'],
    body: body('Commits', GROUP_EXAMPLES.commits),
    answers: { 200: answer('How each ended, in the order sent', json('Committed')) },
    refuses: [
      ...BODY,
      'group_not_found',
      'topic_not_found',
      'fenced',
      'group_is_subscription',
      ...STORE,
      'outcome_unknown',
    ],
  },
  'POST /v1/groups/{group}/dead-letters': {
    summary: 'Keep a record that could not be handled, with why, and commit past it',
    takes: ['group'],
    body: body('DeadLetterReport'),
    answers: { 200: answer('It is kept', json('DeadLettered')) },
    refuses: [
      ...MEMBER,
      ...(['topic_not_found', 'fenced', 'commit_regressed', 'offset_out_of_range', 'outcome_unknown'] as const),
    ],
  },
  'GET /v1/groups/{group}/dead-letters': {
    summary:
      'List what a group could not handle. A page may hold fewer than `limit`, or none, and still not be the last',
    takes: ['group', 'ofTopic', 'ofPartition', 'ofKey', 'since', 'state', 'limit', 'nextToken'],
    answers: { 200: answer('A page', json('DeadLetters')) },
    refuses: ['group_not_found', ...STORE],
  },
  'GET /v1/groups/{group}/dead-letters/{id}': {
    summary: 'Show one dead letter, with its record',
    takes: ['group', 'deadLetter'],
    answers: { 200: answer('The dead letter', json('DeadLetter')) },
    refuses: ['group_not_found', 'dead_letter_not_found', 'method_not_allowed', ...STORE],
  },
  'DELETE /v1/groups/{group}/dead-letters/{id}': {
    summary: 'Forget one dead letter, for good',
    takes: ['group', 'deadLetter'],
    answers: { 204: { description: 'It is gone' } },
    refuses: ['group_not_found', 'dead_letter_not_found', ...STORE, 'outcome_unknown'],
  },
  'POST /v1/groups/{group}/dead-letters/redrive': {
    summary:
      'Give dead letters back, those that are named or found: in the polls of the members, or to the target of the subscription of this name. A filter passes those that came back three times',
    takes: ['group'],
    body: body('Redrive', { filter: {} }),
    answers: { 202: answer('They are on their way', json('Redriving')) },
    refuses: [
      ...BODY,
      ...(['group_not_found', 'dead_letter_not_found', 'record_too_large'] as const),
      ...STORE,
      'outcome_unknown',
    ],
  },
  'GET /v1/groups': {
    summary: 'List groups by name',
    takes: ['limit', 'nextToken'],
    answers: { 200: answer('A page', json('Groups')) },
    refuses: STORE,
  },
  'GET /v1/groups/{group}': {
    summary: 'Describe a group: its live members, and how far behind it is, exactly',
    takes: ['group'],
    answers: { 200: answer('The group', json('Group')) },
    refuses: ['group_not_found', ...STORE],
  },
  'DELETE /v1/groups/{group}': {
    summary: 'Delete a group. Its name is free at once; what it held is removed in the background',
    takes: ['group'],
    answers: { 204: { description: 'It is gone' } },
    refuses: ['group_not_found', 'group_is_subscription', ...STORE, 'outcome_unknown'],
  },
  'PUT /v1/groups/{group}/offsets': {
    summary: 'Set where a group goes on in a topic, while it has no live member',
    takes: ['group'],
    body: body('Reset', GROUP_EXAMPLES.reset),
    answers: { 200: answer('Where it goes on', json('ResetTo')) },
    refuses: [
      ...BODY,
      ...(['group_not_found', 'topic_not_found', 'group_active', 'offset_out_of_range'] as const),
      'group_is_subscription',
      ...STORE,
      'outcome_unknown',
    ],
  },
};
