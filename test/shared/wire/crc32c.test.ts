import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crc32c } from '../../../shared/wire/crc32c.ts';

const POLYNOMIAL = 0x82f63b78;

/** The definition itself, one bit at a time. */
function bitwise(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
  }
  return ~crc >>> 0;
}

describe('crc32c', () => {
  // RFC 3720, appendix B.4, and the check value of the CRC catalogue.
  it.each([
    ['nothing', Buffer.alloc(0), 0],
    ['the digits 1 to 9', Buffer.from('123456789'), 0xe3069283],
    ['32 bytes of zero', Buffer.alloc(32), 0x8a9136aa],
    ['32 bytes of ones', Buffer.alloc(32, 0xff), 0x62a8ab43],
    ['32 bytes counting up', Buffer.from(Array.from({ length: 32 }, (_, i) => i)), 0x46dd794e],
    ['32 bytes counting down', Buffer.from(Array.from({ length: 32 }, (_, i) => 31 - i)), 0x113fdb5c],
  ])('knows the published sum of %s', (_, bytes, sum) => {
    expect(crc32c(bytes)).toBe(sum);
  });

  it('equals the bit by bit definition for any bytes at any place in memory', () => {
    const anywhere = fc.record({ bytes: fc.uint8Array({ maxLength: 200 }), start: fc.nat(40), cut: fc.nat(40) });
    fc.assert(
      fc.property(anywhere, fc.nat(7), ({ bytes, start, cut }, shift) => {
        const placed = new Uint8Array(new ArrayBuffer(shift + bytes.length), shift, bytes.length);
        placed.set(bytes);
        const from = Math.min(start, bytes.length);
        const to = Math.max(from, bytes.length - cut);
        expect(crc32c(placed, from, to)).toBe(bitwise(bytes.subarray(from, to)));
      }),
    );
  });
});
