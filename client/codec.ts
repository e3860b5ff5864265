import { hasLoneSurrogateEscape } from '../shared/wire/json-text.ts';
import { hasLoneSurrogate } from '../shared/wire/utf8.ts';
import { InvalidOptions, type Issue, ValidationError } from './errors.ts';

/** How values become bytes. A tombstone (null) never meets it. May be asynchronous: the order of records is kept. */
export interface Encoder<T> {
  /** @throws {ValidationError} when this value is not to be sent */
  encode(value: T): Uint8Array | Promise<Uint8Array>;
}

/** How bytes become values. A tombstone (null) never meets it. May be asynchronous. */
export interface Decoder<T> {
  /** @throws {ValidationError} when these bytes are no such value */
  decode(bytes: Uint8Array): T | Promise<T>;
}

/** Both ways. Those that change a value on the way have one type for what they take, another for what they give. */
export interface Codec<In, Out = In> extends Encoder<In>, Decoder<Out> {}

/**
 * Values as JSON text, as `JSON.stringify` and `JSON.parse` have it: numbers beyond 2^53 lose digits (use `utf8`, or a
 * codec of your own). A value that would become the text `null`, and so look like a tombstone to others, is refused.
 */
export function json<T = unknown>(): Codec<T> {
  return { encode: encodeJson, decode: (bytes) => decodeJson(bytes) as T };
}

/** Text as UTF-8. */
export function utf8(): Codec<string> {
  return { encode: encodeUtf8, decode: (bytes) => decodeUtf8(bytes) };
}

/** Bytes as they are. */
export function bytes(): Codec<Uint8Array> {
  return {
    encode(value) {
      if (value instanceof Uint8Array) return value;
      throw new ValidationError(`A value must be a Uint8Array, not ${typeOf(value)}`);
    },
    decode: (value) => value,
  };
}

/** The part of Standard Schema v1 (standardschema.dev) that is used: zod, valibot, arktype and others offer it. */
export interface StandardSchema<Input, Output> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

/**
 * Values that a schema accepts. A value is checked before it is sent, and sent as it was given; one that was read is
 * checked and becomes what the schema makes of it (defaults, transformations).
 */
export function withSchema<Input, Output>(
  schema: StandardSchema<Input, Output>,
  codec: Codec<unknown> = json(),
): Codec<Input, Output> {
  if (typeof schema?.['~standard']?.validate !== 'function') {
    throw new InvalidOptions('The schema does not follow Standard Schema v1');
  }
  const validate = (value: unknown) => schema['~standard'].validate(value);
  return {
    encode(value) {
      const result = validate(value);
      if (result instanceof Promise) return result.then(valid).then(() => codec.encode(value));
      valid(result);
      return codec.encode(value);
    },
    async decode(read) {
      return valid(await validate(await codec.decode(read)));
    },
  };
}

function valid<Output>(result: SchemaResult<Output>): Output {
  if (result.issues === undefined) return result.value;
  const [first] = result.issues;
  const path = first?.path?.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
  const more = result.issues.length > 1 ? `, and ${result.issues.length - 1} more issues` : '';
  throw new ValidationError(`The value does not fit its schema: ${path ? `${path}: ` : ''}${first?.message}${more}`, [
    ...result.issues,
  ]);
}

const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function encodeJson(value: unknown): Uint8Array {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new ValidationError(`The value cannot be written as JSON: ${messageOf(cause)}`, [], { cause });
  }
  if (text === undefined) throw new ValidationError(`A value must be one that JSON has, not ${typeOf(value)}`);
  if (text === 'null')
    throw new ValidationError('The value would become the JSON text null; send null for a tombstone');
  const encoded = Buffer.from(text);
  // Well-formed text is written as it is: an escape of a surrogate is of half a pair.
  if (text.includes('\\ud') && hasLoneSurrogateEscape(encoded)) throw halfPair('value');
  return encoded;
}

function decodeJson(encoded: Uint8Array): unknown {
  const text = decodeUtf8(encoded);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ValidationError(`The value is no JSON: ${messageOf(cause)}`, [], { cause });
  }
}

/** @throws {ValidationError} for half of a surrogate pair, which would be stored as another character */
export function encodeUtf8(text: string, what = 'value'): Uint8Array {
  if (typeof text !== 'string') throw new ValidationError(`A ${what} must be a string here, not ${typeOf(text)}`);
  if (hasLoneSurrogate(text)) throw halfPair(what);
  return Buffer.from(text);
}

function decodeUtf8(encoded: Uint8Array): string {
  try {
    return DECODER.decode(encoded);
  } catch (cause) {
    throw new ValidationError('The value is no UTF-8', [], { cause });
  }
}

function halfPair(what: string): ValidationError {
  return new ValidationError(`The ${what} has half of a surrogate pair, which no UTF-8 stands for`);
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'an array' : typeof value;
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
