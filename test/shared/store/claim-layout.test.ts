import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeClaim, encodeClaim } from '../../../shared/store/claim-layout.ts';

const hex = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((value) => Buffer.from(value).toString('hex'));
const claims = fc.record({
  fingerprint: hex(32),
  placement: fc.record({
    takenAt: fc.integer({ min: 0, max: 2 ** 45 }),
    partitions: fc.integer({ min: 1, max: 1_024 }),
    keyless: fc.integer({ min: 0, max: 1_023 }),
  }),
  pins: fc.array(
    fc.record({
      partition: fc.integer({ min: 0, max: 1_023 }),
      id: hex(12),
      base: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER - 1_000 }),
      count: fc.integer({ min: 1, max: 1_000 }),
      time: fc.integer({ min: 0, max: 2 ** 45 }),
    }),
    { maxLength: 20 },
  ),
});

describe('a claim', () => {
  it('comes back as it was stored', () => {
    fc.assert(
      fc.property(claims, (claim) => {
        expect(decodeClaim(encodeClaim(claim))).toEqual(claim);
      }),
    );
  });

  it('is refused when it ends too early', () => {
    const pin = { partition: 3, id: '00112233445566778899aabb', base: 300, count: 1, time: 5 };
    const placement = { takenAt: 5, partitions: 8, keyless: 0 };
    const whole = encodeClaim({ fingerprint: 'ab'.repeat(32), placement, pins: [pin] });
    const end = whole.length - 1;
    for (const length of [0, 31, 32, end - 14, end])
      expect(() => decodeClaim(whole.subarray(0, length))).toThrow(/ends/);
  });
});
