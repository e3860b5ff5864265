/** A JSON Schema, of which this file knows the keywords that our OpenAPI page uses; any other one is an error. */
export type Schema = { readonly [keyword: string]: unknown };
type Resolve = (reference: string) => Schema;

/** @returns what is wrong with the value, as paths and reasons; empty when it fits */
export function misfits(schema: Schema, value: unknown, resolve: Resolve, at = '$'): string[] {
  return Object.entries(schema).flatMap(([keyword, rule]) => {
    const check = KEYWORDS[keyword];
    if (check === undefined) throw new Error(`unknown keyword ${keyword} at ${at}`);
    return check(rule as never, value, resolve, at, schema);
  });
}

type Check = (rule: never, value: unknown, resolve: Resolve, at: string, schema: Schema) => string[];

const unless = (fits: boolean, at: string, reason: string) => (fits ? [] : [`${at}: ${reason}`]);
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
const nothing: Check = () => [];

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  integer: Number.isSafeInteger,
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: Array.isArray,
  object: isObject,
};

const KEYWORDS: Readonly<Record<string, Check>> = {
  description: nothing,
  default: nothing,
  format: nothing,
  contentEncoding: nothing,
  $ref: (rule: string, value, resolve, at) => misfits(resolve(rule), value, resolve, at),
  type: (rule: string | string[], value, _, at) =>
    unless(
      [rule].flat().some((name) => TYPES[name]!(value)),
      at,
      `is no ${rule}`,
    ),
  enum: (rule: unknown[], value, _, at) =>
    unless(
      rule.some((one) => same(one, value)),
      at,
      `is none of ${rule}`,
    ),
  const: (rule, value, _, at) => unless(same(rule, value), at, `is not ${rule}`),
  minimum: (rule: number, value, _, at) => unless(typeof value !== 'number' || value >= rule, at, `is below ${rule}`),
  maximum: (rule: number, value, _, at) => unless(typeof value !== 'number' || value <= rule, at, `is above ${rule}`),
  minLength: (rule: number, value, _, at) =>
    unless(typeof value !== 'string' || value.length >= rule, at, 'is too short'),
  maxLength: (rule: number, value, _, at) =>
    unless(typeof value !== 'string' || value.length <= rule, at, 'is too long'),
  minItems: (rule: number, value, _, at) => unless(!Array.isArray(value) || value.length >= rule, at, 'is too short'),
  maxItems: (rule: number, value, _, at) => unless(!Array.isArray(value) || value.length <= rule, at, 'is too long'),
  pattern: (rule: string, value, _, at) =>
    unless(typeof value !== 'string' || new RegExp(rule, 'u').test(value), at, `does not match ${rule}`),
  not: (rule: Schema, value, resolve, at) => unless(misfits(rule, value, resolve, at).length > 0, at, 'is excluded'),
  allOf: (rule: Schema[], value, resolve, at) => rule.flatMap((one) => misfits(one, value, resolve, at)),
  oneOf: (rule: Schema[], value, resolve, at) => {
    const results = rule.map((one) => misfits(one, value, resolve, at));
    return unless(results.filter(({ length }) => length === 0).length === 1, at, `fits not one: ${results.join('; ')}`);
  },
  required: (rule: string[], value, _, at) =>
    isObject(value) ? rule.flatMap((name) => unless(Object.hasOwn(value, name), at, `lacks ${name}`)) : [],
  properties: (rule: Record<string, Schema>, value, resolve, at) =>
    isObject(value)
      ? Object.entries(rule).flatMap(([name, schema]) =>
          Object.hasOwn(value, name) ? misfits(schema, value[name], resolve, `${at}.${name}`) : [],
        )
      : [],
  additionalProperties: (rule: false | Schema, value, resolve, at, { properties = {} }) =>
    isObject(value)
      ? Object.keys(value)
          .filter((name) => !Object.hasOwn(properties as object, name))
          .flatMap((name) =>
            rule === false ? [`${at}: ${name} is unknown`] : misfits(rule, value[name], resolve, `${at}.${name}`),
          )
      : [],
  items: (rule: Schema, value, resolve, at) =>
    Array.isArray(value) ? value.flatMap((one, i) => misfits(rule, one, resolve, `${at}[${i}]`)) : [],
};
