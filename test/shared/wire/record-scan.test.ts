import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RECORDS_PER_REQUEST_MAX } from '../../../shared/domain/limits.ts';
import { parseRecord } from '../../../shared/wire/record-fields.ts';
import { scanRecords } from '../../../shared/wire/record-scan.ts';
import { type BodyEncoding, RecordText } from '../../../shared/wire/record-text.ts';

const scan = (text: string, encoding: BodyEncoding = 'utf8') => scanRecords(Buffer.from(text), encoding);

/** What becomes of each record, refusals included. */
function outcomes(sent: readonly unknown[], text: RecordText) {
  return sent.map((record, i) => {
    try {
      return parseRecord(record, text, i);
    } catch (error) {
      return (error as Error).message;
    }
  });
}

/** The same by `JSON.parse`, which is the judge. */
function parsed(text: string, encoding: BodyEncoding) {
  const body = Buffer.from(text);
  const { records } = JSON.parse(body.toString(encoding));
  return outcomes(records, RecordText.of(body, records.length, encoding));
}

const text = fc.string({ unit: fc.constantFrom('a', 'é', '\u{1f600}', '"', '\\', '\n', '{', ',') });
const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), text, fc.constant(null));
const headers = fc.oneof(
  fc.dictionary(text, fc.oneof(text, fc.constant(null), fc.constant({ base64: 'AAE=' }))),
  fc.array(fc.tuple(text, text), { maxLength: 3 }),
  value,
);
/** Each field right or wrong, or not there. */
const record = fc.record(
  {
    key: fc.oneof(text, value),
    value: fc.oneof(value, fc.constant('AAE='), fc.constant({ uploadId: 'u' })),
    headers,
    timestamp: fc.oneof(fc.nat(), value),
    partition: fc.oneof(fc.nat(), value),
  },
  { requiredKeys: [] },
);
const encoded = fc.record({ value: text, valueEncoding: fc.constantFrom('utf8', 'json') });
const records = fc.array(fc.oneof({ weight: 20, arbitrary: record }, encoded), { minLength: 1, maxLength: 4 });

describe('reading records in one pass', () => {
  it('comes to what JSON.parse comes to, faults included', () => {
    fc.assert(
      fc.property(
        records,
        fc.constantFrom(0, 1),
        fc.constantFrom<BodyEncoding>('utf8', 'latin1'),
        (sent, indent, as) => {
          const body = JSON.stringify({ records: sent }, null, indent);
          const found = scan(body, as);
          // A record without a member, or with an encoding, is left to JSON.parse.
          const isLeft = (fields: object) => Object.keys(fields).length === 0 || 'valueEncoding' in fields;
          if (sent.some(isLeft)) expect(found).toBeUndefined();
          else expect(outcomes(found!.sent, found!.text)).toEqual(parsed(body, as));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('sees that a body is none when anything is missing from it or added to it', () => {
    const body = '{ "records" : [ {"key":"a","value":{"b":[1]}} , {"headers":{"c":null},"value":2} ] }';
    expect(scan(body)).toBeDefined();
    for (let i = 0; i < body.length; i++) {
      for (const piece of ['', ',', '}', ']', '"', 'x', '\\']) {
        const changed = body.slice(0, i) + piece + body.slice(i + (piece === '' ? 1 : 0));
        const found = scan(changed);
        if (found !== undefined) expect(outcomes(found.sent, found.text)).toEqual(parsed(changed, 'utf8'));
      }
    }
  });

  it.each([
    ['no object', '[{"value":1}]'],
    ['no records', '{"records":[]}'],
    ['another member before', '{"a":1,"records":[{"value":1}]}'],
    ['another member behind', '{"records":[{"value":1}],"a":1}'],
    ['records twice', '{"records":[{"value":1}],"records":[{"value":2}]}'],
    ['a record that is none', '{"records":[{"value":1},2]}'],
    ['an unknown field', '{"records":[{"value":1,"valeu":2}]}'],
    ['a field twice', '{"records":[{"value":1,"value":2}]}'],
    ['a field twice, null at first', '{"records":[{"key":null,"key":"a","value":2}]}'],
    ['other fields twice', '{"records":[{"value":1,"timestamp":2,"timestamp":3}]}'],
    ['headers twice', '{"records":[{"value":1,"headers":{},"headers":{}}]}'],
    ['a name with an escape', '{"records":[{"valu\\u0065":1}]}'],
    ['more than one text', '{"records":[{"value":1}]} {}'],
    ['nothing', ''],
  ])('leaves %s to others', (_, body) => {
    expect(scan(body)).toBeUndefined();
  });

  it('takes as many records as a request may have, and no more', () => {
    const body = (count: number) => `{"records":[${Array(count).fill('{"value":1}')}]}`;
    expect(scan(body(RECORDS_PER_REQUEST_MAX))?.sent).toHaveLength(RECORDS_PER_REQUEST_MAX);
    expect(scan(body(RECORDS_PER_REQUEST_MAX + 1))).toBeUndefined();
  });
});
