import type { ErrorCode } from '../domain/errors.ts';
import { answer, BODY, json, type Operation, STORE } from './openapi-operation.ts';
import { SUBSCRIPTION_EXAMPLE } from './openapi-subscription-schemas.ts';
import type { ROUTES } from './routes.ts';

type SubscriptionRoute = Extract<(typeof ROUTES)[number]['key'], `${string} /v1/subscriptions${string}`>;

const KNOWN: readonly ErrorCode[] = ['subscription_not_found', ...STORE];
const ACT: readonly ErrorCode[] = [...BODY, ...KNOWN, 'outcome_unknown'];

/** The calls of whoever looks after subscriptions. */
export const SUBSCRIPTION_OPERATIONS: { readonly [route in SubscriptionRoute]: Operation } = {
  'GET /v1/subscriptions': {
    summary: 'List subscriptions by name',
    takes: ['limit', 'nextToken'],
    answers: { 200: answer('A page', json('Subscriptions')) },
    refuses: STORE,
  },
  'PUT /v1/subscriptions/{name}': {
    summary:
      'Subscribe, or change the settings that are given. What is appended after the answer is delivered. A secret is shown in the 201 alone',
    takes: ['subscription'],
    body: { required: true, content: json('SubscriptionSettings', SUBSCRIPTION_EXAMPLE) },
    answers: {
      200: answer('It existed', json('Subscription')),
      201: answer('It was made', json('Subscription')),
    },
    refuses: [
      ...BODY,
      ...(['target_not_allowed', 'target_forbidden', 'topic_not_found', 'group_is_pull', 'group_full'] as const),
      'too_many_subscriptions',
      ...STORE,
      'outcome_unknown',
    ],
  },
  'GET /v1/subscriptions/{name}': {
    summary: 'Describe a subscription: its settings, how far behind it is, exactly, and what it last met',
    takes: ['subscription'],
    answers: { 200: answer('The subscription', json('SubscriptionDetail')) },
    refuses: KNOWN,
  },
  'DELETE /v1/subscriptions/{name}': {
    summary: 'End a subscription: calls on their way are fenced, and what it held is removed in the background',
    takes: ['subscription'],
    answers: { 204: { description: 'It has ended' } },
    refuses: [...KNOWN, 'outcome_unknown'],
  },
  'POST /v1/subscriptions/{name}/pause': {
    summary: 'Deliver nothing more, but what is on its way',
    takes: ['subscription'],
    answers: { 200: answer('The subscription', json('Subscription')) },
    refuses: ACT,
  },
  'POST /v1/subscriptions/{name}/resume': {
    summary: 'Deliver again from where it was; what had failed is tried at once',
    takes: ['subscription'],
    answers: { 200: answer('The subscription', json('Subscription')) },
    refuses: ACT,
  },
  'POST /v1/subscriptions/{name}/seek': {
    summary: 'Set where it goes on, in all of its topics, or some partitions of one. Calls on their way are fenced',
    takes: ['subscription'],
    body: { required: true, content: json('Seek', { to: 'earliest' }) },
    answers: { 200: answer('Where it goes on, by topic, then partition', json('Sought')) },
    refuses: [...ACT, 'topic_not_found', 'offset_out_of_range'],
  },
  'GET /v1/subscriptions/{name}/dead-letters': {
    summary: 'List what could not be delivered. A page may hold fewer than `limit`, or none, and still not be the last',
    takes: ['subscription', 'ofTopic', 'ofPartition', 'ofKey', 'since', 'state', 'limit', 'nextToken'],
    answers: { 200: answer('A page', json('DeadLetters')) },
    refuses: [...KNOWN, 'group_not_found'],
  },
  'GET /v1/subscriptions/{name}/dead-letters/{id}': {
    summary: 'Show one dead letter, with its record',
    takes: ['subscription', 'deadLetter'],
    answers: { 200: answer('The dead letter', json('DeadLetter')) },
    refuses: [...KNOWN, 'group_not_found', 'dead_letter_not_found', 'method_not_allowed'],
  },
  'DELETE /v1/subscriptions/{name}/dead-letters/{id}': {
    summary: 'Forget one dead letter, for good',
    takes: ['subscription', 'deadLetter'],
    answers: { 204: { description: 'It is gone' } },
    refuses: [...KNOWN, 'group_not_found', 'dead_letter_not_found', 'outcome_unknown'],
  },
  'POST /v1/subscriptions/{name}/dead-letters/redrive': {
    summary:
      'Deliver dead letters again, those that are named or found. A filter passes those that came back three times',
    takes: ['subscription'],
    body: { required: true, content: json('Redrive', { filter: {} }) },
    answers: { 202: answer('They are on their way', json('Redriving')) },
    refuses: [...ACT, 'group_not_found', 'dead_letter_not_found', 'record_too_large'],
  },
  'GET /v1/subscriptions/{name}/parked': {
    summary:
      'List keys that wait behind a record of theirs that failed. A page may hold fewer than `limit`, or none, and still not be the last',
    takes: ['subscription', 'limit', 'nextToken'],
    answers: { 200: answer('A page', json('ParkedKeys')) },
    refuses: KNOWN,
  },
  'POST /v1/subscriptions/{name}/parked/resume': {
    summary: 'Try what fails of parked keys again at once, its attempts counted from the start',
    takes: ['subscription'],
    body: { required: false, content: json('ParkedIds', {}) },
    answers: { 202: answer('They are tried', json('Resuming')) },
    refuses: [...ACT, 'parked_key_not_found'],
  },
  'POST /v1/subscriptions/{name}/parked/dead-letter': {
    summary: 'Make dead letters of what fails of parked keys: the keys go on with what is behind',
    takes: ['subscription'],
    body: { required: false, content: json('ParkedIds', {}) },
    answers: { 202: answer('They become dead letters', json('DeadLettering')) },
    refuses: [...ACT, 'parked_key_not_found'],
  },
  'POST /v1/subscriptions/{name}/rotate-secret': {
    summary: 'Get a new secret. The one before it signs as well for a day',
    takes: ['subscription'],
    answers: { 200: answer('The new secret', json('Secret')) },
    refuses: ACT,
  },
};
