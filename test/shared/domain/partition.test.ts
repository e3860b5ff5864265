import { describe, expect, it } from 'vitest';
import { murmur2, partitionOf } from '../../../shared/domain/partition.ts';

const utf8 = (text: string) => Buffer.from(text, 'utf8');
const hex = (text: string) => Buffer.from(text, 'hex');

/** Key (UTF-8, hex), murmur2 as a signed 32-bit integer, partition of 6, of 7, of 12. Computed with Kafka's algorithm. */
const VECTORS: readonly (readonly [string, number, number, number | null, number | null])[] = [
  ['', 275646681, 3, 2, 9],
  ['00', 375494588, 2, 0, 8],
  ['6b', -1567496736, 2, 1, 8],
  ['efbbbf6b', -341690719, 1, 3, 1],
  ['c3a9', 186971271, 3, 4, 3],
  ['65cc81', -1650544357, 1, 2, 7],
  ['f09f8e89', 2031907914, 0, 1, 6],
  ['e697a5e69cac', -700811021, 3, 1, 3],
  ['d0bad0bbd18ed187', 2122343024, 2, 4, 8],
  ['757365722df09f98802d31', 2054760430, 4, 2, 10],
  ['f09f91a8e2808df09f91a9e2808df09f91a7e2808df09f91a6', -1612618181, 3, 3, 3],
  ['6f726465722d3432', 501153024, 0, 1, 0],
  ['ff00fe80', -404874816, 2, null, null],
];

describe('partitionOf', () => {
  it.each(VECTORS)('hashes key %s to %i', (key, hash, of6, of7, of12) => {
    expect(murmur2(hex(key))).toBe(hash);
    expect(partitionOf(hex(key), 6)).toBe(of6);
    if (of7 !== null) expect(partitionOf(hex(key), 7)).toBe(of7);
    if (of12 !== null) expect(partitionOf(hex(key), 12)).toBe(of12);
  });

  it.each([
    ['100:48069', 1009543857],
    ['wu', 290249560],
    ['thingäöüÄÖÜ', 215785582],
    ['TT0124', -1442328778],
    ['foobar', -790332482],
  ])('hashes the UTF-8 bytes of %s, not its characters', (key, hash) => {
    expect(murmur2(utf8(key))).toBe(hash);
  });

  it('sends keys that look alike to the partitions that their bytes name', () => {
    const keys = ['🎉', '\u00e9', 'e\u0301', '日本', 'ключ', 'k', '\ufeffk', '\0', '👨‍👩‍👧‍👦'];
    expect(keys.map((key) => partitionOf(utf8(key), 12))).toEqual([6, 3, 7, 3, 8, 8, 1, 8, 3]);
    expect(partitionOf(utf8('thingäöüÄÖÜ'), 10)).toBe(2);
  });

  it('moves the keys that a fourth partition moves in Kafka', () => {
    const keys = ['user-1', 'user-2', 'user-3', 'user-4'].map(utf8);
    expect(keys.map((key) => [partitionOf(key, 3), partitionOf(key, 4)])).toEqual([
      [2, 0],
      [2, 0],
      [2, 3],
      [1, 3],
    ]);
  });

  it('reads a view of a larger buffer and no byte beside it', () => {
    const whole = utf8('xxorder-42yy');
    expect(murmur2(whole.subarray(2, 10))).toBe(501153024);
  });
});
