import { describe, expect, it } from 'vitest';
import { InvalidRequest } from '../../../shared/domain/errors.ts';
import { MEMBER_TOPICS_MAX } from '../../../shared/domain/limits.ts';
import {
  parseDeadLetterListing,
  parseDeadLetterRequest,
  parseResetRequest,
} from '../../../shared/wire/group-admin-requests.ts';
import { parseCommitsRequest, parseHeartbeatRequest, parsePollRequest } from '../../../shared/wire/group-requests.ts';
import { ANSWER_BODY_BYTES_MAX } from '../../../shared/wire/http-answer.ts';
import { type ApiRequest, parseApiRequest } from '../../../shared/wire/http-request.ts';
import { toNextToken } from '../../../shared/wire/next-token.ts';
import { gatewayEvent } from '../../support/gateway-call.ts';

const ULID = '01J00000000000000000000000';
const POLL = { memberId: null, topics: ['orders'] };
const HELD = { topic: 'orders', partition: 3, epoch: 7, offset: 42 };

const sent = (method: string, target: string, body?: object | string) =>
  parseApiRequest(gatewayEvent(method, `/v1/groups/${target}`, body === undefined ? {} : { body }).event);
const poll = (body: object) => parsePollRequest(sent('POST', 'billing/poll', body));

/** The field or parameter that a refusal names, and what it says. */
function refusal(parse: () => unknown): string {
  try {
    parse();
  } catch (error) {
    if (!(error instanceof InvalidRequest)) throw error;
    const { field, parameter = field } = error.data;
    expect(error.message).toContain(`'${parameter}'`);
    return String(parameter);
  }
  throw new Error('it was not refused');
}

