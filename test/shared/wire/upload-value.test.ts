import { describe, expect, it } from 'vitest';
import type { BatchSlot } from '../../../shared/domain/slot.ts';
import { openFetchAnswer } from '../../../shared/wire/fetch-answer.ts';
import { PayloadCorrupt } from '../../../shared/wire/payload-corrupt.ts';
import { encodeRecordBatch } from '../../../shared/wire/record-batch.ts';
import { encodeUploadValue, uploadLink } from '../../../shared/wire/upload-value.ts';

const PAYLOAD = { size: 5, sha256: 'ab'.repeat(32) };
const ID = '01J00000000000000000000000';
const FINDINGS = { topicId: '', nextOffset: 0, logStartOffset: 0, highWatermark: 0 };
const ALL = {
  topic: 'orders',
  partition: 0,
  as: 'application/json' as const,
  maxRecords: 500,
  maxBytes: 1_000_000,
  values: 'json' as const,
};

describe('the stored value of an upload', () => {
  it('is shown as where its payload is to be had, its size and its hash', () => {
    const link = uploadLink(encodeUploadValue(ID, PAYLOAD), 'https://host/"x"');
    expect(JSON.parse(Buffer.from(link).toString())).toEqual({ url: 'https://host/"x"', ...PAYLOAD });
  });

  it.each(['', '7', 'null', '{}', '{"size":"5","sha256":"x"}', '{"size":5}'])('that is none is damage: %s', (text) => {
    expect(() => uploadLink(Buffer.from(text), 'https://host')).toThrow(PayloadCorrupt);
  });
});

/** A slot from offset 10 on, of as many records as there are values, of which those at `places` are uploads. */
function slotOf(values: readonly (Uint8Array | null)[], places: readonly number[]): BatchSlot {
  const records = values.map((value) => ({ key: null, value, headers: [] }));
  return {
    kind: 'batch',
    last: 9 + values.length,
    count: values.length,
    at: 0,
    previous: [],
    expiresAt: 0,
    append: '',
    json: true,
    batch: encodeRecordBatch(records, 0),
    uploads: new Map(places.map((place) => [place, { topicId: 'T', uploadId: ID }])),
  };
}
const uploads = (count: number) => Array.from({ length: count }, () => encodeUploadValue(ID, PAYLOAD));
const places = (count: number) => Array.from({ length: count }, (_, place) => place);

describe('an answer', () => {
  it('asks for links of the records that it may take, and of at least one', () => {
    const slot = slotOf(uploads(100), places(100));
    const asked = (from: number, options: object = {}) =>
      openFetchAnswer({ ...ALL, ...options })
        .uploadsToLink(slot, from)
        .map(([place]) => place);
    expect(asked(10)).toEqual(places(100));
    expect(asked(108)).toEqual([98, 99]);
    expect(asked(15, { maxRecords: 2 })).toEqual([5, 6]);
    expect(asked(15, { maxBytes: 1 })).toEqual([5]);
    expect(asked(10, { maxBytes: 3_200 }).length).toBeLessThanOrEqual(10);
    expect(asked(10, { as: 'application/vnd.kafka.recordbatch' as const })).toEqual([]);
  });

  it('ends before an upload that it has no link for', () => {
    const answer = openFetchAnswer(ALL);
    const slot = slotOf([Buffer.from('1'), ...uploads(2)], [1, 2]);
    expect(answer.take(slot, 10, new Map([[1, 'https://host']]))).toBe(12);
    const { records } = JSON.parse(String(answer.finish(FINDINGS).body));
    expect(records.map(({ valueEncoding }: { valueEncoding?: string }) => valueEncoding)).toEqual([undefined, 'url']);
  });

  it.each([
    ['no upload', [Buffer.from('{"uploadId":"x"}')]],
    ['null', [null]],
  ])('shows damage where the slot says upload and the batch holds %s', (_, values) => {
    const answer = openFetchAnswer(ALL);
    expect(answer.take(slotOf(values, [0]), 10, new Map([[0, 'https://host']]))).toBe(11);
    const { records } = JSON.parse(String(answer.finish(FINDINGS).body));
    expect(records).toEqual([{ offset: 10, error: { code: 'payload_corrupt' } }]);
  });

  it('shows damage where the batch has no record at the place that the slot says', () => {
    const answer = openFetchAnswer(ALL);
    expect(answer.take(slotOf(uploads(1), [7]), 10, new Map([[7, 'https://host']]))).toBe(11);
    const { records } = JSON.parse(String(answer.finish(FINDINGS).body));
    expect(records).toEqual([{ offset: 10, error: { code: 'payload_corrupt' } }]);
  });
});
