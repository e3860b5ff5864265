import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NO_JSON, passValue } from '../../../shared/wire/json-check.ts';

/** Whether the text, whole, is passed over as one value. */
const isPassed = (text: string) => {
  const bytes = Buffer.from(text);
  return passValue(bytes, 0) === bytes.length;
};
const isParsed = (text: string) => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const PIECES = [
  ...['{', '}', '[', ']', ',', ':', '"', '\\', ' ', '\n', '\t', '\r', '\f', '\u00a0', '\u0000'],
  ...['0', '1', '9', '-', '+', '.', 'e', 'E', 'true', 'false', 'null', 'nul', 'NaN', 'u', '\\u00', 'aF'],
  ...['"a"', '"é"', '"\u{1f600}"', '{}', '[]', '"":', '1.5e-7', '-0', '01', '\\n', '\\x', "'", '/', 'a', '\u007f'],
];

describe('passing over a JSON value', () => {
  it('takes what JSON.parse takes, and nothing else, in any jumble of its parts', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }), fc.string(), (pieces, text) => {
        // JSON.parse passes over whitespace around the value, too; that is not the value's.
        const jumble = pieces.join('').trim();
        const quoted = `["${text}"]`;
        expect(isPassed(jumble)).toBe(isParsed(jumble));
        expect(isPassed(quoted)).toBe(isParsed(quoted));
      }),
      { numRuns: 3_000 },
    );
  });

  it('takes any JSON, and with one character changed, left out or put in, what JSON.parse takes of that', () => {
    const change = fc.tuple(fc.nat(), fc.nat(1), fc.constantFrom('', ...PIECES));
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), fc.constantFrom(0, 1, '\t'), change, (json, indent, [at, gone, piece]) => {
        const text = JSON.stringify(JSON.parse(json), null, indent);
        expect(isPassed(text)).toBe(true);
        const place = at % (text.length + 1);
        const changed = `[${text.slice(0, place)}${piece}${text.slice(place + gone)}]`;
        expect(isPassed(changed)).toBe(isParsed(changed));
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['a number and what follows it', '12,"a"', 2],
    ['a word', 'null}', 4],
    ['a string', '"a\\"b" ', 6],
    ['containers within each other', '[{"a":[1,{}]},[]]]', 17],
  ])('ends behind %s', (_, text, end) => {
    expect(passValue(Buffer.from(text), 0)).toBe(end);
  });

  it('takes containers within each other up to 31 deep, and leaves what is deeper to others', () => {
    const nested = (depth: number) => '[{"a":'.repeat(depth / 2) + '1'.padEnd(1 + depth / 2, '}').replaceAll('}', '}]');
    expect(isParsed(nested(30))).toBe(true);
    expect(isPassed(nested(30))).toBe(true);
    expect(isPassed(`[${nested(30)}]`)).toBe(true);
    expect(passValue(Buffer.from(nested(32)), 0)).toBe(NO_JSON);
  });
});
