import { afterAll, beforeAll, describe, it } from 'vitest';
import type { ROUTES } from '../../shared/wire/routes.ts';
import { type Api, openApi } from '../support/api.ts';
import { broken, type Drive, driveAll, invalid, refused, unreadable } from '../support/drives.ts';
import type { Sent } from '../support/gateway-call.ts';
import type { Assigned, Polled } from '../support/group-calls.ts';
import { HandClock } from '../support/log-bench.ts';

type GroupRoute = Extract<(typeof ROUTES)[number]['key'], `${string} /v1/groups${string}`>;

const JSON_TYPE = { 'content-type': 'application/json' };
const GROUP = '/v1/groups/billing';
const SUBSCRIBED = '/v1/groups/invoices';
const NOBODY = '/v1/groups/nobody';
const UNKNOWN = '01J00000000000000000000000';
const sending = (body: object): Sent => ({ body });

let api: Api;
let memberId: string;
let replaced: string;
let spare: string;
let held: Assigned;
/** Id of a dead letter. */
let kept: string;

beforeAll(async () => {
  // The clock stands still, so that sessions do.
  api = await openApi({ clock: new HandClock() });
  await api.put('/v1/topics/orders', { partitions: 1 });
  const target = { http: { url: 'http://127.0.0.1:9009/hook' } };
  await api.put('/v1/subscriptions/invoices', { topics: ['orders'], target });
  const records = Array.from({ length: 9 }, (_, value) => ({ value }));
  await api.post('/v1/topics/orders/records', { records });
  replaced = (await poll({ topics: ['orders'], instanceId: 'one' })).memberId;
  const joined = await poll({ topics: ['orders'], instanceId: 'one' });
  memberId = joined.memberId;
  held = joined.assigned[0]!;
  spare = (await poll({ topics: ['orders'] })).memberId;
  const report = await api.post(`${GROUP}/dead-letters`, { memberId, ...letter(0) });
  kept = report.json<{ id: string }>().id;
  await api.put('/v1/subscriptions/pushed', { topics: ['orders'], target: { http: { url: 'http://127.0.0.1:9009' } } });
  for (const group of ['idle', 'idle2']) {
    await api.post(`/v1/groups/${group}/commits`, { offsets: [{ topic: 'orders', partition: 0, offset: 1 }] });
  }
});
afterAll(() => api.close());

const poll = async (body: object) => (await api.post(`${GROUP}/poll`, body)).json<Polled>();

/** What every call of a member may come to. */
const ofMember = (act: string, body: object): Drive[] => {
  const target = `${GROUP}/${act}`;
  return [
    { ...invalid(target), sent: sending({ memberId, ...body }) },
    { status: 404, target: `${NOBODY}/${act}`, sent: sending({ memberId, ...body }) },
    { status: 404, target, sent: sending({ memberId: UNKNOWN, ...body }) },
    { status: 409, target, sent: sending({ memberId: replaced, ...body }) },
    ...unreadable(target, JSON_TYPE),
    ...refused(target, 'GetItem', sending({ memberId, ...body })),
    { status: 504, target, sent: sending({ memberId, ...body }), hold: 'GetItem' },
    broken(target),
  ];
};

const letter = (offset: number) => {
  const { topic, partition, epoch } = held;
  return { topic, partition, epoch, offset, error: { name: 'Error', message: 'no' }, attempts: 1 };
};

