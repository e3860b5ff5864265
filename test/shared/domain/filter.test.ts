import { describe, expect, it } from 'vitest';
import { compileFilter } from '../../../shared/domain/filter.ts';
import { InvalidFilter } from '../../../shared/domain/filter-errors.ts';
import { filterView } from '../../../shared/domain/filter-view.ts';

function matches(pattern: unknown, value: unknown, rest: { key?: string; headers?: [string, string | null][] } = {}) {
  return compileFilter(pattern).matches(
    filterView({
      key: rest.key === undefined ? null : Buffer.from(rest.key),
      value: Buffer.from(JSON.stringify(value)),
      headers: (rest.headers ?? []).map(([name, text]) => ({ name, value: text === null ? null : Buffer.from(text) })),
    }),
  );
}

/** The field `f` of the value, as the pattern wants it; then values of it that are let through, and that are not. */
const OPERATORS: [wanted: unknown[], passes: unknown[], stops: unknown[]][] = [
  [
    ['a', 'b'],
    ['a', 'b', ['x', 'b'], [['a']]],
    ['c', 'A', '', null, ['x'], [], { a: 'a' }, undefined],
  ],
  [[''], ['', ['']], [null, ' ', [], undefined]],
  [[null], [null, [1, null]], ['', 'null', 0, false, {}, [], undefined]],
  [[true], [true], [false, 'true', 1, null]],
  [[100], [100, 1e2, [5, 100]], ['100', 100.5, null]],
  [[{ prefix: 'ab' }], ['ab', 'abc', ['x', 'abc']], ['a', 'xab', 'AB', 12, null, undefined]],
  [[{ prefix: '' }], ['', 'x'], [1, null, [], undefined]],
  [[{ prefix: { 'equals-ignore-case': 'éVent' } }], ['EVENT'.replace('E', 'É'), 'éventBridge'], ['event', 'éven', 7]],
  [[{ suffix: '.png' }], ['.png', 'a.png'], ['a.PNG', 'png', 'a.png ', 3]],
  [[{ suffix: { 'equals-ignore-case': '.png' } }], ['a.PnG', '.PNG'], ['a.pn', 'png', null]],
  [[{ suffix: { 'equals-ignore-case': '' } }], ['', 'x'], [1]],
  [[{ 'equals-ignore-case': 'alice' }], ['ALICE', 'alice', 'aLiCe'], ['alic', 'alice ', 'alıce', null]],
  [[{ 'equals-ignore-case': 'ΟΔΟΣ' }], ['οδοσ', 'ΟΔΟΣ'], ['οδο']],
  [[{ wildcard: 'dir/*.png' }], ['dir/.png', 'dir/a/b.png'], ['dir/a.png2', 'xdir/a.png', 'dir/png', 9]],
  [[{ wildcard: '*' }], ['', 'x', 'a*b'], [1, null, undefined]],
  [[{ wildcard: '*a*b*' }], ['ab', 'xaxbx', 'aab'], ['ba', 'a', 'b']],
  [[{ wildcard: 'ab*ba' }], ['abba', 'abxba'], ['aba', 'ab']],
  [[{ wildcard: 'a\\*b' }], ['a*b'], ['axb', 'a\\*b']],
  [[{ wildcard: 'a\\\\*' }], ['a\\', 'a\\x'], ['a', 'a*']],
  [[{ wildcard: '\\**' }], ['*', '*x'], ['x']],
  [[{ wildcard: 'plain' }], ['plain'], ['plain ', 'plai']],
  [[{ numeric: ['=', 3.018e2] }], [301.8], [301, '301.8', null]],
  [[{ numeric: ['>', 0, '<=', 5] }], [0.1, 5, ['x', 3]], [0, 5.01, -1, '3', null, undefined]],
  [[{ numeric: ['<', 10] }], [9.99, -1e12], [10, 11]],
  [[{ numeric: ['>=', 1767225600000] }], [1767225600000], [1767225599999]],
  [[{ exists: true }], [1, '', null, false, [0]], [undefined, {}, [], { a: 1 }, [{ a: 1 }]]],
  [[{ exists: false }], [undefined, {}, [], { a: 1 }, [{ a: 1 }]], [1, '', null, [0], [[[false]]]]],
  [
    [{ exists: false }, 'a'],
    [undefined, 'a'],
    ['b', null],
  ],
  [[{ cidr: '10.0.0.0/24' }], ['10.0.0.33'], ['10.0.1.1', '10.0.0.0/24', '::a00:21', 'x', 10]],
  [[{ cidr: '2001:db8::/32' }], ['2001:DB8::1', '2001:db8:0:0:1::'], ['2001:db9::', '10.0.0.1']],
  [[{ 'anything-but': 'x' }], ['y', '', 1, null, true, ['x', 'y']], ['x', ['x'], [], {}, undefined]],
  [[{ 'anything-but': ['x', 'y'] }], ['z', 0], ['x', 'y', ['x', 'y']]],
  [[{ 'anything-but': 5 }], [6, '5', null], [5, 5.0]],
  [[{ 'anything-but': [100, 200] }], [300], [100, 200]],
  [[{ 'anything-but': { prefix: 'us-' } }], ['eu-1', 'us', 4, null], ['us-', 'us-1', undefined]],
  [[{ 'anything-but': { prefix: ['us-', 'eu-'] } }], ['ap-1'], ['us-1', 'eu-1']],
  [[{ 'anything-but': { suffix: '.png' } }], ['.jpg'], ['a.png']],
  [[{ 'anything-but': { suffix: ['.png', '.gif'] } }], ['.jpg', '.PNG'], ['a.png', 'a.gif']],
  [[{ 'anything-but': { 'equals-ignore-case': 'init' } }], ['inits'], ['INIT', 'init']],
  [[{ 'anything-but': { 'equals-ignore-case': ['init', 'stop'] } }], ['run'], ['Init', 'STOP']],
  [[{ 'anything-but': { wildcard: '*/lib/*' } }], ['/lib', 'lib/'], ['/lib/', 'a/lib/b']],
  [[{ 'anything-but': { wildcard: ['a*', '*b'] } }], ['cc', 1], ['ac', 'cb']],
];

