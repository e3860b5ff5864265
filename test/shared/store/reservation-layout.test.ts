import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SETTLE_AFTER_MS } from '../../../shared/domain/limits.ts';
import type { Reserved } from '../../../shared/domain/slot.ts';
import {
  decodePrevious,
  decodeRegisterEntry,
  encodePrevious,
  encodeRegisterEntry,
  NO_RESERVATION,
} from '../../../shared/store/reservation-layout.ts';

const TIME_MAX = 4_102_444_800_000;

const reservedOf = (): fc.Arbitrary<Reserved> =>
  fc
    .record({
      count: fc.integer({ min: 1, max: 1_000 }),
      time: fc.integer({ min: 0, max: TIME_MAX }),
      lifetimeS: fc.option(fc.integer({ min: 0, max: 2 ** 40 }), { nil: undefined }),
      settleMs: fc.constantFrom(SETTLE_AFTER_MS, 10_000),
    })
    .map(({ lifetimeS, time, ...rest }) => ({
      ...rest,
      time,
      expiresAt: lifetimeS === undefined ? 0 : Math.max(1, Math.floor(time / 1_000) + lifetimeS),
    }));

describe('the reservations that a slot tells of its predecessors', () => {
  it('come back as they were, also when a clock ran ahead', () => {
    fc.assert(
      fc.property(fc.array(reservedOf(), { maxLength: 8 }), fc.integer({ min: 0, max: TIME_MAX }), (previous, at) => {
        expect(decodePrevious(encodePrevious(previous, at), at)).toEqual(previous);
      }),
    );
  });

  it('take about 8 bytes each in ordinary traffic', () => {
    const at = 1_800_000_000_000;
    const previous = Array.from({ length: 8 }, (_, i) => {
      const time = at - i * 700;
      return { count: 10, time, expiresAt: Math.ceil(time / 1_000) + 604_800, settleMs: SETTLE_AFTER_MS };
    });
    expect(encodePrevious(previous, at).length).toBeLessThanOrEqual(8 * 8);
  });

  it('are refused when they end in the middle of a number', () => {
    const whole = encodePrevious([{ count: 300, time: 5, expiresAt: 0, settleMs: SETTLE_AFTER_MS }], 5);
    for (let length = 1; length < whole.length; length++) {
      expect(() => decodePrevious(whole.subarray(0, length), 5)).toThrow(/ends in the middle/);
    }
  });
});

describe("an entry of a head's register", () => {
  const id = '00112233445566778899aabb';

  it('comes back with its id', () => {
    fc.assert(
      fc.property(reservedOf(), (reserved) => {
        expect(decodeRegisterEntry(encodeRegisterEntry(id, reserved))).toEqual({ id, ...reserved });
      }),
    );
  });

  it('is nothing where no reservation is remembered', () => {
    expect(decodeRegisterEntry(NO_RESERVATION)).toBeUndefined();
  });

  it('takes only ids of twelve bytes', () => {
    const reserved = { count: 1, time: 1, expiresAt: 0, settleMs: SETTLE_AFTER_MS };
    expect(() => encodeRegisterEntry('0011', reserved)).toThrow(/not a reservation id/);
  });
});