const DRIVES: { readonly [route in GroupRoute]: () => readonly Drive[] } = {
  'POST /v1/groups/{group}/poll': () => [
    { status: 200, target: `${GROUP}/poll`, sent: sending({ memberId, positions: [held] }) },
    { status: 200, target: `${GROUP}/poll`, sent: sending({ memberId, commit: [{ ...held, offset: 99 }] }) },
    { status: 404, target: `${GROUP}/poll`, sent: sending({ topics: ['nobody'] }) },
    { status: 409, target: '/v1/groups/new/poll', sent: sending({ topics: ['orders'], autoOffsetReset: 'none' }) },
    ...ofMember('poll', {}),
  ],
  'POST /v1/groups/{group}/heartbeat': () => [
    { status: 200, target: `${GROUP}/heartbeat`, sent: sending({ memberId, positions: [held] }) },
    ...ofMember('heartbeat', {}),
  ],
  'POST /v1/groups/{group}/commits': () => {
    const target = `${GROUP}/commits`;
    const good = sending({ memberId, offsets: [{ ...held, offset: 1 }] });
    const { epoch: _, ...free } = held;
    return [
      { status: 200, target, sent: good },
      { status: 200, target, sent: sending({ memberId, offsets: [{ ...held, offset: 99 }] }) },
      { status: 409, target, sent: sending({ memberId, offsets: [{ ...held, epoch: 1 }] }) },
      { status: 409, target, sent: sending({ offsets: [free] }) },
      { ...invalid(target), sent: good },
      { status: 404, target: `${NOBODY}/commits`, sent: good },
      { status: 404, target: `${NOBODY}/commits`, sent: sending({ offsets: [{ ...free, topic: 'nobody' }] }) },
      ...unreadable(target, JSON_TYPE),
      ...refused(target, 'GetItem', good),
      { status: 504, target, sent: good, hold: 'GetItem' },
      broken(target),
    ];
  },
  'POST /v1/groups/{group}/dead-letters': () => {
    const target = `${GROUP}/dead-letters`;
    return [
      { status: 200, target, sent: sending({ memberId, ...letter(2) }) },
      { status: 200, target, sent: sending({ memberId, ...letter(2) }) },
      { status: 409, target, sent: sending({ memberId, ...letter(1) }) },
      { status: 409, target, sent: sending({ memberId, ...letter(3), epoch: 1 }) },
      { status: 404, target, sent: sending({ memberId, ...letter(3), topic: 'nobody' }) },
      { status: 400, target, sent: sending({ memberId, ...letter(9) }) },
      { status: 416, target, sent: sending({ memberId, ...letter(99) }) },
      ...ofMember('dead-letters', letter(3)),
    ];
  },
  'GET /v1/groups/{group}/dead-letters': () => [
    { status: 200, target: `${GROUP}/dead-letters?limit=1` },
    { status: 200, target: `${GROUP}/dead-letters?topic=nobody` },
    invalid(`${GROUP}/dead-letters`),
    { status: 404, target: `${NOBODY}/dead-letters` },
    ...refused(`${GROUP}/dead-letters`, 'Query'),
    broken(`${GROUP}/dead-letters`),
  ],
  'POST /v1/groups/{group}/dead-letters/redrive': () => {
    const target = `${SUBSCRIBED}/dead-letters/redrive`;
    const good = sending({ filter: {} });
    return [
      { status: 202, target, sent: good },
      { status: 202, target: `${GROUP}/dead-letters/redrive`, sent: sending({ filter: {}, dryRun: true }) },
      {
        status: 413,
        target: `${GROUP}/dead-letters/redrive`,
        sent: sending({ records: [{ id: kept, value: 'x'.repeat(4_200_000) }] }),
      },
      { status: 404, target: `${NOBODY}/dead-letters/redrive`, sent: good },
      { ...invalid(target), sent: good },
      ...unreadable(target, JSON_TYPE),
      ...refused(target, 'GetItem', good),
      { status: 504, target, sent: good, hold: 'GetItem' },
      broken(target),
    ];
  },
  'GET /v1/groups/{group}/dead-letters/{id}': () => {
    const target = `${GROUP}/dead-letters/${kept}`;
    return [
      { status: 200, target },
      { status: 404, target: `${GROUP}/dead-letters/x` },
      { status: 404, target: `${NOBODY}/dead-letters/x` },
      { status: 405, target: `${GROUP}/dead-letters/redrive` },
      invalid(target),
      ...refused(target, 'GetItem'),
      broken(target),
    ];
  },
  'DELETE /v1/groups/{group}/dead-letters/{id}': () => {
    const target = `${GROUP}/dead-letters/${kept}`;
    return [
      { status: 204, target },
      { status: 404, target },
      { status: 404, target: `${GROUP}/dead-letters/x` },
      { status: 404, target: `${NOBODY}/dead-letters/x` },
      invalid(target),
      ...refused(target, 'GetItem'),
      { status: 504, target, hold: 'GetItem' },
      broken(target),
    ];
  },
  'GET /v1/groups': () => [
    { status: 200, target: '/v1/groups?limit=1' },
    invalid('/v1/groups'),
    ...refused('/v1/groups', 'Query'),
    broken('/v1/groups'),
  ],
  'GET /v1/groups/{group}': () => [
    { status: 200, target: GROUP },
    { status: 200, target: '/v1/groups/idle' },
    invalid(GROUP),
    { status: 404, target: NOBODY },
    ...refused(GROUP, 'Query'),
    broken(GROUP),
  ],
  'PUT /v1/groups/{group}/offsets': () => {
    const target = '/v1/groups/idle/offsets';
    const good = sending({ topic: 'orders', to: 'latest' });
    return [
      { status: 200, target, sent: good },
      { status: 409, target: `${GROUP}/offsets`, sent: good },
      { status: 416, target, sent: sending({ topic: 'orders', to: { offset: 10 } }) },
      { status: 404, target, sent: sending({ topic: 'nobody', to: 'latest' }) },
      { status: 404, target: `${NOBODY}/offsets`, sent: good },
      { ...invalid(target), sent: good },
      ...unreadable(target, JSON_TYPE),
      ...refused(target, 'GetItem', good),
      { status: 504, target, sent: good, hold: 'GetItem' },
      broken(target),
    ];
  },
  'POST /v1/groups/{group}/leave': () => [
    ...ofMember('leave', {}),
    { status: 204, target: `${GROUP}/leave`, sent: sending({ memberId: spare }) },
  ],
  'DELETE /v1/groups/{group}': () => [
    { status: 204, target: '/v1/groups/idle2' },
    { status: 404, target: '/v1/groups/idle2' },
    { status: 409, target: '/v1/groups/pushed' },
    invalid(GROUP),
    ...refused(GROUP, 'GetItem'),
    { status: 504, target: GROUP, hold: 'GetItem' },
    broken(GROUP),
  ],
};

describe('the OpenAPI page, of groups', () => {
  it.each(Object.keys(DRIVES) as GroupRoute[])('says exactly what %s answers', (route) =>
    driveAll(api, route, DRIVES[route]()),
  );
});