describe('a field', () => {
  const cases = OPERATORS.flatMap(([wanted, passes, stops]) => [
    ...passes.map((value) => [wanted, value, true] as const),
    ...stops.map((value) => [wanted, value, false] as const),
  ]);
  it.each(cases)('%j, of %j: %s', (wanted, value, expected) => {
    expect(matches({ value: { f: wanted } }, { f: value, other: 'a' })).toBe(expected);
  });
});

describe('fields together', () => {
  it('must all be as wanted, in the same nesting', () => {
    const pattern = { value: { type: ['OrderPlaced'], total: { amount: [{ numeric: ['>', 10] }] } } };
    expect(matches(pattern, { type: 'OrderPlaced', total: { amount: 11 }, extra: 1 })).toBe(true);
    expect(matches(pattern, { type: 'OrderPlaced', total: { amount: 10 } })).toBe(false);
    expect(matches(pattern, { type: 'OrderPlaced', amount: 11 })).toBe(false);
    expect(matches(pattern, { type: 'OrderPlaced', total: 11 })).toBe(false);
  });

  it('are those of one element, where they lie in an array', () => {
    const value = { people: [{ first: 'John', last: 'Doe' }, [{ first: 'Anna', last: 'Smith' }]] };
    expect(matches({ value: { people: { first: ['Anna'], last: ['Smith'] } } }, value)).toBe(true);
    expect(matches({ value: { people: { first: ['Anna'], last: ['Doe'] } } }, value)).toBe(false);
  });

  it('are those of one element through $or as well', () => {
    const pattern = { value: { $or: [{ a: { b: [1] } }, { z: [1] }], a: { c: [2] } } };
    expect(matches(pattern, { a: [{ b: 1, c: 2 }] })).toBe(true);
    expect(matches(pattern, { a: [{ b: 1 }, { c: 2 }] })).toBe(false);
  });

  it('are absent only when no element has them', () => {
    const pattern = { value: { people: { first: ['Anna'], middle: [{ exists: false }] } } };
    expect(matches(pattern, { people: [{ first: 'Anna' }, { first: 'John' }] })).toBe(true);
    expect(matches(pattern, { people: [{ first: 'Anna' }, { first: 'John', middle: 'X' }] })).toBe(false);
    expect(matches({ value: { a: { b: { c: [{ exists: false }] } } } }, {})).toBe(true);
    expect(matches({ value: { a: { b: { c: [{ exists: false }] } } } }, { a: [{ b: { c: 1 } }] })).toBe(false);
  });

  it('stand in $or at any level, nested, and beside other fields', () => {
    const pattern = {
      value: {
        source: ['s'],
        $or: [{ a: [1] }, { b: [2], $or: [{ c: [3] }, { d: [4] }] }, { e: { f: [{ exists: true }] } }],
      },
    };
    expect(matches(pattern, { source: 's', a: 1 })).toBe(true);
    expect(matches(pattern, { source: 's', b: 2, d: 4 })).toBe(true);
    expect(matches(pattern, { source: 's', e: { f: 0 } })).toBe(true);
    expect(matches(pattern, { source: 's', b: 2 })).toBe(false);
    expect(matches(pattern, { a: 1 })).toBe(false);
    const both = { value: { $or: [{ a: [1] }, { b: [1] }] }, $or: [{ key: ['k'] }, { headers: { h: ['v'] } }] };
    expect(matches(both, { b: 1 }, { headers: [['h', 'v']] })).toBe(true);
    expect(matches(both, { b: 1 }, { key: 'other' })).toBe(false);
  });

  it('of one name in $or and beside it must both hold', () => {
    const pattern = { value: { a: [{ prefix: 'x' }], $or: [{ a: [{ suffix: 'y' }] }, { b: [1] }] } };
    expect(matches(pattern, { a: 'xy' })).toBe(true);
    expect(matches(pattern, { a: 'zy' })).toBe(false);
    expect(matches(pattern, { a: 'xz' })).toBe(false);
  });

  it('are own members: what objects inherit does not exist', () => {
    expect(matches({ value: { constructor: { name: [{ exists: true }] } } }, {})).toBe(false);
    expect(matches({ value: JSON.parse('{"__proto__": ["x"]}') }, JSON.parse('{"__proto__": "x"}'))).toBe(true);
    expect(matches({ headers: JSON.parse('{"__proto__": ["x"]}') }, 1, { headers: [['__proto__', 'x']] })).toBe(true);
  });
});

