import { InvalidFilter } from './filter-errors.ts';
import { type FieldTest, isOperator, parseFieldTest, type ScalarTest } from './filter-tests.ts';
import { FILTER_ALTERNATIVES_MAX } from './limits.ts';

/** What one field must be: any of the tests, or, when `absent`, nowhere in the record. */
export interface Leaf {
  readonly tests: readonly ScalarTest[];
  readonly absent: boolean;
  /** Names from the record's root. */
  readonly path: readonly string[];
}

/** What a value must be: all of the leaves, and, as an object, all of the fields. */
export interface Shape {
  readonly leaves: readonly Leaf[];
  readonly fields: ReadonlyMap<string, Shape>;
}

const EMPTY: Shape = { leaves: [], fields: new Map() };
const OR = '$or';

/**
 * The shapes of which a record must have one: what is left of a pattern when every `$or` is multiplied out. Only then do
 * all conditions on the elements of one array stand together, and can be asked of one and the same element.
 *
 * @throws {InvalidFilter} also when there are too many
 */
export function parseAlternatives(pattern: object, name: string): Shape[] {
  return alternativesOf(pattern, [], name, false);
}

function alternativesOf(pattern: object, path: readonly string[], place: string, inOr: boolean): Shape[] {
  const members = Object.entries(pattern);
  if (members.length === 0) throw new InvalidFilter('must not be empty', place);
  let shapes: Shape[] = [EMPTY];
  for (const [name, wanted] of members) {
    const here = `${place}.${name}`;
    if (name === OR) shapes = product(shapes, orOf(wanted, path, here), here);
    else if (inOr && isOperator(name))
      throw new InvalidFilter(`is an operator: in ${OR} there are fields, with arrays in which operators stand`, here);
    else shapes = product(shapes, fieldOf(name, wanted, [...path, name], here, inOr), here);
  }
  return shapes;
}

function orOf(wanted: unknown, path: readonly string[], place: string): Shape[] {
  if (!Array.isArray(wanted) || wanted.length < 2)
    throw new InvalidFilter('must be an array of two or more objects', place);
  return wanted.flatMap((choice, i) => {
    if (!isObject(choice)) throw new InvalidFilter('must be an object', `${place}[${i}]`);
    return alternativesOf(choice, path, `${place}[${i}]`, true);
  });
}

function fieldOf(name: string, wanted: unknown, path: readonly string[], place: string, inOr: boolean): Shape[] {
  if (isObject(wanted)) {
    const inner = alternativesOf(wanted, path, place, inOr);
    return inner.map((shape) => ({ leaves: [], fields: new Map([[name, shape]]) }));
  }
  if (!Array.isArray(wanted)) throw new InvalidFilter('must be an object, or an array of what it may be', place);
  if (wanted.length === 0) throw new InvalidFilter('must not be empty', place);
  const parsed = wanted.map((element, i): FieldTest => parseFieldTest(element, `${place}[${i}]`));
  const tests = parsed.filter((test): test is ScalarTest => test !== 'absent');
  const leaf = { tests, absent: tests.length < parsed.length, path };
  return [{ leaves: [], fields: new Map([[name, { leaves: [leaf], fields: EMPTY.fields }]]) }];
}

function product(left: readonly Shape[], right: readonly Shape[], place: string): Shape[] {
  if (left.length * right.length > FILTER_ALTERNATIVES_MAX) {
    throw new InvalidFilter(`its ${OR}s can be combined in more than ${FILTER_ALTERNATIVES_MAX} ways`, place);
  }
  return left.flatMap((one) => right.map((other) => both(one, other)));
}

function both(one: Shape, other: Shape): Shape {
  const fields = new Map(one.fields);
  for (const [name, shape] of other.fields) {
    const known = fields.get(name);
    fields.set(name, known === undefined ? shape : both(known, shape));
  }
  return { leaves: [...one.leaves, ...other.leaves], fields };
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
