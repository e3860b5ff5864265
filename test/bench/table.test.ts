import { describe, expect, it } from 'vitest';
import { lowerQuartile, median, tableOf } from '../../bench/section.ts';
import { renderSection, renderTable } from '../../bench/table.ts';

const heads = { name: 'name', figure: 'µs' };

describe('a table', () => {
  it('sets words to the left and numbers to the right, with no more digits than a measurement has', () => {
    const rows = [
      { name: 'a', figure: 1.2345 },
      { name: 'long', figure: 12_345.6 },
      { name: 'b', figure: 34.56 },
      { name: 'c', figure: 7 },
    ];
    expect(renderTable(tableOf('', heads, rows)).split('\n')).toEqual([
      'name      µs',
      'a       1.23',
      'long  12 346',
      'b       34.6',
      'c          7',
    ]);
  });

  it('shows a dash where there is no figure', () => {
    const rows = [
      { name: 'a', figure: undefined },
      { name: 'b', figure: Number.NaN },
    ];
    expect(
      renderTable(tableOf('', heads, rows))
        .split('\n')
        .slice(1),
    ).toEqual(['a      –', 'b      –']);
  });
});

describe('a section', () => {
  it('names each law, and where it was seen broken', () => {
    const laws = [
      { law: 'one is one', broken: [] },
      { law: 'two is one', broken: ['here'] },
    ];
    expect(renderSection('x', { title: 'sums', tables: [], laws, notes: ['a note'] }).split('\n')).toEqual([
      'x  sums',
      'holds   one is one',
      'BROKEN  two is one',
      '        here',
      'a note',
    ]);
  });
});

describe('the lower quartile', () => {
  it('is a value that a quarter is not larger than', () => {
    expect(lowerQuartile([5, 4, 3, 2, 1])).toBe(2);
    expect(lowerQuartile([7])).toBe(7);
  });

  it('of nothing is refused', () => {
    expect(() => lowerQuartile([])).toThrow('no quartile');
  });
});

describe('the median', () => {
  it('is the middle value, or lies between the middle two', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
  });

  it('of nothing is refused', () => {
    expect(() => median([])).toThrow('no median');
  });
});
