import { describe, expect, it } from 'vitest';
import { type OutboxRow, recordOf } from '../../../client/relay/outbox-row.ts';
import { toldOf } from '../../../client/relay/refusals.ts';

const ROW: OutboxRow = { id: '1', topic: 'orders', key: 'k', value: '{"n":1}', headers: null, createdMs: '1000' };
const text = (bytes: Uint8Array | null) => bytes && Buffer.from(bytes).toString();

describe('a row', () => {
  it('is a record with its key, the text of its value, its headers and its time', async () => {
    const record = await recordOf({ ...ROW, headers: '{"a":"1","b":["2","3"]}' }, 'jsonb');
    expect([text(record.key), text(record.value), record.timestamp]).toEqual(['k', '{"n":1}', 1_000]);
    expect(record.headers.map(({ name, value }) => [name, text(value)])).toEqual([
      ['a', '1'],
      ['b', '2'],
      ['b', '3'],
    ]);
  });

  it('is a tombstone where the value is NULL, has no key where that is, and bytes as they are', async () => {
    const tombstone = await recordOf({ ...ROW, key: null, value: null, headers: 'null' }, 'jsonb');
    expect(tombstone).toMatchObject({ key: null, value: null, headers: [] });
    const bytes = Buffer.from([0, 255]);
    expect((await recordOf({ ...ROW, value: bytes }, 'bytea')).value).toEqual(bytes);
    expect(text((await recordOf({ ...ROW, value: 'null' }, 'text')).value)).toBe('null');
  });

  it.each([
    ['a value that is the JSON null', { value: ' null' }, /^invalid_record: Its value is the JSON null/],
    ['half of a surrogate pair', { value: '"\\ud800"' }, /^invalid_record: .*surrogate/],
    ['a header that is a number', { headers: '{"a":1}' }, /^invalid_record: A header "a" must be a string/],
    ['headers that are a text', { headers: '"a"' }, /^invalid_record: headers must be/],
    ['an infinite time', { createdMs: null }, /^invalid_record: Its created_at is infinite/],
    ['a time before 1970', { createdMs: '-1' }, /^invalid_record: its timestamp/],
    ['more than 4 MB', { value: 'x'.repeat(4 * 1024 * 1024) }, /^record_too_large: .*4194305 bytes/],
  ])('cannot be sent with %s, and the reason is told', async (_, odd, reason) => {
    const error = await recordOf({ ...ROW, ...odd }, 'json').catch((thrown) => thrown);
    expect(toldOf(error)).toMatch(reason);
  });
});
