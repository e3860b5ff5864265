import { inBlock, parseAddress, parseBlock } from './address.ts';
import { InvalidFilter } from './filter-errors.ts';
import { endsWith, equalsIgnoringCase, hasPieces, parseWildcard, startsWith, type TextTest } from './filter-text.ts';
import { FILTER_WILDCARDS_MAX } from './limits.ts';

/** What a leaf of a record may be. */
export type Scalar = string | number | boolean | null;

/** Whether one scalar is what a pattern asks for. */
export type ScalarTest = (scalar: Scalar) => boolean;

/** What a pattern asks of one field: any of the tests, or that there is none. */
export type FieldTest = ScalarTest | 'absent';

type Parse = (operand: unknown, path: string) => FieldTest;

const OPERATORS: ReadonlyMap<string, Parse> = new Map<string, Parse>([
  ['prefix', affix(startsWith)],
  ['suffix', affix(endsWith)],
  ['equals-ignore-case', (operand, path) => onText(equalsIgnoringCase(textIn(operand, path)))],
  ['wildcard', (operand, path) => onText(wildcard(operand, path))],
  ['numeric', numeric],
  ['exists', exists],
  ['cidr', cidr],
  ['anything-but', anythingBut],
]);

/** What may stand in `{"anything-but": {…}}`, and whether it may be empty. */
const NEGATED: ReadonlyMap<string, (operand: unknown, path: string) => TextTest> = new Map([
  ['prefix', (operand: unknown, path: string) => startsWith(fullTextIn(operand, path), false)],
  ['suffix', (operand: unknown, path: string) => endsWith(fullTextIn(operand, path), false)],
  ['equals-ignore-case', (operand: unknown, path: string) => equalsIgnoringCase(textIn(operand, path))],
  ['wildcard', wildcard],
]);

const COMPARE: ReadonlyMap<string, (value: number, bound: number) => boolean> = new Map([
  ['=', (value: number, bound: number) => value === bound],
  ['>', (value: number, bound: number) => value > bound],
  ['>=', (value: number, bound: number) => value >= bound],
  ['<', (value: number, bound: number) => value < bound],
  ['<=', (value: number, bound: number) => value <= bound],
]);

/** Names that are operators, and so are suspicious as fields. */
export function isOperator(name: string): boolean {
  return OPERATORS.has(name) || COMPARE.has(name);
}

/** One element of the array that a pattern has for a field. @throws {InvalidFilter} */
export function parseFieldTest(element: unknown, path: string): FieldTest {
  if (isScalar(element)) return (scalar) => scalar === element;
  if (Array.isArray(element)) throw new InvalidFilter('must be a string, number, boolean, null or an operator', path);
  const [name, operand] = onlyMember(element as object, path);
  const parse = OPERATORS.get(name);
  if (parse === undefined) throw new InvalidFilter(`is no operator; there are ${listOf(OPERATORS)}`, `${path}.${name}`);
  return parse(operand, `${path}.${name}`);
}

export function isScalar(value: unknown): value is Scalar {
  if (value === null) return true;
  const type = typeof value;
  return type === 'string' || type === 'number' || type === 'boolean';
}

function affix(test: (text: string, ignoreCase: boolean) => TextTest): Parse {
  return (operand, path) => {
    if (typeof operand !== 'object' || operand === null || Array.isArray(operand))
      return onText(test(textIn(operand, path), false));
    const [name, text] = onlyMember(operand, path);
    if (name !== 'equals-ignore-case') throw new InvalidFilter("must be 'equals-ignore-case'", `${path}.${name}`);
    return onText(test(textIn(text, `${path}.${name}`), true));
  };
}

function wildcard(operand: unknown, path: string): TextTest {
  const parsed = parseWildcard(textIn(operand, path));
  if ('wrong' in parsed) throw new InvalidFilter(parsed.wrong, path);
  if (parsed.pieces.length - 1 > FILTER_WILDCARDS_MAX)
    throw new InvalidFilter(`has more than ${FILTER_WILDCARDS_MAX} wildcards`, path);
  return hasPieces(parsed.pieces);
}