describe('a poll', () => {
  it('has its defaults', () => {
    expect(poll(POLL)).toEqual({
      group: 'billing',
      topics: ['orders'],
      positions: [],
      commit: [],
      release: [],
      paused: [],
      maxRecords: 500,
      maxBytes: 1_048_576,
      waitMs: 0,
      sessionTimeoutMs: 30_000,
      autoOffsetReset: 'earliest',
      values: 'json',
    });
  });

  it('of a member leaves its topics and session as they are', () => {
    const { memberId, topics, sessionTimeoutMs } = poll({ memberId: ULID });
    expect({ memberId, topics, sessionTimeoutMs }).toEqual({ memberId: ULID });
  });

  it('takes every field up to its bounds', () => {
    const full = {
      instanceId: 'é'.repeat(64),
      topics: Array.from({ length: MEMBER_TOPICS_MAX }, (_, i) => `t${i}`),
      positions: [HELD],
      commit: [{ ...HELD, offset: Number.MAX_SAFE_INTEGER, metadata: 'm'.repeat(255) }],
      release: [{ topic: 'orders', partition: 1_023, epoch: 0 }],
      paused: [{ topic: 'orders', partition: 0 }],
      maxRecords: 1_000,
      waitMs: 20_000,
      sessionTimeoutMs: 1_800_000,
      autoOffsetReset: 'none',
      reset: 'latest',
      turn: 3,
      values: 'base64',
    };
    const asked = { ...full, memberId: `new:${ULID}`, maxBytes: 5_242_880 };
    expect(poll(asked)).toEqual({ ...full, group: 'billing', proposed: ULID, maxBytes: ANSWER_BODY_BYTES_MAX });
  });

  it('takes positions back exactly as `assigned` said them, errors and all', () => {
    const assigned = [{ ...HELD, error: { code: 'offset_out_of_range', logStartOffset: 50 } }];
    expect(poll({ memberId: ULID, positions: assigned }).positions).toEqual([HELD]);
  });

  it.each<[string, object]>([
    ['topics', { memberId: null }],
    ['topics', { topics: [] }],
    ['topics', { topics: 'orders' }],
    ['topics[0]', { topics: ['or/ders'] }],
    ['topics[1]', { topics: ['orders', 'orders'] }],
    ['topics[0]', { topics: ['\ud800'] }],
    ['memberId', { ...POLL, memberId: 5 }],
    ['memberId', { ...POLL, memberId: '' }],
    ['memberId', { ...POLL, memberId: 'a\udfff' }],
    ['memberId', { ...POLL, memberId: 'new:' }],
    ['memberId', { ...POLL, memberId: `new:${ULID.toLowerCase()}` }],
    ['instanceId', { ...POLL, instanceId: '' }],
    ['instanceId', { ...POLL, instanceId: 'x'.repeat(65) }],
    ['instanceId', { ...POLL, instanceId: 'a\u0000' }],
    ['instanceId', { ...POLL, instanceId: '\ud800' }],
    ['maxRecords', { ...POLL, maxRecords: 0 }],
    ['maxRecords', { ...POLL, maxRecords: 1_001 }],
    ['maxRecords', { ...POLL, maxRecords: '5' }],
    ['maxRecords', { ...POLL, maxRecords: null }],
    ['maxBytes', { ...POLL, maxBytes: 5_242_881 }],
    ['waitMs', { ...POLL, waitMs: 20_001 }],
    ['sessionTimeoutMs', { ...POLL, sessionTimeoutMs: 5_999 }],
    ['sessionTimeoutMs', { ...POLL, sessionTimeoutMs: 1_800_001 }],
    ['autoOffsetReset', { ...POLL, autoOffsetReset: 'now' }],
    ['reset', { ...POLL, reset: 'none' }],
    ['values', { ...POLL, values: 'xml' }],
    ['turn', { ...POLL, turn: -1 }],
    ['retries', { ...POLL, retries: 1 }],
    ['positions', { ...POLL, positions: {} }],
    ['positions[0]', { ...POLL, positions: [null] }],
    ['positions[1]', { ...POLL, positions: [HELD, HELD] }],
    ['positions[0].epoch', { ...POLL, positions: [{ topic: 'orders', partition: 3, offset: 42 }] }],
    ['commit[0].offset', { ...POLL, commit: [{ ...HELD, offset: -1 }] }],
    ['commit[0].offset', { ...POLL, commit: [{ ...HELD, offset: 5.5 }] }],
    ['commit[0].offset', { ...POLL, commit: [{ ...HELD, offset: '5' }] }],
    ['commit[0].offset', { ...POLL, commit: [{ ...HELD, offset: 9_007_199_254_740_992 }] }],
    ['commit[0].metadata', { ...POLL, commit: [{ ...HELD, metadata: 'é'.repeat(128) }] }],
    ['commit[0].metadata', { ...POLL, commit: [{ ...HELD, metadata: '\udc00' }] }],
    ['commit[0].partition', { ...POLL, commit: [{ ...HELD, partition: 1_024 }] }],
    ['release[0].offset', { ...POLL, release: [HELD] }],
    ['paused[0].partition', { ...POLL, paused: [{ topic: 'orders' }] }],
  ])('is refused by the name of its field: %s in %j', (field, body) => {
    expect(refusal(() => poll(body))).toBe(field);
  });

  it.each(['.', 'a%2Fb', 'x'.repeat(250)])('is refused for the group %s', (group) => {
    const request = sent('POST', 'billing/poll', POLL);
    const named: ApiRequest = { ...request, parameters: new Map([['group', decodeURIComponent(group)]]) };
    expect(() => parsePollRequest(named)).toThrow(InvalidRequest);
  });
});

