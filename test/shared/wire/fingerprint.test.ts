import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ProducedRecord } from '../../../shared/domain/record.ts';
import { fingerprintOfBatch, fingerprintOfRecords } from '../../../shared/wire/fingerprint.ts';

const bytes = (text: string) => Buffer.from(text);
const record = (more: Partial<ProducedRecord> = {}): ProducedRecord => ({
  key: bytes('k'),
  value: bytes('v'),
  headers: [{ name: 'h', value: bytes('1') }],
  ...more,
});
const batch = (text: string) => ({ count: 1, bytes: bytes(text), json: false });

describe('a fingerprint', () => {
  it('is the same for the same records in other objects, and stays what it was: claims outlive a deployment', () => {
    expect(fingerprintOfRecords([record()])).toBe(fingerprintOfRecords([record({ value: new Uint8Array([118]) })]));
    expect(fingerprintOfRecords([record()])).toBe('d3196f5b19c84061e3046362b5146214d527da40087434b7a9bc3fcc60f03b12');
    expect(fingerprintOfBatch(3, batch('bytes'))).toBe(
      'b5246aecfdc157a77fce210f8138a6067bb1329ba6817029a3a13f11c6379a23',
    );
  });

  it('differs with each part of a record', () => {
    const all = [
      record(),
      record({ key: null }),
      record({ key: bytes('') }),
      record({ value: null }),
      record({ value: bytes('') }),
      record({ value: null, upload: 'v' }),
      record({ value: null, upload: 'w' }),
      record({ partition: 0 }),
      record({ partition: 1 }),
      record({ timestamp: 0 }),
      record({ timestamp: 1 }),
      record({ headers: [] }),
      record({ headers: [{ name: 'h', value: null }] }),
      record({ headers: [{ name: 'h', value: bytes('') }] }),
      record({ headers: [{ name: 'H', value: bytes('1') }] }),
      record({ headers: [...record().headers, ...record().headers] }),
    ];
    expect(new Set(all.map((one) => fingerprintOfRecords([one]))).size).toBe(all.length);
  });

  it('differs where bytes move from one part to the next', () => {
    const pairs = [
      [record({ key: bytes('ab'), value: bytes('c') }), record({ key: bytes('a'), value: bytes('bc') })],
      [
        record({ headers: [{ name: 'ab', value: bytes('c') }] }),
        record({ headers: [{ name: 'a', value: bytes('bc') }] }),
      ],
    ] as const;
    for (const [one, other] of pairs) expect(fingerprintOfRecords([one])).not.toBe(fingerprintOfRecords([other]));
    const [a, b] = [record({ key: bytes('a') }), record({ key: bytes('b') })];
    expect(fingerprintOfRecords([a, b])).not.toBe(fingerprintOfRecords([b, a]));
    expect(fingerprintOfRecords([a])).not.toBe(fingerprintOfRecords([a, a]));
  });

  it('of a ready-made batch differs with its partition and its bytes', () => {
    const all = [
      fingerprintOfBatch(0, batch('a')),
      fingerprintOfBatch(1, batch('a')),
      fingerprintOfBatch(0, batch('b')),
    ];
    expect(new Set(all).size).toBe(3);
  });

  it('is one per list of records', () => {
    const part = fc.option(fc.uint8Array({ maxLength: 3 }), { nil: null });
    const header = fc.record({ name: fc.string({ unit: 'binary', maxLength: 2 }), value: part });
    const some = fc.array(
      fc.record(
        {
          key: part,
          value: part,
          headers: fc.array(header, { maxLength: 2 }),
          partition: fc.nat(3),
          timestamp: fc.nat(3),
        },
        { requiredKeys: ['key', 'value', 'headers'] },
      ),
      { minLength: 1, maxLength: 2 },
    );
    const asText = (records: readonly ProducedRecord[]) =>
      JSON.stringify(
        records.map(({ partition, timestamp, key, value, headers }) => [
          partition ?? null,
          timestamp ?? null,
          key && [...key],
          value && [...value],
          headers.map((one) => [one.name, one.value && [...one.value]]),
        ]),
      );
    fc.assert(
      fc.property(some, some, (one, other) => {
        expect(fingerprintOfRecords(one) === fingerprintOfRecords(other)).toBe(asText(one) === asText(other));
      }),
      { numRuns: 300 },
    );
  });
});
