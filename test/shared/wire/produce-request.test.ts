import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BackboneError, InvalidRequest } from '../../../shared/domain/errors.ts';
import { RECORD_BYTES_MAX } from '../../../shared/domain/limits.ts';
import type { ProducedRecord } from '../../../shared/domain/record.ts';
import { parseProduceBody } from '../../../shared/wire/produce-request.ts';

const parse = (body: string | Uint8Array) => parseProduceBody(Buffer.from(body), 'application/json');
const parseOne = (record: string) => parse(`{"records":[${record}]}`).records[0]!;
const text = (bytes: Uint8Array | null | undefined) => (bytes == null ? bytes : Buffer.from(bytes).toString());
const headers = (record: ProducedRecord) => record.headers.map(({ name, value }) => [name, text(value)]);

/** The refusal of a body: code, detail and data. */
function refusal(body: string | Uint8Array): BackboneError {
  try {
    parse(body);
  } catch (error) {
    return error as BackboneError;
  }
  throw new Error('it was taken');
}

describe('a JSON value', () => {
  it.each([
    '{"id":12345678901234567890,"v":1.0}',
    '1.0',
    '-0',
    '1e400',
    '"\\u0041"',
    '[ 1 ,\t2 ]',
    '{"a":1,"a":2}',
    '"😀"',
  ])('is stored exactly as it was sent: %s', (value) => {
    expect(text(parseOne(`{ "value" : ${value} , "key":null}`).value)).toBe(value);
  });

  it('is found under an escaped name, and the last of several counts, as in JSON.parse', () => {
    expect(text(parseOne('{"\\u0076alue":1.0}').value)).toBe('1.0');
    expect(text(parseOne('{"value":1.0,"value":2.0}').value)).toBe('2.0');
    const twice = '{"records":[{"value":1},{"value":2}],"records":[{"value":3.0}]}';
    expect(parse(twice).records.map((record) => text(record.value))).toEqual(['3.0']);
  });

  it('may be nested a hundred thousand deep', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(text(parseOne(`{"value":${deep}}`).value)).toBe(deep);
    expect(refusal(`{"records":[{"value":${deep.slice(1)}}]}`)).toBeInstanceOf(InvalidRequest);
  });

  it('of every kind comes out as it went in', () => {
    fc.assert(
      fc.property(fc.array(fc.json({ stringUnit: 'binary' }), { minLength: 1, maxLength: 5 }), (values) => {
        const body = `{"records":[${values.map((value, i) => `{"key":"${i}","value":${value}}`)}]}`;
        const { records, json } = parse(body);
        expect(records.map((record) => text(record.value) ?? 'null')).toEqual(values);
        expect(records.map((record) => text(record.key))).toEqual(values.map((_, i) => String(i)));
        expect(json).toBe(true);
      }),
    );
  });
});

