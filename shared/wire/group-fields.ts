import { parseDeadLetterId } from '../domain/dead-letter.ts';
import { InvalidRequest } from '../domain/errors.ts';
import { NAME_CHARS_MAX, PARTITIONS_MAX } from '../domain/limits.ts';
import { type ApiRequest, isName, mediaTypeOf } from './http-request.ts';
import { jsonObjectOf } from './json-body.ts';
import { JSON_TYPE } from './media-type.ts';
import { parseQuery } from './query.ts';
import { hasLoneSurrogate } from './utf8.ts';

/** Reads one value of a JSON body. `field` is its path, such as `commit[2].offset`. @throws {InvalidRequest} naming it */
export type Read<T> = (value: unknown, field: string) => T;

/** The fields of one JSON object. None but those that are known here is let through. */
export class Fields<Name extends string> {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #path: string;

  /** @param path of the object, empty for the body itself */
  constructor(values: Readonly<Record<string, unknown>>, known: readonly Name[], path = '') {
    const unknown = Object.keys(values).find((name) => !known.some((one) => one === name));
    if (unknown !== undefined) {
      const field = join(path, unknown.slice(0, 64));
      throw new InvalidRequest(`'${field}' is unknown; known here: ${known.join(', ')}`, { field });
    }
    this.#values = values;
    this.#path = path;
  }

  required<T>(name: Name, read: Read<T>): T {
    const value = this.optional(name, read);
    if (value === undefined) throw invalid(join(this.#path, name), 'is required');
    return value;
  }

  optional<T>(name: Name, read: Read<T>): T | undefined {
    const value = Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
    return value === undefined ? undefined : read(value, join(this.#path, name));
  }
}

/** The fields of a request's JSON body, on a route that takes no query parameters. */
export function bodyFields<Name extends string>(request: ApiRequest, known: readonly Name[]): Fields<Name> {
  parseQuery(request.rawQuery, []);
  mediaTypeOf(request, [JSON_TYPE]);
  return new Fields(jsonObjectOf(request.readBody()), known);
}

/** The group that the path names, by itself or by its subscription. @throws {InvalidRequest} when it is no legal name */
export function groupOf(request: ApiRequest): string {
  const name = request.parameters.get('group') ?? request.parameters.get('name') ?? '';
  if (isName(name)) return name;
  throw new InvalidRequest(
    `The group's name must be 1 to ${NAME_CHARS_MAX} characters out of A-Z a-z 0-9 . _ - and neither '.' nor '..'`,
    { field: 'group' },
  );
}

/** An object with these fields. */
export function object<Known extends string, Name extends Known, T>(
  known: readonly Known[],
  read: (fields: Fields<Name>) => T,
): Read<T> {
  return (value, field) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(field, 'must be an object');
    return read(new Fields<Known>({ ...value }, known, field));
  };
}

/** A list of at most `max` items. @param same what no two of them may have in common; absent: nothing */
export function list<T>(read: Read<T>, max: number, same: ((item: T) => string) | undefined, min = 0): Read<T[]> {
  return (value, field) => {
    if (!Array.isArray(value)) throw invalid(field, 'must be a list');
    if (value.length < min || value.length > max) {
      throw invalid(field, `must have ${min} to ${max} entries, not ${value.length}`);
    }
    const seen = new Map<string, number>();
    return value.map((entry: unknown, i) => {
      const item = read(entry, `${field}[${i}]`);
      if (same === undefined) return item;
      const first = seen.get(same(item));
      if (first !== undefined) throw invalid(`${field}[${i}]`, `names the same as '${field}[${first}]'`);
      seen.set(same(item), i);
      return item;
    });
  };
}

export function integer(min: number, max = Number.MAX_SAFE_INTEGER): Read<number> {
  return (value, field) => {
    if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) return value as number;
    throw invalid(field, `must be an integer from ${min} to ${max}`);
  };
}

export function choice<Word extends string>(...words: readonly Word[]): Read<Word> {
  return (value, field) => {
    const word = words.find((candidate) => candidate === value);
    if (word !== undefined) return word;
    throw invalid(field, `must be ${words.map((known) => `'${known}'`).join(' or ')}`);
  };
}

/** Well-formed text of `min` to `max` bytes in UTF-8. */
export function text(max: number, min = 0): Read<string> {
  return (value, field) => {
    if (typeof value !== 'string') throw invalid(field, 'must be a string');
    if (hasLoneSurrogate(value)) throw invalid(field, 'has half of a surrogate pair, which no UTF-8 stands for');
    const bytes = Buffer.byteLength(value);
    if (bytes < min || bytes > max) throw invalid(field, `must have ${min} to ${max} bytes in UTF-8, not ${bytes}`);
    return value;
  };
}

export const topicName: Read<string> = (value, field) => {
  if (typeof value === 'string' && isName(value)) return value;
  throw invalid(
    field,
    `must be a topic's name: 1 to ${NAME_CHARS_MAX} characters out of A-Z a-z 0-9 . _ - and neither '.' nor '..'`,
  );
};

export const flag: Read<boolean> = (value, field) => {
  if (typeof value === 'boolean') return value;
  throw invalid(field, 'must be true or false');
};

/** The id of a dead letter. */
export const letterId: Read<string> = (value, field) => {
  if (typeof value === 'string' && parseDeadLetterId(value) !== undefined) return value;
  throw invalid(field, "must be a dead letter's id, such as '01J00000000000000000000000.3.41'");
};

/** Whether the topic has it is not known here. */
export const partitionNumber: Read<number> = integer(0, PARTITIONS_MAX - 1);
export const offsetNumber: Read<number> = integer(0);

/** What makes two entries about partitions the same. */
export function partitionText({ topic, partition }: { readonly topic: string; readonly partition: number }): string {
  return `${topic}#${partition}`;
}

export function invalid(field: string, reason: string): InvalidRequest {
  return new InvalidRequest(`'${field}' ${reason}`, { field });
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
