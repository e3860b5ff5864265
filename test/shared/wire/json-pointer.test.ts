import { describe, expect, it } from 'vitest';
import { InvalidRequest } from '../../../shared/domain/errors.ts';
import { parseJsonPointer } from '../../../shared/wire/json-pointer.ts';

describe('parseJsonPointer', () => {
  // RFC 6901, section 5.
  it.each([
    ['', []],
    ['/foo', ['foo']],
    ['/foo/0', ['foo', '0']],
    ['/', ['']],
    ['/a~1b', ['a/b']],
    ['/m~0n', ['m~n']],
    ['/~01', ['~1']],
    ['/a//b', ['a', '', 'b']],
    ['/__proto__/ключ', ['__proto__', 'ключ']],
  ])('reads %j as %j', (pointer, steps) => {
    expect(parseJsonPointer(pointer, 'key')).toEqual(steps);
  });

  it.each(['foo', '#/foo', '/a~2', '/a~', ' /a'])('refuses %j, naming the parameter', (pointer) => {
    expect(() => parseJsonPointer(pointer, 'key')).toThrow(InvalidRequest);
    expect(() => parseJsonPointer(pointer, 'key')).toThrow("'key'");
  });
});