describe('a record', () => {
  it('shows its key as text, null when it has none, and nothing when it is none', () => {
    const filter = compileFilter({ key: [{ prefix: 'order-' }] });
    const none = { value: null, headers: [] };
    expect(filter.matches(filterView({ ...none, key: Buffer.from('order-17') }))).toBe(true);
    expect(filter.matches(filterView({ ...none, key: Buffer.from('user-17') }))).toBe(false);
    expect(compileFilter({ key: [null] }).matches(filterView({ ...none, key: null }))).toBe(true);
    const binary = filterView({ ...none, key: Buffer.from([0xff]) });
    expect(compileFilter({ key: [null] }).matches(binary)).toBe(false);
    expect(compileFilter({ key: [{ exists: false }] }).matches(binary)).toBe(true);
  });

  it('shows all values of a header that repeats', () => {
    const headers: [string, string | null][] = [
      ['h', 'a'],
      ['h', 'b'],
      ['n', null],
    ];
    expect(matches({ headers: { h: ['b'] } }, 1, { headers })).toBe(true);
    expect(matches({ headers: { h: ['c'] } }, 1, { headers })).toBe(false);
    expect(matches({ headers: { n: [null] } }, 1, { headers })).toBe(true);
    expect(matches({ headers: { H: ['a'] } }, 1, { headers })).toBe(false);
  });

  it('shows a value that is no JSON as text, a tombstone as null, an upload and bytes not at all', () => {
    const view = (value: Uint8Array | null, upload = false) => filterView({ key: null, headers: [], value, upload });
    expect(compileFilter({ value: ['plain {'] }).matches(view(Buffer.from('plain {')))).toBe(true);
    expect(compileFilter({ value: [7] }).matches(view(Buffer.from(' 7 ')))).toBe(true);
    expect(compileFilter({ value: [null] }).matches(view(null))).toBe(true);
    const absent = compileFilter({ value: [{ exists: false }] });
    expect(absent.matches(view(Buffer.from([0xc3, 0x28])))).toBe(true);
    expect(absent.matches(view(Buffer.from('{"url":"x"}'), true))).toBe(true);
    expect(absent.matches(view(Buffer.from('"x"')))).toBe(false);
  });

  it('may nest as deep as it likes', () => {
    const value = Buffer.from(`${'['.repeat(200_000)}"x"${']'.repeat(200_000)}`);
    const view = filterView({ key: null, headers: [], value });
    expect(compileFilter({ value: ['x'] }).matches(view)).toBe(true);
    expect(compileFilter({ value: { a: ['x'] } }).matches(view)).toBe(false);
  });
});

