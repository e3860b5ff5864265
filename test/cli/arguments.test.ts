import { describe, expect, it } from 'vitest';
import { duration, partitions, place, retention, wholeNumber } from '../../cli/arguments.ts';

const placed = place(() => 1_000_000);

describe('an argument', () => {
  it.each([
    ['90s', 90_000],
    ['30m', 1_800_000],
    ['12h', 43_200_000],
    ['7d', 604_800_000],
    ['250ms', 250],
    ['3600000', 3_600_000],
  ])('says a time as %s', (text, ms) => {
    expect(duration(text)).toBe(ms);
  });

  it.each(['', '-1', '1.5h', '7 d', '1w', 'h', '1e3', '999999999999999d'])('that is no time is refused: %j', (text) => {
    expect(() => duration(text)).toThrow('It must be a time such as 90s');
  });

  it('may keep records for ever', () => {
    expect(retention('forever')).toBe(-1);
    expect(retention('1h')).toBe(3_600_000);
    expect(() => retention('never')).toThrow('It must be a time');
  });

  it('says whole numbers', () => {
    expect(wholeNumber(1)('1')).toBe(1);
    for (const text of ['0', '-1', '1.5', '1e3', '', ' 1', '99999999999999999']) {
      expect(() => wholeNumber(1)(text)).toThrow('It must be a whole number, 1 or more.');
    }
    expect(partitions('0,2,5')).toEqual([0, 2, 5]);
    expect(() => partitions('0,,5')).toThrow('whole number');
  });

  it.each([
    ['earliest', 'earliest'],
    ['latest', 'latest'],
    ['1200', { offset: 1200 }],
    ['0', { offset: 0 }],
    ['10s', { at: 990_000 }],
    ['2026-01-01', { at: 1_767_225_600_000 }],
    ['2026-01-01T02:00:00+02:00', { at: 1_767_225_600_000 }],
  ])('says a place in a log as %s', (text, expected) => {
    expect(placed(text)).toEqual(expected);
  });

  it.each(['newest', '-5', '2026-02-30', '2026-01-01T00:00:00', 'yesterday', ''])(
    'that is no place is refused: %j',
    (text) => {
      expect(() => placed(text)).toThrow('It must be earliest, latest, an offset');
    },
  );
});