/** `["=", n]`, one bound, or a lower and an upper one in this order. */
function numeric(operand: unknown, path: string): ScalarTest {
  if (!Array.isArray(operand) || (operand.length !== 2 && operand.length !== 4))
    throw new InvalidFilter('must be an array of one comparison, or of a lower and an upper bound', path);
  const bounds: { compare: (value: number, bound: number) => boolean; bound: number }[] = [];
  for (let i = 0; i < operand.length; i += 2) {
    const [sign, bound] = [operand[i], operand[i + 1]];
    const compare = COMPARE.get(sign);
    if (compare === undefined) throw new InvalidFilter(`must be one of ${listOf(COMPARE)}`, `${path}[${i}]`);
    if (typeof bound !== 'number') throw new InvalidFilter('must be a number', `${path}[${i + 1}]`);
    const wanted = ['>', '<'][i / 2]!;
    if (operand.length === 4 && !String(sign).startsWith(wanted))
      throw new InvalidFilter(
        `must be ${wanted} or ${wanted}=: a range has a lower and an upper bound`,
        `${path}[${i}]`,
      );
    bounds.push({ compare, bound });
  }
  if (bounds.length === 2 && !(bounds[0]!.bound < bounds[1]!.bound))
    throw new InvalidFilter('the lower bound must be below the upper one', path);
  return (scalar) => typeof scalar === 'number' && bounds.every(({ compare, bound }) => compare(scalar, bound));
}

function exists(operand: unknown, path: string): FieldTest {
  if (typeof operand !== 'boolean') throw new InvalidFilter('must be true or false', path);
  return operand ? () => true : 'absent';
}

function cidr(operand: unknown, path: string): ScalarTest {
  const block = parseBlock(textIn(operand, path));
  if (block === undefined) throw new InvalidFilter('must be a block of addresses such as 10.0.0.0/24', path);
  return onText((text) => {
    const address = parseAddress(text);
    return address !== undefined && inBlock(address, block);
  });
}

/** Any value at all, of any type, but these. */
function anythingBut(operand: unknown, path: string): ScalarTest {
  if (typeof operand !== 'object' || operand === null || Array.isArray(operand)) {
    const excluded = new Set<Scalar>(listIn(operand, path));
    return (scalar) => !excluded.has(scalar);
  }
  const [name, inner] = onlyMember(operand, path);
  const parse = NEGATED.get(name);
  if (parse === undefined) throw new InvalidFilter(`cannot be negated; ${listOf(NEGATED)} can`, `${path}.${name}`);
  const texts = Array.isArray(inner) ? nonEmpty(inner, `${path}.${name}`) : [inner];
  const tests = texts.map((text, i) => parse(text, `${path}.${name}${Array.isArray(inner) ? `[${i}]` : ''}`));
  return (scalar) => typeof scalar !== 'string' || !tests.some((test) => test(scalar));
}

/** One string or number, or several of one type. */
function listIn(operand: unknown, path: string): readonly Scalar[] {
  const list = Array.isArray(operand) ? nonEmpty(operand, path) : [operand];
  const type = typeof list[0];
  if ((type !== 'string' && type !== 'number') || list.some((element) => typeof element !== type))
    throw new InvalidFilter('must be a string or a number, or an array of strings alone or of numbers alone', path);
  return list as readonly Scalar[];
}

function nonEmpty(list: readonly unknown[], path: string): readonly unknown[] {
  if (list.length === 0) throw new InvalidFilter('must not be empty', path);
  return list;
}

function onText(test: TextTest): ScalarTest {
  return (scalar) => typeof scalar === 'string' && test(scalar);
}

function textIn(operand: unknown, path: string): string {
  if (typeof operand !== 'string') throw new InvalidFilter('must be a string', path);
  return operand;
}

function fullTextIn(operand: unknown, path: string): string {
  const text = textIn(operand, path);
  if (text === '') throw new InvalidFilter('must not be empty: everything would be excluded', path);
  return text;
}

function onlyMember(object: object, path: string): [name: string, operand: unknown] {
  const members = Object.entries(object);
  if (members.length !== 1) throw new InvalidFilter(`must have one operator, not ${members.length}`, path);
  return members[0]!;
}

function listOf(operators: ReadonlyMap<string, unknown>): string {
  return [...operators.keys()].join(', ');
}