describe('what else members say', () => {
  it.each<[string, (body: object) => unknown, object]>([
    ['memberId', (body) => parseHeartbeatRequest(sent('POST', 'g/heartbeat', body)), {}],
    ['memberId', (body) => parseHeartbeatRequest(sent('POST', 'g/heartbeat', body)), { memberId: null }],
    ['topics', (body) => parseHeartbeatRequest(sent('POST', 'g/heartbeat', body)), { memberId: 'm', topics: ['t'] }],
    ['offsets', (body) => parseCommitsRequest(sent('POST', 'g/commits', body)), {}],
    ['offsets', (body) => parseCommitsRequest(sent('POST', 'g/commits', body)), { offsets: [] }],
    [
      'offsets[1]',
      (body) => parseCommitsRequest(sent('POST', 'g/commits', body)),
      { offsets: [HELD, { ...HELD, offset: 1 }] },
    ],
    ['error.name', deadLetterOf, { error: { name: '', message: '' } }],
    ['error.message', deadLetterOf, { error: { name: 'Error', message: '\ud800' } }],
    ['error.stack', deadLetterOf, { error: { name: 'Error', message: '', stack: '' } }],
    ['attempts', deadLetterOf, { attempts: 0 }],
    ['epoch', deadLetterOf, { epoch: null }],
  ])('is refused by the name of its field: %s', (field, parse, body) => {
    expect(refusal(() => parse(body))).toBe(field);
  });

  it('commits with and without members and epochs', () => {
    const { epoch: _, ...free } = HELD;
    expect(parseCommitsRequest(sent('POST', 'g/commits', { memberId: null, offsets: [free] }))).toEqual({
      group: 'g',
      offsets: [free],
    });
    expect(parseCommitsRequest(sent('POST', 'g/commits', { memberId: 'm', offsets: [HELD] }))).toEqual({
      ...{ group: 'g', memberId: 'm' },
      offsets: [HELD],
    });
  });
});

describe('a reset', () => {
  const reset = (to: unknown, more = {}) =>
    parseResetRequest(sent('PUT', 'g/offsets', { topic: 'orders', to, ...more }));

  it('leads to an end, a time or an offset, of some partitions or all', () => {
    expect(reset('latest')).toEqual({ group: 'g', topic: 'orders', to: 'latest' });
    expect(reset({ at: '2026-01-01T02:00:00+02:00' }).to).toEqual({ at: Date.UTC(2026, 0, 1) });
    expect(reset({ offset: 5 }, { partitions: [3, 0] })).toMatchObject({ to: { offset: 5 }, partitions: [3, 0] });
  });

  it.each<[string, unknown, object?]>([
    ['to', undefined],
    ['to', 'none'],
    ['to', 5],
    ['to', { at: '2026-01-01T00:00:00Z', offset: 5 }],
    ['to', {}],
    ['to.at', { at: 1_767_225_600_000 }],
    ['to.at', { at: '2026-02-30T00:00:00Z' }],
    ['to.offset', { offset: -1 }],
    ['to.offset', { offset: 0.5 }],
    ['partitions', 'latest', { partitions: [] }],
    ['partitions[1]', 'latest', { partitions: [0, 0] }],
    ['partitions[0]', 'latest', { partitions: ['0'] }],
  ])('is refused by the name of its field: %s', (field, to, more) => {
    expect(refusal(() => reset(to, more))).toBe(field);
  });
});

describe('a list of dead letters', () => {
  const listed = (query: string) => parseDeadLetterListing(sent('GET', `g/dead-letters?${query}`));

  it('has every filter', () => {
    const token = toNextToken('deadLetters', `${ULID}.0003.0000000000000041`);
    expect(
      listed(`topic=orders&partition=3&key=a%20b&since=2026-01-01T00:00:00Z&state=stored&limit=1&nextToken=${token}`),
    ).toEqual({
      ...{
        group: 'g',
        topic: 'orders',
        partition: 3,
        key: 'a b',
        since: Date.UTC(2026, 0, 1),
        state: 'stored',
        limit: 1,
      },
      after: `${ULID}.0003.0000000000000041`,
    });
  });

  it.each(['topic=a/b', 'partition=x', 'since=today', 'state=lost', 'limit=0', 'nextToken=x', 'limit=1&limit=2'])(
    'is refused by the name of its parameter: %s',
    (query) => {
      expect(refusal(() => listed(query))).toBe(query.split('=')[0]);
    },
  );
});

function deadLetterOf(body: object) {
  const usual = { memberId: 'm', ...HELD, error: { name: 'Error', message: 'no' }, attempts: 1 };
  return parseDeadLetterRequest(sent('POST', 'g/dead-letters', { ...usual, ...body }));
}
