import { describe, expect, it } from 'vitest';
import { bytes, type Codec, json, type StandardSchema, utf8, withSchema } from '../../client/codec.ts';
import { InvalidOptions, ValidationError } from '../../client/errors.ts';

const text = (encoded: Uint8Array) => new TextDecoder().decode(encoded);
const encoded = async <T>(codec: Codec<T>, value: T) => text(await codec.encode(value));

describe('json', () => {
  it.each([{ a: [1, 'é', null] }, '', 'null', 0, false, '\ud83d\ude00', '\\ud800'])(
    'takes %j there and back',
    async (value) => {
      expect(await json().decode(await json().encode(value))).toEqual(value);
    },
  );

  it.each([
    [undefined, 'undefined'],
    [() => 1, 'function'],
    [1n, 'BigInt'],
    [Number.NaN, 'tombstone'],
    [{ toJSON: () => null }, 'tombstone'],
    ['\ud800', 'surrogate'],
    [{ '\udfff': 1 }, 'surrogate'],
  ])('refuses %s', (value, reason) => {
    expect(() => json().encode(value)).toThrow(ValidationError);
    expect(() => json().encode(value)).toThrow(reason);
  });

  it.each([[[0xff]], [[0x7b]], [[]], [[0xef, 0xbb, 0xbf, 0x31]]])('refuses to read %j', (read) => {
    expect(() => json().decode(Uint8Array.from(read))).toThrow(ValidationError);
  });
});

describe('utf8', () => {
  it('takes text there and back, a byte order mark included', async () => {
    for (const value of ['', 'é', '\ufeffa']) expect(await utf8().decode(await utf8().encode(value))).toBe(value);
  });

  it('refuses half of a surrogate pair, and bytes that are no text', () => {
    expect(() => utf8().encode('a\ud800')).toThrow('surrogate');
    expect(() => utf8().encode(1 as never)).toThrow('must be a string');
    expect(() => utf8().decode(Uint8Array.of(0xff, 0, 0xfe, 0x80))).toThrow(ValidationError);
  });
});

describe('bytes', () => {
  it('are as they are', () => {
    const value = Uint8Array.of(0xff, 0, 0xfe, 0x80);
    expect(bytes().encode(value)).toBe(value);
    expect(bytes().decode(value)).toBe(value);
    expect(() => bytes().encode('text' as never)).toThrow(ValidationError);
  });
});

interface Order {
  readonly total: number;
}
const validate = (value: unknown) => {
  const { total } = value as { total?: unknown };
  if (typeof total === 'number') return { value: { total } };
  return { issues: [{ message: 'must be a number', path: ['total'] }] };
};
const schema = (check: StandardSchema<Order, Order>['~standard']['validate']): StandardSchema<Order, Order> => ({
  '~standard': { version: 1, vendor: 'tests', validate: check },
});

describe.each([
  ['synchronous', schema(validate)],
  ['asynchronous', schema(async (value) => validate(value))],
])('a %s schema', (_, orders) => {
  const codec = withSchema(orders);

  it('lets what fits pass, as it was given', async () => {
    expect(await encoded(codec, { total: 1, more: true } as Order)).toBe('{"total":1,"more":true}');
  });

  it('refuses what does not, and says where', async () => {
    const refusal = await (async () => codec.encode({ total: 'x' } as never))().catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(ValidationError);
    expect(refusal).toMatchObject({ code: 'invalid_record', effect: 'none', issues: [{ path: ['total'] }] });
    expect(String(refusal)).toContain('total: must be a number');
  });

  it('makes of what was read what it says', async () => {
    expect(await codec.decode(new TextEncoder().encode('{"total":2,"more":1}'))).toEqual({ total: 2 });
    await expect(codec.decode(new TextEncoder().encode('{}'))).rejects.toThrow(ValidationError);
  });
});

it('what is no schema is refused at once', () => {
  expect(() => withSchema({} as never)).toThrow(InvalidOptions);
});
