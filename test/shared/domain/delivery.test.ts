import { describe, expect, it } from 'vitest';
import { printable } from '../../../shared/domain/delivery.ts';
import { retryAfterMs } from '../../../shared/domain/retry-after.ts';

describe('what is kept of an answer', () => {
  it('is one line of at most 200 printable characters', () => {
    expect(printable('  a\r\n\tb\u0000\u001b[31mc\u202e\u200bd\ufffd\u2028e ')).toBe('a b [31mc d e');
    expect(printable('x'.repeat(5_000))).toBe('x'.repeat(200));
    expect(Array.from(printable('😀'.repeat(300)))).toHaveLength(200);
    expect(printable('<b>é</b>')).toBe('<b>é</b>');
  });
});

describe('Retry-After', () => {
  const now = Date.UTC(2026, 0, 1);
  it.each([
    ['120', 120_000],
    [' 0 ', 0],
    ['999999999', 3_600_000],
    ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
    ['Thursday, 01-Jan-26 00:00:30 GMT', 30_000],
    ['Thu Jan  1 00:00:30 2026', 30_000],
    ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
    ['Fri, 01 Jan 2027 00:00:00 GMT', 3_600_000],
    [undefined, undefined],
    ['', undefined],
    ['-5', undefined],
    ['1.5', undefined],
    ['soon', undefined],
    ['2026-01-01', undefined],
    ['Thu, 99 Foo 2026 00:00:30 GMT', undefined],
  ])('%s is %s ms', (header, expected) => {
    expect(retryAfterMs(header, now)).toBe(expected);
  });
});
