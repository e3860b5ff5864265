import { describe, expect, it } from 'vitest';
import { InvalidRequest } from '../../../shared/domain/errors.ts';
import type { ApiRequest } from '../../../shared/wire/http-request.ts';
import { idempotencyKeyOf } from '../../../shared/wire/idempotency-key.ts';

const withKey = (key?: string) =>
  ({ headers: new Map(key === undefined ? [] : [['idempotency-key', key]]) }) as unknown as ApiRequest;

describe('the Idempotency-Key', () => {
  it('is 1 to 255 printable ASCII characters, as sent', () => {
    expect(idempotencyKeyOf(withKey())).toBeUndefined();
    const printable = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('');
    for (const key of ['k', '~', 'a b', 'k'.repeat(255), printable]) expect(idempotencyKeyOf(withKey(key))).toBe(key);
  });

  it('is refused otherwise', () => {
    const control = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code));
    for (const wrong of [
      '',
      'k'.repeat(256),
      '\x7f',
      '\x80',
      'é',
      '€',
      '😀',
      ...control,
      ...control.map((c) => `k${c}`),
    ]) {
      expect(() => idempotencyKeyOf(withKey(wrong)), JSON.stringify(wrong)).toThrow(InvalidRequest);
    }
  });
});
