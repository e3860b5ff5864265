import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasLoneSurrogateEscape, JsonCursor, spanAt } from '../../../shared/wire/json-text.ts';
import { hasLoneSurrogate } from '../../../shared/wire/utf8.ts';

const utf8 = (text: string) => Buffer.from(text);
const source = (text: string, ...path: string[]) => {
  const span = spanAt(utf8(text), path);
  return span && utf8(text).subarray(span.start, span.end).toString();
};

const blank = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 3 });

/** A string as JSON may spell it: any character may be escaped. */
const spelled = fc.array(fc.tuple(fc.string({ unit: 'binary', maxLength: 1 }), fc.boolean()), { maxLength: 6 }).map(
  (characters) =>
    `"${characters
      .map(([character, escaped]) =>
        escaped
          ? character
              .split('')
              .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
              .join('')
          : JSON.stringify(character).slice(1, -1),
      )
      .join('')}"`,
);
const word = fc.constantFrom('0', '-0', '1.0', '1e3', '12345678901234567890', '-1.5E-7', 'true', 'false', 'null');

/** Any JSON text, with whitespace anywhere, names that repeat, and every spelling of numbers and strings. */
const { text: jsonText } = fc.letrec<{ text: string; value: string }>((tie) => ({
  text: fc.tuple(blank, tie('value'), blank).map((parts) => parts.join('')),
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    word,
    spelled,
    fc.array(tie('text'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
    fc
      .array(fc.tuple(blank, fc.oneof(spelled, fc.constantFrom('"a"', '"b"', '"\\u0061"')), blank, tie('text')), {
        maxLength: 3,
      })
      .map((members) => `{${members.map(([before, name, after, value]) => `${before}${name}${after}:${value}`)}}`),
  ),
}));

/** Every path into a parsed value. */
function* paths(value: unknown, path: string[] = []): Generator<[string[], unknown]> {
  yield [path, value];
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) yield* paths(member, [...path, name]);
}

describe('spanAt', () => {
  it('finds, for every path, the source of what JSON.parse finds there', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const bytes = utf8(text);
        for (const [path, value] of paths(JSON.parse(text))) {
          const span = spanAt(bytes, path)!;
          const found = bytes.subarray(span.start, span.end).toString();
          expect(JSON.parse(found)).toEqual(value);
          expect(found).toBe(found.trim());
        }
      }),
      { numRuns: 500 },
    );
  });

  it('keeps spellings that parsing would lose', () => {
    expect(source('{"id": 12345678901234567890 , "v":1.0}', 'id')).toBe('12345678901234567890');
    expect(source('{"id": 12345678901234567890 , "v":1.0}', 'v')).toBe('1.0');
    expect(source(' [ -0 , 1e3 ] ', '1')).toBe('1e3');
  });

  it('takes the last of equal names, however they are spelt, at every level', () => {
    const text = '{"a":{"b":1},"\\u0061":{"b":2,"\\u0062":3}}';
    expect(source(text, 'a', 'b')).toBe('3');
    expect(source('{"é":1,"\\u00e9":2}', 'é')).toBe('2');
  });

  it.each([
    ['{"a":1}', ['b']],
    ['{"a":1}', ['a', 'b']],
    ['[1,2]', ['2']],
    ['[1,2]', ['-']],
    ['[1,2]', ['01']],
    ['[]', ['0']],
    ['"text"', ['0']],
    ['{}', ['__proto__']],
  ])('finds nothing in %s at %j', (text, path) => {
    expect(source(text, ...path)).toBeUndefined();
  });

  it('is not led astray by brackets and quotes inside strings', () => {
    expect(source('{"x":"]}\\"{[\\\\","y":{"z":"}"},"w":7}', 'w')).toBe('7');
  });

  it('passes what is nested a million deep', () => {
    const deep = `{"a":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)},"b":5}`;
    expect(source(deep, 'b')).toBe('5');
  });

  it('takes a name with a broken escape for no name at all', () => {
    expect(spanAt(utf8('{"\\1":0}'), ['a'])).toBeUndefined();
  });

  it('ends on any bytes, JSON or not', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:\\u 1a'), maxLength: 30 }), (text) => {
        const cursor = new JsonCursor(utf8(text));
        spanAt(utf8(text), ['a', '0']);
        cursor.skipValue();
        expect(cursor.position).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

describe('hasLoneSurrogateEscape', () => {
  it('says what the parsed text would say', () => {
    const units = fc.array(fc.constantFrom('\\ud83d', '\\uDE00', '\\u0041', '\\\\', 'ud83d', '\\n', 'x', '😀'), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(units, (parts) => {
        const text = `"${parts.join('')}"`;
        expect(hasLoneSurrogateEscape(utf8(text))).toBe(hasLoneSurrogate(JSON.parse(text)));
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['"\\ud800"', true],
    ['"\\uDFFF"', true],
    ['{"\\ud83d":1}', true],
    ['"\\ud83d\\ude00"', false],
    ['"\\\\ud800"', false],
    ['"\\ud83dx\\ude00"', true],
  ])('of %s is %s', (text, lone) => {
    expect(hasLoneSurrogateEscape(utf8(text))).toBe(lone);
  });
});
