import { describe, expect, it } from 'vitest';
import type { ParkedKey } from '../../../shared/domain/lane.ts';
import { parseApiRequest } from '../../../shared/wire/http-request.ts';
import {
  parkedActAnswer,
  parkedListAnswer,
  parseParkedListing,
  parseParkedRequest,
} from '../../../shared/wire/parked-keys.ts';
import { gatewayEvent } from '../../support/gateway-call.ts';

const ID = '01J00000000000000000000000.3.8f14e45fceea167a';
const [topicId, , lane] = ID.split('.') as [string, string, string];
const PARKED: ParkedKey = {
  ...{ topicId, partition: 3, lane, topic: 'orders', offset: 41, waiting: 7, attempts: 5 },
  ...{ key: Buffer.from('order-17'), keyBytes: 8, parkedAt: 1_000, nextRetryAt: 61_000 },
  error: { name: 'Error', message: 'no' },
};

const sent = (method: string, target: string, body?: object) =>
  parseApiRequest(gatewayEvent(method, `/v1/subscriptions/invoices/${target}`, body ? { body } : {}).event);
const shown = (change: Partial<ParkedKey>) => {
  const { parked } = JSON.parse(String(parkedListAnswer({ items: [{ ...PARKED, ...change }] }).body)) as {
    parked: object[];
  };
  return parked[0]!;
};
const keyOf = (key: Uint8Array, keyBytes = key.length) => shown({ key, keyBytes });

describe('a parked key', () => {
  it('is shown with what it waits behind', () => {
    const answer = parkedListAnswer({ items: [PARKED], next: 'here' });
    const { nextToken, ...page } = JSON.parse(String(answer.body)) as { nextToken: string };
    expect(page).toEqual({
      parked: [
        {
          ...{ id: ID, topic: 'orders', partition: 3, key: 'order-17', offset: 41, waiting: 7, attempts: 5 },
          error: { name: 'Error', message: 'no' },
          ...{ parkedAt: 1_000, nextRetryAt: 61_000 },
        },
      ],
    });
    const listing = sent('GET', `parked?limit=5&nextToken=${nextToken}`);
    expect(parseParkedListing(listing)).toEqual({ subscription: 'invoices', limit: 5, after: 'here' });
  });

  it('has null for a next try that nobody waits for, and for an error that is forgotten', () => {
    const { error: _, nextRetryAt: __, ...due } = PARKED;
    const { parked } = JSON.parse(String(parkedListAnswer({ items: [due] }).body)) as { parked: object[] };
    expect(parked).toMatchObject([{ error: null, nextRetryAt: null }]);
  });

  it.each([
    ['text', Buffer.from('ключ'), { key: 'ключ' }],
    ['no bytes', Buffer.alloc(0), { key: '' }],
    ['bytes that are no UTF-8', Buffer.from([0xff, 0x00]), { key: '/wA=', keyEncoding: 'base64' }],
    ['text that is longer than its base64', Buffer.alloc(6), { key: 'AAAAAAAA', keyEncoding: 'base64' }],
  ])('of %s is written as records write theirs', (_, key, expected) => {
    const { key: text, keyEncoding, keyBytes } = keyOf(key) as Record<string, unknown>;
    expect({ key: text, ...(keyEncoding !== undefined && { keyEncoding }) }).toEqual(expected);
    expect(keyBytes).toBeUndefined();
  });

  it.each([
    ['within a character of two bytes', Buffer.from('éé').subarray(0, 3), { key: 'é', keyBytes: 900 }],
    ['within a character of four bytes', Buffer.from('a😀').subarray(0, 4), { key: 'a', keyBytes: 900 }],
    ['behind a character', Buffer.from('aé'), { key: 'aé', keyBytes: 900 }],
    ['in bytes that are no UTF-8', Buffer.from([0xff, 0xc3]), { keyEncoding: 'base64', keyBytes: 900 }],
  ])('that is cut %s shows its beginning, and how long it is', (_, key, expected) => {
    expect(keyOf(key, 900)).toMatchObject(expected);
  });
});

describe('an act on parked keys', () => {
  it('names some, or none: all', () => {
    expect(parseParkedRequest(sent('POST', 'parked/resume', { ids: [ID, ID] }))).toEqual({
      subscription: 'invoices',
      ids: [ID, ID],
    });
    expect(parseParkedRequest(sent('POST', 'parked/resume', {}))).toEqual({ subscription: 'invoices' });
    expect(parseParkedRequest(sent('POST', 'parked/dead-letter'))).toEqual({ subscription: 'invoices' });
  });

  it('is answered with how many', () => {
    expect(parkedActAnswer({ resuming: 2 }, true)).toMatchObject({ status: 202, body: '{"resuming":2,"more":true}' });
  });
});
