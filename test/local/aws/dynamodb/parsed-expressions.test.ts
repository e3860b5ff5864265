import { createRequire } from 'node:module';
import { describe, expect, it, vi } from 'vitest';
import { type ParseContext, type Parser, rememberParsed } from '../../../../local/aws/dynamodb/parsed-expressions.ts';

const load = createRequire(import.meta.url);
const parserOf = (kind: string): Parser => ({ parse: load(`dynalite/db/${kind}Parser.js`).parse });
const remembering = (kind: string) => {
  const parser = parserOf(kind);
  const parse = vi.spyOn(parser, 'parse');
  rememberParsed(parser);
  return { parser, parse };
};

/** A request's names and values; `a` and `:n` differ from one to the next. */
const contextOf = (a: string, n: string, type = 'N'): { context: ParseContext } => {
  const attrNames = { '#a': a, '#b': 'b' };
  const attrVals = { ':n': { [type]: n }, ':s': { S: 's' } };
  const unused = (named: object) => Object.fromEntries(Object.keys(named).map((name) => [name, true as const]));
  const rules = {
    isReserved: (name: string) => name === 'date',
    compare: (_: string, x: Value, y: Value) => x.N! > y.N!,
  };
  return {
    context: {
      ...{ attrNames, attrVals, ...rules },
      ...{ unusedAttrNames: unused(attrNames), unusedAttrVals: unused(attrVals) },
    },
  };
};
type Value = { N?: string };

/** The tree, or the refusal, and what was left unused. */
function outcome(parser: Parser, text: string, options: { context: ParseContext }) {
  const { unusedAttrNames, unusedAttrVals } = options.context;
  try {
    return { tree: parser.parse(text, options), unusedAttrNames, unusedAttrVals };
  } catch (error) {
    return { refusal: (error as Error).message };
  }
}

const EXPRESSIONS = [
  ['condition', 'attribute_not_exists(#a)'],
  ['condition', '#a.#b[1] = :n AND (NOT contains(c, :s) OR size(#b) < :n)'],
  ['condition', '#a IN (:n, :s, :n)'],
  ['condition', '#b BETWEEN :n AND :n'],
  ['condition', 'attribute_type(#b, :n)'],
  ['condition', 'begins_with(#b, :n)'],
  ['condition', '#a = :unknown'],
  ['condition', 'date = :n'],
  ['condition', '#a = '],
  ['update', 'SET #a = if_not_exists(#b, :n) + :n, d = :s REMOVE e ADD f :n DELETE g :n'],
  ['update', 'SET #a = list_append(#b, :n)'],
  ['update', 'SET #a = :n, #b = :n'],
  ['projection', '#a, #b.c[2]'],
] as const;

describe('a parser that remembers', () => {
  it.each(EXPRESSIONS)('makes of each %s what the parser does, whatever was asked before: %s', (kind, text) => {
    const { parser } = remembering(kind);
    const requests: [string, string, string?][] = [
      ['x', '1'],
      ['x', '2'],
      ['b', '2'],
      ['x', '2', 'S'],
      ['x', '1'],
    ];
    for (const request of requests) {
      const expected = outcome(parserOf(kind), text, contextOf(...request));
      expect(outcome(parser, text, contextOf(...request))).toEqual(expected);
    }
  });

  it('parses a text once, for all values of the same types', () => {
    const { parser, parse } = remembering('update');
    for (const n of ['1', '2', '3']) parser.parse('SET #a = :n', contextOf('x', n));
    expect(parse).toHaveBeenCalledTimes(1);
    parser.parse('SET #a = :n', contextOf('x', '3', 'S'));
    parser.parse('SET #a = :n', contextOf('y', '3'));
    expect(parse).toHaveBeenCalledTimes(3);
  });

  it('gives each request a tree of its own', () => {
    const { parser } = remembering('condition');
    const first = parser.parse('#a = :n', contextOf('x', '1')) as { expression: { args: unknown[] } };
    first.expression.args.length = 0;
    const second = parser.parse('#a = :n', contextOf('x', '1'));
    expect(second).toMatchObject({ expression: { args: [['x'], { N: '1' }] } });
  });

  it('knows what a text uses by itself, though an earlier one of the same request used it, too', () => {
    const { parser } = remembering('condition');
    const { context } = contextOf('x', '1');
    delete context.unusedAttrNames!['#a'];
    parser.parse('#a = :n', { context });
    const alone = contextOf('x', '1');
    parser.parse('#a = :n', alone);
    expect(alone.context.unusedAttrNames).toEqual({ '#b': true });
  });

  it('forgets the oldest of very many', () => {
    const { parser, parse } = remembering('projection');
    for (let i = 0; i <= 500; i++) parser.parse(`a${i}`, contextOf('x', '1'));
    parser.parse('a500', contextOf('x', '1'));
    expect(parse).toHaveBeenCalledTimes(501);
    parser.parse('a0', contextOf('x', '1'));
    expect(parse).toHaveBeenCalledTimes(502);
  });
});
