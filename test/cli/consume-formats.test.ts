import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { type Format, formatOf } from '../../cli/consume-formats.ts';
import type { ConsumedRecord } from '../../cli/record-text.ts';

const RECORD: ConsumedRecord = {
  topic: 'orders',
  partition: 3,
  offset: 41,
  timestamp: 1_767_225_600_012,
  key: Buffer.from('c-1'),
  value: Buffer.from('{"id":12345678901234567890,\n "at":{"a/b":[1,"two"]}}'),
  headers: [
    ['trace', 'abc'],
    ['raw', new Uint8Array([0xff])],
    ['none', null],
  ],
};

function written(record: Partial<ConsumedRecord>, format: Format, template?: string, columns?: number): string {
  const output = Object.assign(new Writable(), columns === undefined ? {} : { columns });
  const { head, line } = formatOf(format, template, output);
  return head + Buffer.from(line({ ...RECORD, ...record })).toString();
}

describe('a record as JSON', () => {
  it('is one line in which the value keeps its text', () => {
    const line = written({}, 'json');
    expect(line).toBe(
      '{"topic":"orders","partition":3,"offset":41,"timestamp":1767225600012,"key":"c-1",' +
        '"value":{"id":12345678901234567890,  "at":{"a/b":[1,"two"]}},' +
        '"headers":[["trace","abc"],["raw",{"base64":"/w=="}],["none",null]]}\n',
    );
    expect(() => JSON.parse(line)).not.toThrow();
  });

  it.each([
    ['a tombstone', { value: null }, { value: null }],
    ['text', { value: Buffer.from('hello "you"') }, { value: 'hello "you"', valueEncoding: 'utf8' }],
    ['bytes', { value: Buffer.from([0xff, 0]) }, { value: '/wA=', valueEncoding: 'base64' }],
    ['no key', { key: null }, { key: null }],
    ['a key of bytes', { key: Buffer.from([0xff]) }, { key: '/w==', keyEncoding: 'base64' }],
    ['no headers', { headers: [] }, { headers: [] }],
    [
      'an upload',
      { value: null, upload: { url: 'http://x/', size: 7, sha256: 'ab' } },
      { value: { url: 'http://x/', size: 7, sha256: 'ab' }, valueEncoding: 'url' },
    ],
    ['damage', { value: null, unreadable: 'payload_missing' }, { value: null, error: { code: 'payload_missing' } }],
  ] as const)('tells of %s', (_, record, expected) => {
    expect(JSON.parse(written(record, 'json'))).toMatchObject(expected);
  });
});

describe('a record as its value', () => {
  it('is its bytes and a line break', () => {
    expect(written({ value: Buffer.from('a\tb') }, 'value')).toBe('a\tb\n');
    expect(written({ value: null }, 'value')).toBe('\n');
  });
});

describe('a record as a row', () => {
  it('stands under titles, on one line that a terminal does not obey', () => {
    expect(written({ value: Buffer.from('a\u001b[2J\nb') }, 'table')).toBe(
      'PARTITION                     OFFSET  TIME                      KEY               VALUE\n' +
        'orders-3                          41  2026-01-01T00:00:00.012Z  c-1               a\ufffd[2J\ufffdb\n',
    );
  });

  it('is cut at the end of the screen', () => {
    const lines = written({ value: Buffer.from('x'.repeat(500)) }, 'table', undefined, 100).split('\n');
    expect(lines[1]).toHaveLength(100);
  });

  it('tells what has no value', () => {
    expect(written({ value: null }, 'table')).toContain('(tombstone)');
    expect(written({ value: null, unreadable: 'payload_corrupt' }, 'table')).toContain('(payload_corrupt)');
    const upload = { url: 'http://x/', size: 7, sha256: 'ab' };
    expect(written({ value: null, upload }, 'table')).toContain('(upload of 7 bytes)');
  });
});

describe('a template', () => {
  it.each([
    ['{topic}-{partition}:{offset} {key}\\n', 'orders-3:41 c-1\n'],
    ['{time}|{timestamp}', '2026-01-01T00:00:00.012Z|1767225600012'],
    ['{value/at/a~1b/1}\\t{value/at/a~1b}', 'two\t[1,"two"]'],
    ['[{value/no}][{value/at/toString}][{value/at/a~1b/length}]', '[][][]'],
    ['{value/id}', '12345678901234567890'],
    ['{header.trace} {header.raw} {header.none} {header.no}', 'abc /w==  '],
    ['{headers}', 'trace=abc,raw=/w==,none='],
    ['\\{key} \\\\ \\q', '{key} \\ \\q'],
    ['', ''],
  ])('%s becomes %s', (template, expected) => {
    expect(written({}, 'template', template)).toBe(expected);
  });

  it.each(['{keys}', '{value.id}', '{}', '{value/~2}'])(
    'that asks for what there is not is refused: %s',
    (template) => {
      expect(() => written({}, 'template', template)).toThrow(
        expect.objectContaining({
          name: 'CommandFailure',
          exitCode: 2,
          message: expect.stringContaining('--template'),
        }),
      );
    },
  );
});
