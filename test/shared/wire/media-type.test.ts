import { describe, expect, it } from 'vitest';
import { isJsonType, parseMediaType, weightOf } from '../../../shared/wire/media-type.ts';

describe('a media type', () => {
  it.each([
    ['Application/JSON', { essence: 'application/json' }],
    ['application/json; charset=utf-8', { essence: 'application/json', charset: 'utf-8' }],
    ['application/json;profile=x;Charset="UTF-16"', { essence: 'application/json', charset: 'utf-16' }],
    [' text/plain ', { essence: 'text/plain' }],
    ['', { essence: '' }],
  ])('%j is matched without case and parameters', (text, expected) => {
    expect(parseMediaType(text)).toEqual(expected);
  });

  it('is JSON when its name says so', () => {
    expect(['application/json', 'application/vnd.acme+json'].map(isJsonType)).toEqual([true, true]);
    expect(['text/json', 'application/x-ndjson', 'application/+json', 'application/jsonp'].map(isJsonType)).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });
});

describe('the weight of a choice', () => {
  it.each([
    [undefined, 0],
    ['gzip', 1],
    ['br, GZIP;q=0.5', 0.5],
    ['gzip; q=0', 0],
    ['gzip;level=1;q=0.3', 0.3],
    ['gzip;q=never', 0],
    ['gzip;q=7', 0],
    ['x-gzip', 0],
    ['', 0],
  ])('in %j is %d', (header, weight) => {
    expect(weightOf(header, 'gzip')).toBe(weight);
  });
});
