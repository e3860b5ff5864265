import { expect } from 'vitest';
import { handler as fetchWithoutEnv } from '../../functions/fetch.ts';
import { handler as groupsWithoutEnv } from '../../functions/groups.ts';
import { handler as produceWithoutEnv } from '../../functions/produce.ts';
import { handler as subscriptionsWithoutEnv } from '../../functions/subscriptions.ts';
import { handler as topicsWithoutEnv } from '../../functions/topics.ts';
import type { LambdaHandler } from '../../local/invocation.ts';
import type { Api } from './api.ts';
import type { Fault } from './fault-handler.ts';
import { gatewayEvent, type Reply, type Sent, send } from './gateway-call.ts';
import { DESCRIBED, undescribed } from './openapi-page.ts';

export const tooLarge = Buffer.alloc(4_500_001, ' ');

/** Operations of the store that go wrong first, how often, and on which item. */
export type Faults = readonly [operation: string, fault: Fault, times?: number, naming?: string][];
/** What makes a route answer with a status: what is sent, and what goes wrong meanwhile. */
export interface Drive {
  readonly status: number;
  readonly target: string;
  readonly sent?: Sent;
  readonly faults?: Faults;
  /** The function has no time left to answer when the store does not. */
  readonly hold?: string;
  /** The function is deployed without its environment. */
  readonly broken?: true;
}

/** A read that the store refuses, or does not answer. */
export const refused = (target: string, operation: string, sent: Sent = {}): Drive[] => [
  { status: 429, target, sent, faults: [[operation, 'throttle']] },
  { status: 503, target, sent, faults: [[operation, 'internal-error']] },
];
export const invalid = (target: string): Drive => ({
  status: 400,
  target: `${target}${target.includes('?') ? '&' : '?'}no=1`,
});
export const broken = (target: string): Drive => ({ status: 500, target, broken: true });
/** A body that is too large, and one of another type. */
export const unreadable = (target: string, headers: NonNullable<Sent['headers']>): Drive[] => [
  { status: 413, target, sent: { body: tooLarge, headers } },
  { status: 415, target, sent: { body: 'x', headers: { 'content-type': 'text/plain' } } },
];

const WITHOUT_ENV = {
  produce: produceWithoutEnv,
  fetch: fetchWithoutEnv,
  topics: topicsWithoutEnv,
  groups: groupsWithoutEnv,
  subscriptions: subscriptionsWithoutEnv,
};

/** Drives a route to every answer that the page describes, and to no other; each is as described. */
export async function driveAll(api: Api, route: string, drives: readonly Drive[]): Promise<void> {
  const method = route.split(' ')[0]!;
  const seen = new Set<string>();
  for (const drive of drives) {
    const reply = await answerTo(api, method, drive);
    expect([drive.target, reply.status, reply.status >= 400 && reply.code]).toEqual([
      drive.target,
      drive.status,
      expect.anything(),
    ]);
    expect(undescribed(method, drive.target, reply)).toEqual([]);
    seen.add(String(reply.status));
  }
  // Who calls is asked elsewhere: `test/integration/rights.test.ts` has every route refused so.
  const described = Object.keys(DESCRIBED.get(route)!.responses).filter((status) => !/^40[13]$/.test(status));
  expect([...seen].filter((status) => status !== '403').sort()).toEqual(described.sort());
}

async function answerTo(api: Api, method: string, drive: Drive): Promise<Reply> {
  if (drive.broken) return send(WITHOUT_ENV, method, drive.target);
  for (const fault of drive.faults ?? []) api.faults.next(...fault);
  if (drive.hold === undefined) return api.send(method, drive.target, drive.sent);
  const held = api.faults.hold(drive.hold);
  const { function: name } = gatewayEvent(method, drive.target);
  const late: LambdaHandler = (event, context) =>
    api.handlers[name](event, { ...context, getRemainingTimeInMillis: () => 520 });
  const reply = await send({ [name]: late }, method, drive.target, drive.sent);
  held.release();
  return reply;
}