const BROKEN: [pattern: unknown, path: string, reason: RegExp][] = [
  [null, 'filter', /object/],
  [[], 'filter', /object/],
  ['x', 'filter', /object/],
  [{}, 'filter', /empty/],
  [{ val: ['x'] }, 'filter.val', /key, headers and value/],
  [{ value: 'x' }, 'filter.value', /array/],
  [{ value: {} }, 'filter.value', /empty/],
  [{ value: { a: [] } }, 'filter.value.a', /empty/],
  [{ value: { a: [['x']] } }, 'filter.value.a[0]', /must be/],
  [{ value: { a: ['x', {}] } }, 'filter.value.a[1]', /one operator/],
  [{ value: { a: [{ prefix: 'a', suffix: 'b' }] } }, 'filter.value.a[0]', /one operator/],
  [{ value: { a: [{ regex: 'x' }] } }, 'filter.value.a[0].regex', /no operator/],
  [{ value: { a: [{ prefix: 1 }] } }, 'filter.value.a[0].prefix', /string/],
  [{ value: { a: [{ prefix: { wildcard: 'x' } }] } }, 'filter.value.a[0].prefix.wildcard', /equals-ignore-case/],
  [{ value: { a: [{ suffix: ['x'] }] } }, 'filter.value.a[0].suffix', /string/],
  [{ value: { a: [{ wildcard: 'a**' }] } }, 'filter.value.a[0].wildcard', /consecutive/],
  [{ value: { a: [{ wildcard: 'a\\b' }] } }, 'filter.value.a[0].wildcard', /backslash/],
  [{ value: { a: [{ wildcard: 'a\\' }] } }, 'filter.value.a[0].wildcard', /backslash/],
  [{ value: { a: [{ wildcard: 'a*'.repeat(17) }] } }, 'filter.value.a[0].wildcard', /wildcards/],
  [{ value: { a: [{ numeric: [] }] } }, 'filter.value.a[0].numeric', /comparison/],
  [{ value: { a: [{ numeric: 5 }] } }, 'filter.value.a[0].numeric', /comparison/],
  [{ value: { a: [{ numeric: ['>', '5'] }] } }, 'filter.value.a[0].numeric[1]', /number/],
  [{ value: { a: [{ numeric: ['!=', 5] }] } }, 'filter.value.a[0].numeric[0]', /one of/],
  [{ value: { a: [{ numeric: ['<', 5, '>', 0] }] } }, 'filter.value.a[0].numeric[0]', /lower/],
  [{ value: { a: [{ numeric: ['>', 5, '=', 6] }] } }, 'filter.value.a[0].numeric[2]', /upper/],
  [{ value: { a: [{ numeric: ['>', 5, '<', 5] }] } }, 'filter.value.a[0].numeric', /below/],
  [{ value: { a: [{ exists: 'yes' }] } }, 'filter.value.a[0].exists', /true or false/],
  [{ value: { a: [{ cidr: '10.0.0.0/33' }] } }, 'filter.value.a[0].cidr', /block/],
  [{ value: { a: [{ 'anything-but': [] }] } }, 'filter.value.a[0].anything-but', /empty/],
  [{ value: { a: [{ 'anything-but': ['a', 1] }] } }, 'filter.value.a[0].anything-but', /alone/],
  [{ value: { a: [{ 'anything-but': null }] } }, 'filter.value.a[0].anything-but', /string or a number/],
  [{ value: { a: [{ 'anything-but': { prefix: '' } }] } }, 'filter.value.a[0].anything-but.prefix', /empty/],
  [{ value: { a: [{ 'anything-but': { suffix: ['x', ''] } }] } }, 'filter.value.a[0].anything-but.suffix[1]', /empty/],
  [{ value: { a: [{ 'anything-but': { wildcard: [] } }] } }, 'filter.value.a[0].anything-but.wildcard', /empty/],
  [{ value: { a: [{ 'anything-but': { numeric: ['=', 1] } }] } }, 'filter.value.a[0].anything-but.numeric', /negated/],
  [{ value: { $or: [{ a: [1] }] } }, 'filter.value.$or', /two or more/],
  [{ $or: { a: [1] } }, 'filter.$or', /two or more/],
  [{ value: { $or: [{ a: [1] }, 'x'] } }, 'filter.value.$or[1]', /object/],
  [{ value: { $or: [{ prefix: ['a'] }, { b: [1] }] } }, 'filter.value.$or[0].prefix', /operator/],
];

