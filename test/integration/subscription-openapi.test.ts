import { afterAll, beforeAll, describe, it } from 'vitest';
import type { ROUTES } from '../../shared/wire/routes.ts';
import { type Api, openApi } from '../support/api.ts';
import { broken, type Drive, driveAll, invalid, refused, unreadable } from '../support/drives.ts';
import type { Sent } from '../support/gateway-call.ts';
import { HandClock } from '../support/log-bench.ts';

type SubscriptionRoute = Extract<(typeof ROUTES)[number]['key'], `${string} /v1/subscriptions${string}`>;

const JSON_TYPE = { 'content-type': 'application/json' };
const HERE = '/v1/subscriptions/invoices';
const NOBODY = '/v1/subscriptions/nobody';
const HTTP = { http: { url: 'http://127.0.0.1:9009/hook' } };
const GOOD = { topics: ['orders'], target: HTTP };
const sending = (body: object): Sent => ({ body });

let api: Api;
/** Id of a dead letter. */
let kept: string;
beforeAll(async () => {
  api = await openApi({ clock: new HandClock() });
  await api.put('/v1/topics/orders', { partitions: 1 });
  await api.post('/v1/topics/orders/records', { records: [{ value: 1 }] });
  await api.post('/v1/groups/pulling/poll', { topics: ['orders'] });
  for (const name of ['going', 'late']) await api.put(`/v1/subscriptions/${name}`, GOOD);
  await api.put(HERE, GOOD);
  const { group } = (await api.backbone.subscriptions.read('invoices'))!;
  const { id: topicId } = (await api.backbone.topicItems.read('orders'))!;
  const letter = { topic: 'orders', topicId, partition: 0, offset: 0, error: { name: 'Error', message: 'no' } };
  const payload = { bytes: Buffer.from([3]) };
  const times = { attempts: 5, redrives: 0, firstFailedAt: 1, deadLetteredAt: 2 };
  await api.backbone.deadLetters.put(group, { ...letter, payload, ...times });
  kept = `${topicId}.0.0`;
});
afterAll(() => api.close());

const act = (name: string, body: object = {}, status = 200): Drive[] => {
  const target = `${HERE}/${name}`;
  return [
    { status, target, sent: sending(body) },
    { status: 404, target: `${NOBODY}/${name}`, sent: sending(body) },
    { ...invalid(target), sent: sending(body) },
    ...unreadable(target, JSON_TYPE),
    ...refused(target, 'GetItem', sending(body)),
    { status: 504, target, sent: sending(body), hold: 'GetItem' },
    broken(target),
  ];
};

const parkedAct = (name: string): Drive[] => [
  ...act(`parked/${name}`, {}, 202),
  { status: 400, target: `${HERE}/parked/${name}`, sent: sending({ ids: ['x'] }) },
  { status: 404, target: `${HERE}/parked/${name}`, sent: sending({ ids: [kept.replace(/0$/, '0123456789abcdef')] }) },
];

