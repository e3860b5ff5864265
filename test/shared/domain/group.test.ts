import { describe, expect, it } from 'vitest';
import { deadLetterIdText, parseDeadLetterId } from '../../../shared/domain/dead-letter.ts';
import {
  isExpiredMember,
  isInstanceId,
  isMemberUlid,
  memberExpiry,
  memberKeyOf,
  newMemberId,
  nextEpoch,
  staticMemberKey,
} from '../../../shared/domain/group.ts';
import { CLOCK_MARGIN_MS } from '../../../shared/domain/limits.ts';

const ULID = '01BX5ZZKBKACTAV9WEVGEMMVRY';

describe('a member', () => {
  it('is found by its id: a dynamic one as it is, a static one by its instance', () => {
    expect(memberKeyOf(newMemberId(ULID))).toBe(ULID);
    for (const instanceId of ['a', 'pod-7', `${ULID}-${ULID}`, 'billing #3 ü🙂', '-', 'x'.repeat(64)]) {
      const key = memberKeyOf(newMemberId(ULID, instanceId));
      expect(key, instanceId).toBe(staticMemberKey(instanceId));
      expect(key).toMatch(/^i\.[\w-]+$/);
      expect(Buffer.from(key!.slice(2), 'base64url').toString()).toBe(instanceId);
    }
  });

  it.each([
    '',
    ULID.toLowerCase(),
    `${ULID}0`,
    `-${ULID}`,
    'pod-7',
    `${'x'.repeat(65)}-${ULID}`,
    `a\nb-${ULID}`,
    `\ud800-${ULID}`,
  ])('has not the id %j', (text) => {
    expect(memberKeyOf(text)).toBeUndefined();
    expect(isMemberUlid(text)).toBe(false);
  });

  it.each([
    ['pod-7', true],
    ['x'.repeat(64), true],
    ['', false],
    ['x'.repeat(65), false],
    ['a\u0000', false],
    ['\udc00', false],
  ])('of instance %j: %s', (text, isFine) => {
    expect(isInstanceId(text)).toBe(isFine);
  });

  it('is expired a margin after its session, and not before', () => {
    const member = { lastSeenAt: 1_000, sessionTimeoutMs: 6_000 };
    expect(isExpiredMember(member, 7_000 + CLOCK_MARGIN_MS)).toBe(false);
    expect(isExpiredMember(member, 7_001 + CLOCK_MARGIN_MS)).toBe(true);
    expect(memberExpiry(member)).toBe(7_001 + CLOCK_MARGIN_MS);
  });
});

it('an epoch follows another, the clock, and where its tenure begins', () => {
  expect(nextEpoch(5, 3)).toBe(6);
  expect(nextEpoch(5, 100)).toBe(100);
  expect(nextEpoch(5, 100, 104)).toBe(104);
  expect(nextEpoch(200, 100, 104)).toBe(201);
});

describe('the id of a dead letter', () => {
  it('leads back to its record', () => {
    const letter = { topicId: ULID, partition: 1_023, offset: Number.MAX_SAFE_INTEGER };
    expect(parseDeadLetterId(deadLetterIdText(letter))).toEqual(letter);
  });

  it.each([
    '',
    ULID,
    `${ULID}.1`,
    `${ULID}.01.1`,
    `${ULID}.1024.1`,
    `${ULID}.1.9007199254740992`,
    `x.1.1`,
    `${ULID}.1.-1`,
  ])('is not %j', (text) => {
    expect(parseDeadLetterId(text)).toBeUndefined();
  });
});