describe('a record', () => {
  it('needs a value alone', () => {
    expect(parseOne('{"value":1}')).toEqual({ key: null, value: new Uint8Array([0x31]), headers: [] });
  });

  it('is the same whether its request has escapes or not', () => {
    const word = fc.string({ unit: 'binary', maxLength: 8 });
    const header = fc.oneof(word, fc.constant(null));
    fc.assert(
      fc.property(word, word, fc.array(fc.tuple(word, header), { maxLength: 3 }), (key, value, pairs) => {
        const sent = JSON.stringify({ key, value, headers: pairs, valueEncoding: 'utf8' });
        const alone = parseOne(sent);
        expect(parse(`{"records":[${sent},{"value":"\\u0041"}]}`).records[0]).toEqual(alone);
        expect([text(alone.key), text(alone.value), headers(alone)]).toEqual([key, value, pairs]);
      }),
    );
  });

  it('tells a tombstone from no bytes and from the text null', () => {
    expect(parseOne('{"value":null}').value).toBeNull();
    expect(parseOne('{"value":null,"valueEncoding":"base64"}').value).toBeNull();
    expect(text(parseOne('{"value":"","valueEncoding":"utf8"}').value)).toBe('');
    expect(text(parseOne('{"value":""}').value)).toBe('""');
    expect(text(parseOne('{"value":"null","valueEncoding":"utf8"}').value)).toBe('null');
    expect(refusal('{"records":[{}]}').message).toContain('value is missing');
  });

  it('tells an empty key from none', () => {
    expect(text(parseOne('{"value":1,"key":""}').key)).toBe('');
    expect(parseOne('{"value":1,"key":null}').key).toBeNull();
    expect(parseOne('{"value":1,"key":"a","key":null}').key).toBeNull();
    expect(text(parseOne('{"value":1,"key":null,"key":"a"}').key)).toBe('a');
  });

  it('takes key and value as bytes', () => {
    const record = parseOne('{"key":"/wD+gA==","keyEncoding":"base64","value":"AA==","valueEncoding":"base64"}');
    expect([...record.key!, ...record.value!]).toEqual([0xff, 0, 0xfe, 0x80, 0]);
  });

  it.each(['🎉', '\u00e9', 'e\u0301', '\ufeffk', '\0', '"\\', 'plain'])('takes the key %j as its UTF-8', (key) => {
    expect(text(parseOne(JSON.stringify({ key, value: 1 })).key)).toBe(key);
    const escaped = [...key]
      .flatMap((c) => c.split(''))
      .map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
    expect(text(parseOne(`{"value":1,"key":"${escaped.join('')}"}`).key)).toBe(key);
  });

  it('keeps headers in order, with names that repeat, nulls and bytes', () => {
    const sent = [
      ['trace', 'a'],
      ['x', '1'],
      ['trace', 'b'],
      ['Trace', 'c'],
      ['list', 'a,b'],
      ['n', null],
    ];
    expect(headers(parseOne(JSON.stringify({ value: 1, headers: sent })))).toEqual(sent);
    const bytes = parseOne('{"value":1,"headers":{"b":{"base64":"/wD+gA=="},"s":"é","n":null}}');
    expect(bytes.headers[0]!.value).toEqual(Buffer.from('ff00fe80', 'hex'));
    expect(headers(bytes).slice(1)).toEqual([
      ['s', 'é'],
      ['n', null],
    ]);
    expect(parseOne('{"value":1,"headers":{}}').headers).toEqual([]);
  });

  it('takes __proto__ and its like for ordinary header names', () => {
    const record = parseOne('{"value":1,"headers":{"__proto__":"a","constructor":"b","toString":null}}');
    expect(headers(record)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
      ['toString', null],
    ]);
    expect(({} as { a?: string }).a).toBeUndefined();
  });

  it('takes timestamp and partition', () => {
    const record = parseOne('{"value":1,"timestamp":9007199254740991,"partition":1023}');
    expect([record.timestamp, record.partition]).toEqual([2 ** 53 - 1, 1023]);
    expect(Object.is(parseOne('{"value":1,"partition":-0}').partition, 0)).toBe(true);
  });

  it.each<[string, string]>([
    ['5', 'record must be an object'],
    ['null', 'record must be an object'],
    ['[]', 'record must be an object'],
    ['{"key":"a"}', 'value is missing'],
    ['{"value":1,"vlaue":2}', '"vlaue" is not a field'],
    ['{"value":1,"__proto__":{"value":2}}', '"__proto__" is not a field'],
    ['{"value":1,"valueEncoding":"hex"}', 'valueEncoding must be'],
    ['{"value":1,"valueEncoding":null}', 'valueEncoding must be'],
    ['{"value":1,"valueEncoding":"utf8"}', 'value must be a string'],
    ['{"value":{},"valueEncoding":"base64"}', 'value must be a string'],
    ['{"value":"_wD-gA==","valueEncoding":"base64"}', 'value must be base64'],
    ['{"value":"/wD+gA","valueEncoding":"base64"}', 'value must be base64'],
    ['{"value":"/wD+gB==","valueEncoding":"base64"}', 'value must be base64'],
    ['{"value":1,"key":5}', 'key must be a string'],
    ['{"value":1,"key":"a","keyEncoding":"json"}', 'keyEncoding must be'],
    ['{"value":1,"key":"a","keyEncoding":"base64"}', 'key must be base64'],
    ['{"value":1,"timestamp":-1}', 'timestamp must be'],
    ['{"value":1,"timestamp":5.5}', 'timestamp must be'],
    ['{"value":1,"timestamp":9007199254740993}', 'timestamp must be'],
    ['{"value":1,"timestamp":"0"}', 'timestamp must be'],
    ['{"value":1,"timestamp":null}', 'timestamp must be'],
    ['{"value":1,"partition":-1}', 'partition must be'],
    ['{"value":1,"partition":"01"}', 'partition must be'],
    ['{"value":1,"headers":null}', 'headers must be'],
    ['{"value":1,"headers":"a"}', 'headers must be'],
    ['{"value":1,"headers":["a"]}', 'headers must hold pairs'],
    ['{"value":1,"headers":[["a"]]}', 'headers must hold pairs'],
    ['{"value":1,"headers":[["a","b","c"]]}', 'headers must hold pairs'],
    ['{"value":1,"headers":[[1,"b"]]}', 'headers must hold pairs'],
    ['{"value":1,"headers":{"a":1}}', 'header "a" must be'],
    ['{"value":1,"headers":{"a":{}}}', 'header "a" must be'],
    ['{"value":1,"headers":{"a":{"base64":"AA==","x":1}}}', 'header "a" must be'],
    ['{"value":1,"headers":{"a":{"base64":"AA"}}}', 'header "a" must be base64'],
    ['{"value":1,"headers":{"a":{"base64":7}}}', 'header "a" must be a string'],
    ['{"value":1,"key":"\\ud800"}', 'key has half of a surrogate pair'],
    ['{"value":1,"key":"\\udfff"}', 'key has half of a surrogate pair'],
    ['{"value":{"a":["\\ud800"]}}', 'value has half of a surrogate pair'],
    ['{"value":{"\\udc00":1}}', 'value has half of a surrogate pair'],
    ['{"value":"\\ud800","valueEncoding":"utf8"}', 'value has half of a surrogate pair'],
    ['{"value":1,"headers":{"\\ud800":"a"}}', 'a header name has half of a surrogate pair'],
    ['{"value":1,"headers":{"a":"\\ud800"}}', 'header "a" has half of a surrogate pair'],
  ])('is refused with its index when it is %s', (record, why) => {
    const error = refusal(`{"records":[{"value":0},${record},{"value":0}]}`);
    expect(error).toBeInstanceOf(InvalidRequest);
    expect(error.message).toBe(`Record 1: ${error.message.slice(10)}`);
    expect(error.message).toContain(why);
    expect(error.data).toMatchObject({ index: 1, indexes: [1] });
  });

  it('keeps whole pairs of surrogates, and bytes that are no text', () => {
    expect(text(parseOne('{"value":"\\ud83d\\ude00","key":"\\ud83d\\ude00"}').key)).toBe('😀');
    expect(text(parseOne('{"value":"\\\\ud800"}').value)).toBe('"\\\\ud800"');
    expect([...parseOne('{"value":"7aCA","valueEncoding":"base64"}').value!]).toEqual([0xed, 0xa0, 0x80]);
  });
});