const DRIVES: { readonly [route in SubscriptionRoute]: () => readonly Drive[] } = {
  'GET /v1/subscriptions': () => [
    { status: 200, target: '/v1/subscriptions?limit=1' },
    invalid('/v1/subscriptions'),
    ...refused('/v1/subscriptions', 'Query'),
    broken('/v1/subscriptions'),
  ],
  'PUT /v1/subscriptions/{name}': () => [
    { status: 201, target: '/v1/subscriptions/new', sent: sending({ ...GOOD, filter: { key: ['a'] } }) },
    { status: 200, target: HERE, sent: sending(GOOD) },
    { status: 400, target: HERE, sent: sending({ ...GOOD, from: 'now' }) },
    { status: 400, target: HERE, sent: sending({ ...GOOD, target: { http: { url: 'https://10.0.0.1' } } }) },
    {
      status: 403,
      target: HERE,
      sent: sending({ ...GOOD, target: { sqs: { queueUrl: 'https://sqs.us-east-1.amazonaws.com/000000000000/q' } } }),
    },
    { status: 404, target: HERE, sent: sending({ ...GOOD, topics: ['nobody'] }) },
    { status: 409, target: '/v1/subscriptions/pulling', sent: sending(GOOD) },
    ...unreadable(HERE, JSON_TYPE),
    ...refused(HERE, 'GetItem', sending(GOOD)),
    { status: 504, target: HERE, sent: sending(GOOD), hold: 'GetItem' },
    broken(HERE),
  ],
  'GET /v1/subscriptions/{name}/dead-letters': () => {
    const target = `${HERE}/dead-letters`;
    return [
      { status: 200, target: `${target}?limit=1` },
      { status: 404, target: `${NOBODY}/dead-letters` },
      { status: 404, target: '/v1/subscriptions/pulling/dead-letters' },
      invalid(target),
      ...refused(target, 'Query'),
      broken(target),
    ];
  },
  'POST /v1/subscriptions/{name}/dead-letters/redrive': () => {
    const target = `${HERE}/dead-letters/redrive`;
    const good = sending({ ids: [kept], dryRun: true });
    return [
      { status: 202, target, sent: good },
      { status: 202, target, sent: sending({ filter: { topic: 'orders', since: '2026-01-01T00:00:00Z' } }) },
      { status: 400, target, sent: sending({ ids: ['x'] }) },
      { status: 413, target, sent: sending({ records: [{ id: kept, value: 'x'.repeat(4_200_000) }] }) },
      { status: 404, target, sent: sending({ ids: [kept.replace(/0$/, '9')] }) },
      { status: 404, target: `${NOBODY}/dead-letters/redrive`, sent: good },
      { status: 404, target: '/v1/subscriptions/pulling/dead-letters/redrive', sent: good },
      { ...invalid(target), sent: good },
      ...unreadable(target, JSON_TYPE),
      ...refused(target, 'GetItem', good),
      { status: 504, target, sent: good, hold: 'GetItem' },
      broken(target),
    ];
  },
  'GET /v1/subscriptions/{name}/dead-letters/{id}': () => {
    const target = `${HERE}/dead-letters/${kept}`;
    return [
      { status: 200, target },
      { status: 404, target: target.replace(/0$/, '9') },
      { status: 404, target: `${NOBODY}/dead-letters/x` },
      { status: 405, target: `${HERE}/dead-letters/redrive` },
      invalid(target),
      ...refused(target, 'GetItem'),
      broken(target),
    ];
  },
  'DELETE /v1/subscriptions/{name}/dead-letters/{id}': () => {
    const target = `${HERE}/dead-letters/${kept}`;
    return [
      { status: 204, target },
      { status: 404, target },
      { status: 404, target: `${NOBODY}/dead-letters/x` },
      invalid(target),
      ...refused(target, 'GetItem'),
      { status: 504, target, hold: 'GetItem' },
      broken(target),
    ];
  },
  'GET /v1/subscriptions/{name}': () => [
    { status: 200, target: HERE },
    { status: 404, target: NOBODY },
    invalid(HERE),
    ...refused(HERE, 'GetItem'),
    broken(HERE),
  ],
  'DELETE /v1/subscriptions/{name}': () => [
    { status: 204, target: '/v1/subscriptions/going' },
    { status: 404, target: '/v1/subscriptions/going' },
    invalid(HERE),
    ...refused(HERE, 'GetItem'),
    { status: 504, target: '/v1/subscriptions/late', hold: 'GetItem' },
    broken(HERE),
  ],
  'GET /v1/subscriptions/{name}/parked': () => {
    const target = `${HERE}/parked`;
    return [
      { status: 200, target: `${target}?limit=1` },
      { status: 404, target: `${NOBODY}/parked` },
      invalid(target),
      ...refused(target, 'Query'),
      broken(target),
    ];
  },
  'POST /v1/subscriptions/{name}/parked/resume': () => parkedAct('resume'),
  'POST /v1/subscriptions/{name}/parked/dead-letter': () => parkedAct('dead-letter'),
  'POST /v1/subscriptions/{name}/pause': () => act('pause'),
  'POST /v1/subscriptions/{name}/resume': () => act('resume'),
  'POST /v1/subscriptions/{name}/seek': () => [
    { status: 416, target: `${HERE}/seek`, sent: sending({ to: { offset: 9 } }) },
    ...act('seek', { to: 'earliest' }),
  ],
  'POST /v1/subscriptions/{name}/rotate-secret': () => act('rotate-secret'),
};

describe('the OpenAPI page, of subscriptions', () => {
  it.each(Object.keys(DRIVES) as SubscriptionRoute[])('says exactly what %s answers', (route) =>
    driveAll(api, route, DRIVES[route]()),
  );
});
