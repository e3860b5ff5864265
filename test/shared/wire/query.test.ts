import { describe, expect, it } from 'vitest';
import { InvalidRequest } from '../../../shared/domain/errors.ts';
import { parseChoice, parseInteger, parseQuery } from '../../../shared/wire/query.ts';

describe('a query string', () => {
  it('gives each parameter decoded once', () => {
    expect(parseQuery('key=%2Fa%2520b+c&at=', ['key', 'at'])).toEqual({ key: '/a%20b c', at: '' });
    expect(parseQuery('', ['key'])).toEqual({});
  });

  it('may be that of a presigned request', () => {
    expect(parseQuery('X-Amz-Date=20260101T000000Z&at=latest&X-Amz-Signature=00', ['at'])).toEqual({ at: 'latest' });
  });

  it.each([
    ['an unknown parameter', 'maxRecord=1', "'maxRecord' is unknown; known here: offset, maxRecords"],
    ['a parameter of any object', 'toString=1', "'toString' is unknown"],
    ['a repeated parameter', 'offset=1&offset=1', "'offset' is given more than once"],
    ['a parameter repeated by another spelling', 'offset=1&off%73et=2', "'offset' is given more than once"],
    ['half an escape', 'offset=%4', "The percent-encoding of query parameter 'offset'"],
    ['escapes that are no UTF-8', 'offset=%ff', "The percent-encoding of query parameter 'offset'"],
  ])('is refused for %s, by its name', (_, raw, detail) => {
    expect(() => parseQuery(raw, ['offset', 'maxRecords'])).toThrow(InvalidRequest);
    expect(() => parseQuery(raw, ['offset', 'maxRecords'])).toThrow(detail);
  });
});

describe('an integer', () => {
  it.each(['0', '41', '9007199254740991'])('may be %s', (text) => {
    expect(parseInteger(text, 'offset', 0, Number.MAX_SAFE_INTEGER)).toBe(Number(text));
  });

  it.each([
    '',
    '01',
    ' 5',
    '5 ',
    '1e3',
    '-1',
    '+1',
    '5.5',
    '0x1',
    '٣',
    'NaN',
    '9007199254740992',
    '99999999999999999999',
  ])('is refused when it is spelled %j', (text) => {
    expect(() => parseInteger(text, 'offset', 0, Number.MAX_SAFE_INTEGER)).toThrow(
      "'offset' must be a decimal integer",
    );
  });

  it('is refused outside its range, never clamped', () => {
    expect(() => parseInteger('1001', 'maxRecords', 1, 1_000)).toThrow(
      "'maxRecords' must be a decimal integer from 1 to 1000",
    );
    expect(() => parseInteger('0', 'maxRecords', 1, 1_000)).toThrow(InvalidRequest);
  });
});

describe('a choice', () => {
  it('is one of its words', () => {
    expect(parseChoice('earliest', 'reset', ['earliest', 'latest'])).toBe('earliest');
    expect(() => parseChoice('Earliest', 'reset', ['earliest', 'latest'])).toThrow(
      "'reset' must be 'earliest' or 'latest'",
    );
  });
});