describe('a request', () => {
  it('is JSON all through only when every value is JSON or null', () => {
    expect(parse('{"records":[{"value":1},{"value":null,"valueEncoding":"utf8"}]}').json).toBe(true);
    expect(parse('{"records":[{"value":1},{"value":"1","valueEncoding":"utf8"}]}').json).toBe(false);
  });

  it('names every record at fault, and tells of the first', () => {
    const error = refusal('{"records":[{"value":1},{},{"value":1,"partition":-1},{"value":1},7]}');
    expect(error.data).toEqual({ index: 1, indexes: [1, 2, 4], field: 'value' });
    expect(error.message).toBe('Record 1: value is missing; null is a tombstone, and 2 more cannot be taken');
  });

  it('counts what is too large among the faults, and alone refuses it as such', () => {
    const large = `{"value":"${'x'.repeat(RECORD_BYTES_MAX - 2)}","key":"k"}`;
    const fits = `{"value":"${'x'.repeat(RECORD_BYTES_MAX - 3)}","key":"k"}`;
    expect(parse(`{"records":[${fits}]}`).records).toHaveLength(1);
    expect(refusal(`{"records":[{"value":1},${large}]}`)).toMatchObject({
      code: 'record_too_large',
      data: { index: 1, bytes: RECORD_BYTES_MAX + 1, maxBytes: RECORD_BYTES_MAX },
    });
    expect(refusal(`{"records":[{"value":1},${large},{}]}`).data).toMatchObject({ index: 1, indexes: [1, 2] });
  });

  it('takes a thousand records and no more', () => {
    const of = (count: number) => `{"records":[${Array(count).fill('{"value":1}')}]}`;
    expect(parse(of(1_000)).records).toHaveLength(1_000);
    expect(refusal(of(1_001))).toMatchObject({ code: 'request_too_large', data: { maxRecords: 1_000 } });
  });

  it.each<[string, string | Uint8Array]>([
    ['no body', ''],
    ['broken JSON', '{"records":['],
    [
      'bytes that are no UTF-8',
      Buffer.concat([Buffer.from('{"records":[{"value":"'), Buffer.from([0xff]), Buffer.from('"}]}')]),
    ],
    [
      'a surrogate as UTF-8',
      Buffer.concat([Buffer.from('{"records":[{"value":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}]}')]),
    ],
    ['a byte order mark', '\ufeff{"records":[{"value":1}]}'],
    ['an array', '[{"value":1}]'],
    ['null', 'null'],
    ['no records', '{"records":[]}'],
    ['records missing', '{}'],
    ['records of another type', '{"records":{"0":{"value":1}}}'],
    ['a field that is unknown', '{"records":[{"value":1}],"acks":1}'],
    ['records replaced by a later field', '{"records":[{"value":1}],"records":5}'],
  ])('is refused with %s', (_, body) => {
    expect(refusal(body)).toBeInstanceOf(InvalidRequest);
  });

  it('is refused in words that name what was sent, whatever its script', () => {
    expect(refusal('{"records":[{"value":1,"größe":2}]}').message).toContain('"größe" is not a field');
    expect(refusal('{"records":[{"value":1,"headers":{"ключ":5}}]}').message).toContain('header "ключ" must be');
  });

  it('is refused without quoting it at length', () => {
    expect(refusal('{"secret').message).not.toContain('secret');
    expect(refusal(`{"records":[{"value":1,"partition":"${'x'.repeat(10_000)}"}]}`).message.length).toBeLessThan(200);
  });

  it('with an uploaded value takes its id as it is, and no other form of it', () => {
    const [record] = parse('{"records":[{"value":{"uploadId":"../a"},"valueEncoding":"upload","key":"k"}]}').records;
    expect(record).toMatchObject({ upload: '../a', value: null });
    for (const value of ['null', '"a"', '{}', '{"uploadId":null}', '{"uploadId":"a","size":1}', '["a"]']) {
      const body = `{"records":[{"value":${value},"valueEncoding":"upload"}]}`;
      expect(refusal(body)).toMatchObject({ code: 'invalid_request', data: { field: 'value' } });
    }
  });

  it('never fails otherwise, whatever JSON it is', () => {
    const names = fc.constantFrom(
      'records',
      'value',
      'key',
      'headers',
      'valueEncoding',
      'base64',
      '__proto__',
      'partition',
    );
    const { any } = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 4, depthSize: 'small' },
        fc.constantFrom('null', '1', '"base64"', '"utf8"', '"\\ud800"', '-1'),
        fc.array(tie('any'), { maxLength: 3 }).map((items) => `[${items}]`),
        fc.array(fc.tuple(names, tie('any')), { maxLength: 3 }).map((all) => `{${all.map(([n, v]) => `"${n}":${v}`)}}`),
      ),
    }));
    fc.assert(
      fc.property(any, (body) => {
        for (const sent of [body as string, `{"records":[${body}]}`]) {
          try {
            expect(parse(sent).records.length).toBeGreaterThan(0);
          } catch (error) {
            expect(error).toBeInstanceOf(InvalidRequest);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});
