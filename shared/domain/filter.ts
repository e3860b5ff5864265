import { isObject, type Leaf, parseAlternatives, type Shape } from './filter-alternatives.ts';
import { InvalidFilter } from './filter-errors.ts';
import { isScalar, type Scalar } from './filter-tests.ts';
import { FILTER_CHARS_MAX, FILTER_DEPTH_MAX } from './limits.ts';

/** A record as a filter sees it: as a fetch shows it. What is not to be seen as text or JSON is undefined. */
export interface FilterView {
  /** The key's text, null when there is none. */
  readonly key: string | null | undefined;
  /** By name, all values of that name. */
  readonly headers: Readonly<Record<string, readonly (string | null)[]>>;
  /** Parsed JSON, or the text that is none; null is a tombstone, or JSON's null. */
  readonly value: unknown;
}

/** What may stand at a pattern's root: anything else could never match. */
const ROOTS = ['key', 'headers', 'value', '$or'];

/** A pattern in EventBridge's language, ready to be asked. Source: AWS, "Amazon EventBridge event patterns"; ADR 0007. */
export class Filter {
  readonly #alternatives: readonly Shape[];

  /** @throws {InvalidFilter} saying why and where */
  constructor(pattern: unknown) {
    if (!isObject(pattern)) throw new InvalidFilter('must be an object', 'filter');
    checkSize(pattern);
    this.#alternatives = parseAlternatives(pattern, 'filter');
    checkRoots(this.#alternatives);
  }

  /** Takes time in proportion to the record and the pattern, and recurses no deeper than the pattern. */
  matches(record: FilterView): boolean {
    const look = new Look(record);
    return this.#alternatives.some((shape) => look.has(shape, record));
  }
}

/** @throws {InvalidFilter} saying why and where */
export function compileFilter(pattern: unknown): Filter {
  return new Filter(pattern);
}

interface Parts {
  readonly scalars: readonly Scalar[];
  readonly objects: readonly object[];
}

/** One record that is looked at: what was found out about it is kept, for many shapes ask for the same. */
class Look {
  readonly #record: FilterView;
  readonly #parts = new Map<object, Parts>();
  readonly #present = new Map<Leaf, boolean>();

  constructor(record: FilterView) {
    this.#record = record;
  }

  /** @param value undefined: there is none */
  has(shape: Shape, value: unknown): boolean {
    const parts = Array.isArray(value) ? this.#partsOf(value) : undefined;
    for (const leaf of shape.leaves) {
      const found = parts ? parts.scalars.some((one) => passes(leaf, one)) : isScalar(value) && passes(leaf, value);
      if (!found && !(leaf.absent && !this.#isPresent(leaf))) return false;
    }
    if (shape.fields.size === 0) return true;
    // All fields must be those of one element. Without an object, absent fields are all that can be had.
    if (parts === undefined || parts.objects.length === 0)
      return this.#hasFields(shape, isObject(value) ? value : undefined);
    return parts.objects.some((object) => this.#hasFields(shape, object));
  }

  #hasFields({ fields }: Shape, object: object | undefined): boolean {
    for (const [name, shape] of fields) if (!this.has(shape, memberOf(object, name))) return false;
    return true;
  }

  /** Whether there is a leaf at this path, in whichever elements of arrays. */
  #isPresent(leaf: Leaf): boolean {
    let present = this.#present.get(leaf);
    if (present === undefined) {
      let level: readonly unknown[] = [this.#record];
      for (const name of leaf.path) {
        level = level.flatMap((value) => this.#partsOf(value).objects).map((object) => memberOf(object, name));
      }
      present = level.some((value) => this.#partsOf(value).scalars.length > 0);
      this.#present.set(leaf, present);
    }
    return present;
  }

  /** An array counts as all of its elements, however deep. */
  #partsOf(value: unknown): Parts {
    if (!Array.isArray(value)) {
      return { scalars: isScalar(value) ? [value] : [], objects: isObject(value) ? [value] : [] };
    }
    let parts = this.#parts.get(value);
    if (parts === undefined) {
      parts = flatten(value);
      this.#parts.set(value, parts);
    }
    return parts;
  }
}

function passes({ tests }: Leaf, scalar: Scalar): boolean {
  for (const test of tests) if (test(scalar)) return true;
  return false;
}

/** Without recursion: a record may nest its arrays as deep as it likes. */
function flatten(array: readonly unknown[]): Parts {
  const scalars: Scalar[] = [];
  const objects: object[] = [];
  const left: (readonly unknown[])[] = [array];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    for (const value of next) {
      if (Array.isArray(value)) left.push(value);
      else if (isScalar(value)) scalars.push(value);
      else if (isObject(value)) objects.push(value);
    }
  }
  return { scalars, objects };
}

function memberOf(object: object | undefined, name: string): unknown {
  return object !== undefined && Object.hasOwn(object, name) ? (object as Record<string, unknown>)[name] : undefined;
}

function checkSize(pattern: object): void {
  checkDepth(pattern, 'filter', 1);
  const { length } = JSON.stringify(pattern);
  if (length > FILTER_CHARS_MAX) {
    throw new InvalidFilter(`has ${length} characters, of at most ${FILTER_CHARS_MAX}`, 'filter');
  }
}

function checkDepth(value: unknown, path: string, depth: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth > FILTER_DEPTH_MAX) throw new InvalidFilter(`is nested more than ${FILTER_DEPTH_MAX} deep`, path);
  for (const [name, inner] of Object.entries(value)) {
    checkDepth(inner, Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`, depth + 1);
  }
}

function checkRoots(alternatives: readonly Shape[]): void {
  for (const { fields } of alternatives) {
    for (const name of fields.keys()) {
      if (!ROOTS.includes(name)) throw new InvalidFilter('a record has key, headers and value', `filter.${name}`);
    }
  }
}
