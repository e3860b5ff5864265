import { describe, expect, it } from 'vitest';
import { itemBytes, readUnits, writeUnits } from '../../bench/units.ts';

describe('units', () => {
  it('are counted up from 1 KB for writes and 4 KB for strongly consistent reads', () => {
    expect([0, 1, 1024, 1025].map(writeUnits)).toEqual([1, 1, 1, 2]);
    expect([0, 1, 4096, 4097].map(readUnits)).toEqual([1, 1, 1, 2]);
  });
});

describe('the size of an item', () => {
  it('counts names and texts in UTF-8, bytes as they are, truth values as one', () => {
    expect(itemBytes({ ä: { S: 'é€' }, b: { B: new Uint8Array(7) }, c: { BOOL: true } })).toBe(2 + 5 + 1 + 7 + 1 + 1);
    expect(itemBytes({ a: { L: [{ S: 'bc' }, { BOOL: true }] } })).toBe(1 + 3 + (1 + 2) + (1 + 1));
    expect(itemBytes({ a: { M: { bc: { S: 'def' } } } })).toBe(1 + 3 + (1 + 2 + 3));
  });

  it.each([
    ['0', 1],
    ['7', 2],
    ['99', 2],
    ['123', 3],
    ['1000', 2],
    ['-12', 3],
    ['1767225600012', 8],
  ])('counts the number %s as %i bytes: one, and one for each pair of significant digits', (text, bytes) => {
    expect(itemBytes({ n: { N: text } })).toBe(1 + bytes);
  });

  it('is refused for what it does not know', () => {
    expect(() => itemBytes({ a: { N: '1.5' } })).toThrow('1.5');
    expect(() => itemBytes({ a: { SS: ['b'] } })).toThrow('no size');
  });
});