describe('a pattern', () => {
  it.each(BROKEN)('%j is refused at %s', (pattern, path, reason) => {
    const refused = refusal(pattern);
    expect(refused.path).toBe(path);
    expect(refused.reason).toMatch(reason);
    expect(refused).toMatchObject({ code: 'invalid_request', data: { path } });
  });

  it('is refused when it is too long', () => {
    const ofLength = (length: number) => ({ value: ['x'.repeat(length - '{"value":[""]}'.length)] });
    expect(() => compileFilter(ofLength(4_096))).not.toThrow();
    expect(refusal(ofLength(4_097))).toMatchObject({ path: 'filter', reason: expect.stringContaining('4097') });
  });

  it('is refused when it is nested too deep, however deep that is', () => {
    const nested = (depth: number) => JSON.parse(`${'{"value":'.repeat(depth)}["x"]${'}'.repeat(depth)}`);
    expect(() => compileFilter(nested(31))).not.toThrow();
    expect(refusal(nested(32)).reason).toMatch(/32 deep/);
    expect(refusal(nested(100_000)).reason).toMatch(/32 deep/);
  });

  it('is refused when its $ors have too many combinations, before they are made', () => {
    const or = (n: number) => ({ $or: [{ [`a${n}`]: [1] }, { [`b${n}`]: [1] }] });
    const nested = (depth: number): object => ({
      ...or(depth),
      ...(depth === 0 ? {} : { [`n${depth}`]: nested(depth - 1) }),
    });
    expect(() => compileFilter({ value: nested(5) })).not.toThrow();
    expect(refusal({ value: nested(25) }).reason).toMatch(/100 ways/);
  });

  it('takes time in proportion to the text, whatever its wildcards', () => {
    const filter = compileFilter({ value: { a: [{ wildcard: `${'*aaaaaaaaab'.repeat(16)}` }] } });
    const value = Buffer.from(JSON.stringify({ a: `${'a'.repeat(1_000_000)}c` }));
    const before = process.cpuUsage();
    expect(filter.matches(filterView({ key: null, headers: [], value }))).toBe(false);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(1_000);
  });
});

function refusal(pattern: unknown): InvalidFilter {
  try {
    compileFilter(pattern);
  } catch (error) {
    if (error instanceof InvalidFilter) return error;
    throw error;
  }
  throw new Error('the pattern was taken');
}
