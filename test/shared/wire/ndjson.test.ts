import { describe, expect, it } from 'vitest';
import { type BackboneError, InvalidRequest } from '../../../shared/domain/errors.ts';
import { parseProduceBody } from '../../../shared/wire/produce-request.ts';

const parse = (body: string | Uint8Array, key?: string) =>
  parseProduceBody(Buffer.from(body), 'application/x-ndjson', key);
const text = (bytes: Uint8Array | null) => (bytes === null ? null : Buffer.from(bytes).toString());
const values = (body: string) => parse(body).records.map((record) => text(record.value));
const keys = (body: string, pointer: string) => parse(body, pointer).records.map((record) => text(record.key));

function refusal(body: string | Uint8Array, key?: string): BackboneError {
  try {
    parse(body, key);
  } catch (error) {
    return error as BackboneError;
  }
  throw new Error('it was taken');
}

describe('NDJSON', () => {
  it('takes each line for a value, exactly as it was sent', () => {
    const lines = ['{"id":12345678901234567890,"v":1.0}', '[ 1 ,\t2 ]', '"text"', '-0', '"\\u0041"'];
    expect(values(lines.join('\n'))).toEqual(lines);
    expect(parse(lines.join('\n')).json).toBe(true);
    expect(parse('1').records).toEqual([{ key: null, value: new Uint8Array([0x31]), headers: [] }]);
  });

  it('takes a final newline or none, CRLF, and passes over blank lines', () => {
    expect(values('1\n2\n')).toEqual(['1', '2']);
    expect(values('1\r\n2\r\n')).toEqual(['1', '2']);
    expect(values('\n\n1\n \t\r\n2\n\n')).toEqual(['1', '2']);
  });

  it('drops whitespace around a value, as JSON has it', () => {
    expect(values(' {"a": 1} \n\t2\r')).toEqual(['{"a": 1}', '2']);
  });

  it('takes null for a tombstone', () => {
    expect(values('null\n"null"')).toEqual([null, '"null"']);
  });

  it('takes a thousand lines and no more, blank ones apart', () => {
    expect(parse('1\n\n'.repeat(1_000)).records).toHaveLength(1_000);
    expect(refusal('1\n'.repeat(1_001))).toMatchObject({ code: 'request_too_large', data: { maxRecords: 1_000 } });
  });

  it('names every line that is not JSON by its number, and tells of the first', () => {
    const error = refusal('1\n\n{"a":\n2\noops\n');
    expect(error).toBeInstanceOf(InvalidRequest);
    expect(error.message).toBe('Line 3: value is not JSON, and 1 more cannot be taken');
    expect(error.data).toEqual({ index: 1, indexes: [1, 3], field: 'value', line: 3, lines: [3, 5] });
  });

  it('refuses a value that is spread over lines', () => {
    expect(refusal('{\n"a":1\n}').data).toMatchObject({ lines: [1, 2, 3] });
  });

  it.each<[string, string | Uint8Array]>([
    ['no line', ''],
    ['blank lines only', '\n \r\n'],
    ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['a byte order mark', '\ufeff1'],
    ['half of a surrogate pair', '"a"\n"\\ud800"'],
  ])('is refused with %s', (_, body) => {
    expect(refusal(body)).toBeInstanceOf(InvalidRequest);
  });
});

describe('?key=', () => {
  it('takes a string as its UTF-8, a number or boolean as it is spelt', () => {
    expect(keys('{"id":"é\\u0041"}\n{"id":1.0}\n{"id":12345678901234567890}\n{"id":false}\n{"id":""}', '/id')).toEqual([
      'éA',
      '1.0',
      '12345678901234567890',
      'false',
      '',
    ]);
  });

  it('takes null, or nothing there, for no key', () => {
    expect(keys('{"id":null}\n{}\n5\n[]\nnull', '/id')).toEqual([null, null, null, null, null]);
  });

  it('reaches into objects and arrays, and escaped names', () => {
    expect(keys('{"order":{"lines":[{"sku":"a"},{"sku":"b"}]}}', '/order/lines/1/sku')).toEqual(['b']);
    expect(keys('{"a/b":{"m~n":7}}', '/a~1b/m~0n')).toEqual(['7']);
    expect(keys('"whole"\n42', '')).toEqual(['whole', '42']);
    expect(keys('{"a":1,"\\u0061":2}', '/a')).toEqual(['2']);
    expect(keys('{"__proto__":"x"}', '/__proto__')).toEqual(['x']);
  });

  it('refuses an object or array, naming the line', () => {
    expect(refusal('{"id":1}\n{"id":{}}\n{"id":[1]}', '/id').data).toMatchObject({
      field: 'key',
      line: 2,
      lines: [2, 3],
    });
  });

  it('refuses what is no JSON pointer', () => {
    expect(refusal('1', 'id').message).toContain("'key' must be a JSON pointer");
  });
});
