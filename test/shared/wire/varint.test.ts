import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PayloadCorrupt } from '../../../shared/wire/payload-corrupt.ts';
import { sizeOfVarint, sizeOfVarlong, VarintReader, writeVarint, writeVarlong } from '../../../shared/wire/varint.ts';

const int32 = fc.oneof(fc.integer(), fc.constantFrom(0, -1, 1, 63, -64, 64, 2 ** 31 - 1, -(2 ** 31)));
const safe = fc.oneof(
  fc.maxSafeInteger(),
  fc.constantFrom(0, -1, 2 ** 30, -(2 ** 30), 2 ** 31, 2 ** 53 - 1, 1 - 2 ** 53),
);

describe('varints', () => {
  it.each([
    [0, '00'],
    [-1, '01'],
    [1, '02'],
    [63, '7e'],
    [-64, '7f'],
    [64, '8001'],
    [300, 'd804'],
    [2 ** 31 - 1, 'feffffff0f'],
    [-(2 ** 31), 'ffffffff0f'],
  ])('writes %i as %s', (value, hex) => {
    const bytes = Buffer.alloc(8);
    expect(bytes.subarray(0, writeVarint(bytes, 0, value)).toString('hex')).toBe(hex);
  });

  it('come back as they went, in the size that was foretold', () => {
    fc.assert(
      fc.property(int32, (value) => {
        const bytes = new Uint8Array(sizeOfVarint(value));
        expect(writeVarint(bytes, 0, value)).toBe(bytes.length);
        expect(new VarintReader(bytes).varint()).toBe(value);
      }),
    );
    fc.assert(
      fc.property(safe, (value) => {
        const bytes = new Uint8Array(sizeOfVarlong(value));
        expect(writeVarlong(bytes, 0, value)).toBe(bytes.length);
        expect(new VarintReader(bytes).varlong()).toBe(value);
      }),
    );
  });

  it.each([
    ['a varint that is cut off', '8080', 'varint'],
    ['a varint of more than 32 bits', 'ffffffff1f', 'varint'],
    ['a varlong that is cut off', 'ffffffffffff', 'varlong'],
    ['a varlong of more than 64 bits', 'ffffffffffffffffffff01', 'varlong'],
    ['a varlong beyond 2^53', 'ffffffffffffffffff01', 'varlong'],
  ] as const)('refuses %s', (_, hex, kind) => {
    expect(() => new VarintReader(Buffer.from(hex, 'hex'))[kind]()).toThrow(PayloadCorrupt);
  });
});
