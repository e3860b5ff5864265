import { describe, expect, it } from 'vitest';
import { Forbidden } from '../../../shared/domain/access-errors.ts';
import {
  ANYBODY,
  type Caller,
  demand,
  EVERYTHING,
  isAllowed,
  matches,
  RIGHTS,
  targetName,
} from '../../../shared/domain/rights.ts';

describe('a pattern', () => {
  it.each([
    ['orders', ['orders'], ['Orders', 'orders-eu', 'order', '']],
    ['orders-*', ['orders-', 'orders-eu', 'orders-*'], ['orders', 'xorders-eu', 'Orders-eu']],
    ['*', ['', 'a', 'a.b', '*'], []],
    ['**', ['', 'a'], []],
    ['*-eu', ['-eu', 'orders-eu', '-eu-eu'], ['orders-eu-', 'eu']],
    ['a*b', ['ab', 'a.b', 'abb', 'aab'], ['a', 'b', 'abc', 'ba']],
    ['a*a', ['aa', 'aba'], ['a']],
    ['ab*ba', ['abba', 'ab-ba'], ['aba']],
    ['a*b*c', ['abc', 'a-b-b-c'], ['acb', 'ac']],
    ['*ab*ab*', ['abab', 'xabyabz'], ['aba', 'ab']],
    ['a.c', ['a.c'], ['abc']],
    ['[ab]', ['[ab]'], ['a']],
    ['', [''], ['a']],
  ] as const)('%j means these names and no others', (pattern, meant, others) => {
    for (const name of meant) expect([name, matches(pattern, name)]).toEqual([name, true]);
    for (const name of others) expect([name, matches(pattern, name)]).toEqual([name, false]);
  });

  it('of very many stars is no more work than it is long', () => {
    expect(matches('a*'.repeat(1_000), 'a'.repeat(2_000))).toBe(true);
    expect(matches(`${'*a'.repeat(120)}b`, 'a'.repeat(249))).toBe(false);
  });
});

describe('what a caller may do', () => {
  const caller = (...rights: Exclude<Caller['rights'], 'every'>): Caller => ({ principal: 'key:1', rights });

  it('is what one entry allows for all that is used together', () => {
    const one = caller({ topics: 'a', groups: 'g', allow: ['consume'] }, { topics: 'b', allow: ['produce'] });
    expect(isAllowed(one, 'consume', { topic: 'a', group: 'g' })).toBe(true);
    expect(isAllowed(one, 'consume', { group: 'g' })).toBe(true);
    expect(isAllowed(one, 'any', { topic: 'b' })).toBe(true);
    expect(isAllowed(one, 'consume', { topic: 'b' })).toBe(false);
    expect(isAllowed(one, 'produce', { topic: 'b', group: 'g' })).toBe(false);
    expect(isAllowed(one, 'any', { topic: 'c' })).toBe(false);
    expect(isAllowed(one, 'subscribe', { topic: 'a', group: 'g', target: 'lambda:f' })).toBe(false);
    expect(isAllowed(caller(), 'any', { topic: 'a' })).toBe(false);
    expect(isAllowed(ANYBODY, 'admin', EVERYTHING)).toBe(true);
  });

  it('is not everything unless every pattern of one entry means everything', () => {
    const all = { topics: '*', groups: '*', targets: '*' };
    expect(isAllowed(caller({ ...all, allow: RIGHTS }), 'admin', EVERYTHING)).toBe(true);
    for (const less of [{ topics: 'a*' }, { groups: '*a' }, { targets: 'lambda:*' }, { allow: ['consume'] as const }]) {
      expect(isAllowed(caller({ ...all, allow: ['admin'], ...less }), 'admin', EVERYTHING)).toBe(false);
    }
    const halves = caller({ topics: '*', groups: '*', allow: ['admin'] }, { targets: '*', allow: ['admin'] });
    expect(isAllowed(halves, 'admin', EVERYTHING)).toBe(false);
  });

  it('is demanded by a refusal that says who lacks what', () => {
    const nobody = caller();
    expect(() => demand(nobody, 'consume', { topic: 'a', group: 'g' })).toThrow(Forbidden);
    expect(() => demand(nobody, 'consume', { topic: 'a', group: 'g' })).toThrow(
      expect.objectContaining({
        message: "key:1 has no right 'consume' over topic 'a', group 'g'",
        data: { principal: 'key:1', right: 'consume', topic: 'a', group: 'g' },
      }),
    );
    expect(() => demand(nobody, 'any', { group: 'g' })).toThrow("key:1 has no right at all over group 'g'");
  });
});

it('targets are named by kind and address, URLs as they are understood', () => {
  expect(targetName({ lambda: { functionArn: 'arn:f' } })).toBe('lambda:arn:f');
  expect(targetName({ sqs: { queueUrl: 'https://q' } })).toBe('sqs:https://q');
  expect(targetName({ eventBridge: { eventBusName: 'b' } })).toBe('eventBridge:b');
  const http = (url: string) => targetName({ http: { url, secret: '' } });
  expect(http('https://EXAMPLE.com')).toBe('http:https://example.com/');
  expect(http('https://example.com/a/../b')).toBe('http:https://example.com/b');
  expect(http('https:\\\\evil.example\\https://example.com/')).toBe('http:https://evil.example/https://example.com/');
  expect(http('nonsense')).toBe('http:nonsense');
});
