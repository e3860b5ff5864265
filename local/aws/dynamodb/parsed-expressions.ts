import type { Item } from 'dynalite/db/index.js';

/** What dynalite's parsers are told beside the text. What is left in the unused ones at the end is refused by who asked. */
export interface ParseContext {
  readonly attrNames?: Readonly<Record<string, string>>;
  readonly attrVals?: Item;
  readonly unusedAttrNames?: Record<string, true>;
  readonly unusedAttrVals?: Record<string, true>;
}

/** A parser of dynalite's: of conditions, updates or projections. It throws what is wrong with the text. */
export interface Parser {
  parse(text: string, options: { context: ParseContext }): unknown;
}

interface Parsed {
  readonly tree: unknown;
  /** Names and values, by their placeholders, that the text uses. */
  readonly names: readonly string[];
  readonly values: readonly string[];
}

/** Stands in a tree where a value is to be put. */
class Place {
  constructor(readonly name: string) {}
}

const PARSED_MAX = 500;
/** Here the parser looks at values themselves, not only at their types. */
const LOOKS_AT_VALUES = /between|attribute_type/i;

/**
 * Has a parser remember what it made of a text: a program sends few, over and over, with other values. A tree is made
 * anew each time, because who gets it changes it. What is refused is not remembered.
 */
export function rememberParsed(parser: Parser): void {
  const parse = parser.parse.bind(parser);
  const known = new Map<string, Parsed>();
  parser.parse = (text, options) => {
    const { context } = options;
    if (LOOKS_AT_VALUES.test(text)) return parse(text, options);
    const key = JSON.stringify([text, context.attrNames, typesOf(context.attrVals)]);
    let parsed = known.get(key);
    if (parsed === undefined) {
      parsed = parseOnce(parse, text, context);
      if (known.size === PARSED_MAX) known.delete(known.keys().next().value!);
      known.set(key, parsed);
    }
    for (const name of parsed.names) delete context.unusedAttrNames?.[name];
    for (const name of parsed.values) delete context.unusedAttrVals?.[name];
    return copyOf(parsed.tree, (node) => (node instanceof Place ? context.attrVals![node.name] : undefined));
  };
}

/** Each value's name and type. */
function typesOf(values: Item = {}): string[] {
  return Object.entries(values).map(([name, value]) => `${name} ${Object.keys(value)}`);
}

function parseOnce(parse: Parser['parse'], text: string, context: ParseContext): Parsed {
  const { attrNames = {}, attrVals = {} } = context;
  // An earlier expression of this request may use the same ones: another request may have this expression alone.
  const unusedAttrNames = allOf(attrNames);
  const unusedAttrVals = allOf(attrVals);
  const tree = parse(text, { context: { ...context, unusedAttrNames, unusedAttrVals } });
  const places = new Map<unknown, Place>(Object.entries(attrVals).map(([name, value]) => [value, new Place(name)]));
  return {
    tree: copyOf(tree, (node) => places.get(node)),
    names: Object.keys(attrNames).filter((name) => !(name in unusedAttrNames)),
    values: Object.keys(attrVals).filter((name) => !(name in unusedAttrVals)),
  };
}

function allOf(named: object): Record<string, true> {
  return Object.fromEntries(Object.keys(named).map((name) => [name, true]));
}

/** A copy of a tree of arrays and plain objects, in which some nodes are replaced. */
function copyOf(node: unknown, replacementOf: (node: object) => unknown): unknown {
  if (typeof node !== 'object' || node === null) return node;
  const replacement = replacementOf(node);
  if (replacement !== undefined) return replacement;
  if (Array.isArray(node)) return node.map((member) => copyOf(member, replacementOf));
  const copy = Object.create(Object.getPrototypeOf(node));
  for (const [name, member] of Object.entries(node)) copy[name] = copyOf(member, replacementOf);
  return copy;
}
