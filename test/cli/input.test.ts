import { describe, expect, it } from 'vitest';
import { csvRecords } from '../../cli/input-csv.ts';
import { type InputEntry, jsonRecords, textRecords } from '../../cli/input-lines.ts';
import { RECORD_BYTES_MAX } from '../../shared/domain/limits.ts';

/** The text in pieces of `pieceBytes`, as a stream would bring it. */
async function* inPieces(text: string | Uint8Array, pieceBytes: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

async function entriesOf(groups: AsyncIterable<InputEntry[]>): Promise<unknown[]> {
  const entries: unknown[] = [];
  for await (const group of groups) {
    for (const entry of group) {
      if ('fault' in entry) entries.push(entry);
      else {
        const { line, key, value } = entry;
        entries.push([line, key && Buffer.from(key).toString(), value && Buffer.from(value).toString()]);
      }
    }
  }
  return entries;
}

const PIECES = [1, 2, 7, 65_536];

describe('lines', () => {
  it.each(PIECES)('are values as they are, in pieces of %d bytes', async (size) => {
    const text = '\ufefffirst\r\n\nthïrd "\u{1f980}\nnull\nlast';
    expect(await entriesOf(textRecords(inPieces(text, size)))).toEqual([
      [1, null, 'first'],
      [2, null, ''],
      [3, null, 'thïrd "\u{1f980}'],
      [4, null, 'null'],
      [5, null, 'last'],
    ]);
  });

  it('need not be text', async () => {
    const groups = textRecords(inPieces(new Uint8Array([0xff, 0, 0x0a]), 99));
    const { value: group } = await groups.next();
    expect(group).toEqual([{ line: 1, key: null, value: Buffer.from([0xff, 0]) }]);
  });

  it('may be none', async () => {
    expect(await entriesOf(textRecords(inPieces('', 1)))).toEqual([]);
  });

  it('of the largest size are taken, longer ones told and passed over without being held', async () => {
    const largest = 'x'.repeat(RECORD_BYTES_MAX);
    const entries = await entriesOf(textRecords(inPieces(`${largest}\r\n${largest}y\nz`, 65_536)));
    expect(entries).toEqual([
      [1, null, largest],
      { line: 2, fault: `it is longer than ${RECORD_BYTES_MAX} bytes, the most that a record may have` },
      [3, null, 'z'],
    ]);
  });
});

describe('NDJSON', () => {
  it.each(PIECES)('keeps the text of each value, takes keys from it, in pieces of %d bytes', async (size) => {
    const text = '\ufeff{"id": 12345678901234567890 }\r\n\n  {"id":"ä"}\t\nnull\n{"id":null}\n{}';
    expect(await entriesOf(jsonRecords(inPieces(text, size), ['id']))).toEqual([
      [1, '12345678901234567890', '{"id": 12345678901234567890 }'],
      [3, 'ä', '{"id":"ä"}'],
      [4, null, null],
      [5, null, '{"id":null}'],
      [6, null, '{}'],
    ]);
  });

  it.each([
    ['{"a":1', 'the value is not JSON'],
    ['hello', 'the value is not JSON'],
    ['{"id":{}}', 'the key is an object or an array'],
    ['"\\ud800"', 'the value has half of a surrogate pair, which no UTF-8 stands for'],
  ])('that says %s is told with its line', async (text, fault) => {
    expect(await entriesOf(jsonRecords(inPieces(`1\n${text}\n2\n`, 99), ['id']))).toEqual([
      [1, null, '1'],
      { line: 2, fault },
      [3, null, '2'],
    ]);
  });

  it('that is no UTF-8 is told', async () => {
    const bytes = Buffer.from([0x22, 0xff, 0x22, 0x0a]);
    expect(await entriesOf(jsonRecords(inPieces(bytes, 99), undefined))).toEqual([
      { line: 1, fault: 'it is not UTF-8' },
    ]);
  });
});

describe('CSV', () => {
  const read = (text: string, size = 65_536) => entriesOf(csvRecords(inPieces(text, size), ['id']));

  it.each(PIECES)('makes an object of strings of each row, in pieces of %d bytes', async (size) => {
    const text = '\ufeffid,note\r\nä1,"two\nlines, and ""quotes"""\r\n\r\n2,';
    expect(await read(text, size)).toEqual([
      [3, 'ä1', '{"id":"ä1","note":"two\\nlines, and \\"quotes\\""}'],
      [5, '2', '{"id":"2","note":""}'],
    ]);
  });

  it('tells a row that is none, and goes on behind it', async () => {
    expect(await read('id,note\n1,a\n2,b,c\n3,d\n')).toEqual([
      [2, '1', '{"id":"1","note":"a"}'],
      { line: 3, fault: expect.stringContaining('Invalid Record Length') },
      [4, '3', '{"id":"3","note":"d"}'],
    ]);
  });

  it.each([
    ['within quotes', '2,"b', 'Quote Not Closed'],
    ['behind quotes', '2,"b"c', 'Invalid Closing Quote'],
    ['before quotes', '2,b"c"', 'Invalid Opening Quote'],
    ['at too long a row', `2,${'x'.repeat(2 * RECORD_BYTES_MAX)}`, 'Max Record Size'],
  ])('ends %s, where nobody knows where the next row begins', async (_, row, fault) => {
    expect(await read(`id,note\n1,a\n${row}\n3,c\n`)).toEqual([
      [2, '1', '{"id":"1","note":"a"}'],
      { line: expect.any(Number), fault: expect.stringContaining(fault), final: true },
    ]);
  });

  it('needs a header of different names', async () => {
    for (const header of ['id,id', 'id,']) {
      expect(await read(`${header}\n1,2\n`)).toEqual([
        {
          line: 1,
          final: true,
          fault: expect.stringMatching(/^the header cannot be used: (it names 'id' twice|a name is empty)$/),
        },
      ]);
    }
    expect(await read('')).toEqual([]);
  });
});
