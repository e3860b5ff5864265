import { describe, expect, it } from 'vitest';
import { checkHistory } from './check-history.ts';
import type { AppendCall, BoundsCall, History, PayloadRead, ReadCall, StoredBatch } from './history.ts';

const LOG = { topicId: 'T1', partition: 0 };
const EMPTY: History = { appends: [], reads: [], bounds: [], topics: [], stored: [], payloads: [] };

function append(begin: number, records: readonly string[], base: number, more: Partial<AppendCall> = {}): AppendCall {
  const answer = { duplicate: false, parts: [{ partition: 0, base, at: 7, records }] };
  return { topic: 'orders', begin, end: begin + 10, records, answer, ...more };
}
const refused = (begin: number, records: readonly string[], error: string, more: Partial<AppendCall> = {}) =>
  append(begin, records, 0, { answer: { error }, ...more });
function unanswered(begin: number, records: readonly string[], more: Partial<AppendCall> = {}): AppendCall {
  return { topic: 'orders', begin, records, ...more };
}
const stored = (base: number, records: readonly string[], more: Partial<StoredBatch> = {}): StoredBatch => ({
  ...LOG,
  base,
  records,
  ...more,
});
function read(from: number, to: number, records: readonly string[], more: Partial<ReadCall> = {}): ReadCall {
  const given = records.map((record, i) => ({ offset: from + i, record }));
  return { reader: 'r', ...LOG, from, to, begin: 100, end: 110, records: given, ...more };
}
const bounds = (begin: number, highWatermark: number, logStart = 0): BoundsCall => ({
  of: 'partitions',
  ...LOG,
  begin,
  end: begin + 1,
  logStart,
  highWatermark,
});
const once = (fingerprint = 'f', lifeMs = 1_000) => ({ once: { key: 'k', fingerprint, lifeMs } });

const kinds = (history: Partial<History>) => [
  ...new Set(checkHistory({ ...EMPTY, ...history }).map(({ kind }) => kind)),
];

describe('a right history', () => {
  it('is empty, or has everything where it was said to be', () => {
    expect(kinds({})).toEqual([]);
    expect(
      kinds({
        appends: [append(0, ['a', 'b'], 0), append(20, ['c'], 3)],
        stored: [stored(0, ['a', 'b']), stored(3, ['c'])],
        reads: [read(0, 2, ['a', 'b']), read(2, 4, [], { records: [{ offset: 3, record: 'c' }] })],
        bounds: [bounds(200, 4), bounds(300, 4)],
      }),
    ).toEqual([]);
  });

  it('may hold what nobody was told of, once for every caller who was left in doubt', () => {
    const copies = [stored(0, ['a']), stored(1, ['a'])];
    expect(kinds({ appends: [unanswered(0, ['a']), unanswered(50, ['a'])], stored: copies })).toEqual([]);
    expect(kinds({ appends: [unanswered(0, ['a']), refused(50, ['a'], 'outcome_unknown')], stored: copies })).toEqual(
      [],
    );
    expect(kinds({ appends: [unanswered(0, ['a'])], stored: [] })).toEqual([]);
  });

  it('may lack what has expired', () => {
    const gone = [stored(0, ['a'], { goneFrom: 105 })];
    expect(
      kinds({ appends: [append(0, ['a'], 0)], stored: gone, reads: [read(0, 1, [])], bounds: [bounds(200, 1, 1)] }),
    ).toEqual([]);
  });
});

describe('a lost acknowledgement', () => {
  it('is one whose record is not there, or elsewhere', () => {
    expect(kinds({ appends: [append(0, ['a'], 0)] })).toEqual(['lost acknowledgement']);
    expect(kinds({ appends: [append(0, ['a'], 0)], stored: [stored(1, ['a'])] })).toEqual(['lost acknowledgement']);
    expect(kinds({ appends: [append(0, ['a', 'b'], 0)], stored: [stored(0, ['b', 'a'])] })).toEqual([
      'lost acknowledgement',
    ]);
  });

  it('is none while the outcome is unknown', () => {
    expect(kinds({ appends: [refused(0, ['a'], 'outcome_unknown')] })).toEqual([]);
  });
});

describe('what is stored', () => {
  it('was sent by somebody', () => {
    expect(kinds({ stored: [stored(0, ['a'])] })).toEqual(['phantom']);
  });

  it('was not refused by all who sent it', () => {
    expect(kinds({ appends: [refused(0, ['a'], 'throttled')], stored: [stored(0, ['a'])] })).toContain(
      'refused yet stored',
    );
    const parts = [{ partition: 0, error: 'unavailable', records: ['a'] }];
    const part = append(0, ['a'], 0, { answer: { duplicate: false, parts } });
    expect(kinds({ appends: [part], stored: [stored(0, ['a'])] })).toContain('refused yet stored');
  });

  it('is there once when one caller sent it once', () => {
    const twice = [stored(0, ['a']), stored(1, ['a'])];
    expect(kinds({ appends: [append(0, ['a'], 0)], stored: twice })).toEqual(['duplicate']);
    expect(kinds({ appends: [append(0, ['a'], 0), refused(50, ['a'], 'throttled')], stored: twice })).toEqual([
      'duplicate',
    ]);
  });

  it('has its offsets alone', () => {
    const appends = [append(0, ['a', 'b'], 0), unanswered(0, ['c'])];
    expect(kinds({ appends, stored: [stored(0, ['a', 'b']), stored(1, ['c'])] })).toEqual(['overlap']);
  });
});

describe('the order', () => {
  const both = [stored(0, ['b']), stored(1, ['a'])];

  it('is that of acknowledgements', () => {
    expect(kinds({ appends: [append(0, ['a'], 1), append(11, ['b'], 0)], stored: both })).toEqual(['reorder']);
  });

  it('is free for appends that overlap', () => {
    expect(kinds({ appends: [append(0, ['a'], 1), append(10, ['b'], 0)], stored: both })).toEqual([]);
  });

  it('counts a repeat as its first call', () => {
    const appends = [append(0, ['b'], 0, once()), append(0, ['a'], 1), append(50, ['b'], 0, once())];
    expect(kinds({ appends, stored: both })).toEqual([]);
  });
});

describe('a reader', () => {
  const appends = [append(0, ['a', 'b'], 0), append(0, ['c'], 2)];
  const log = [stored(0, ['a', 'b']), stored(2, ['c'])];

  it('steps over nothing', () => {
    expect(kinds({ appends, stored: log, reads: [read(0, 3, ['a', 'b'])] })).toEqual(['step-over']);
    expect(kinds({ appends, stored: log, reads: [read(2, 3, [])] })).toEqual(['step-over']);
    expect(kinds({ appends, stored: log, reads: [read(0, 2, ['a', 'b']), read(2, 3, ['c'])] })).toEqual([]);
  });

  it('meets nothing that comes later below its position', () => {
    const late = [stored(0, ['a', 'b'], { storedAt: 500 }), stored(2, ['c'])];
    expect(
      kinds({ appends, stored: late, reads: [read(0, 3, [], { records: [{ offset: 2, record: 'c' }] })] }),
    ).toEqual(['step-over']);
  });

  it('gets whole batches', () => {
    const half = read(0, 2, [], { records: [{ offset: 1, record: 'b' }] });
    expect(kinds({ appends, stored: log, reads: [half] })).toEqual(['torn batch']);
    expect(kinds({ appends, stored: log, reads: [read(1, 2, ['b'])] })).toEqual([]);
  });

  it('gets what is stored there', () => {
    expect(kinds({ appends, stored: log, reads: [read(0, 2, ['a', 'x'])] })).toEqual(['changed']);
    expect(kinds({ appends, stored: log, reads: [read(0, 4, ['a', 'b', 'c', 'x'])] })).toEqual(['phantom']);
  });
});

describe('bounds', () => {
  const appends = [append(0, ['a'], 0)];

  it('have a watermark that never goes back', () => {
    expect(kinds({ bounds: [bounds(0, 5), bounds(10, 4)] })).toEqual(['watermark went back']);
    expect(kinds({ bounds: [bounds(0, 5), bounds(1, 4)] })).toEqual([]);
    expect(kinds({ bounds: [bounds(0, 5), { ...bounds(10, 4), of: 'latest' }] })).toEqual([]);
  });

  it('have a watermark below which nothing comes any more (C13)', () => {
    expect(kinds({ appends, stored: [stored(0, ['a'], { storedAt: 50 })], bounds: [bounds(0, 1)] })).toEqual([
      'stored below the watermark',
    ]);
    expect(
      kinds({ appends, stored: [stored(0, ['a'], { storedAt: 50 })], bounds: [bounds(50, 1), bounds(0, 0)] }),
    ).toEqual([]);
  });

  it('have a log start above nothing that is left', () => {
    expect(kinds({ appends, stored: [stored(0, ['a'])], bounds: [bounds(50, 1, 1)] })).toEqual([
      'log start above a record',
    ]);
    expect(kinds({ appends, stored: [stored(0, ['a'])], bounds: [bounds(50, 1, 0)] })).toEqual([]);
  });
});

describe('a deleted topic', () => {
  const topics = [
    { topic: 'orders', begin: 0, end: 1, made: 'T1' },
    { topic: 'orders', begin: 100, end: 110, deleted: true },
  ];

  it('takes nothing that begins after DELETE has answered (A6)', () => {
    expect(kinds({ topics, appends: [append(111, ['a'], 0)], stored: [stored(0, ['a'])] })).toEqual([
      'stored after delete',
    ]);
    expect(kinds({ topics, appends: [append(105, ['a'], 0)], stored: [stored(0, ['a'])] })).toEqual([]);
    const next = [stored(0, ['a'], { topicId: 'T2' })];
    expect(kinds({ topics, appends: [append(111, ['a'], 0)], stored: next })).toEqual([]);
  });
});

describe('a key', () => {
  const twice = [stored(0, ['a']), stored(1, ['a'])];

  it('stores once, however many send it and whatever they are told', () => {
    const appends = [
      append(0, ['a'], 0, once()),
      unanswered(20, ['a'], once()),
      refused(30, ['a'], 'outcome_unknown', once()),
    ];
    expect(kinds({ appends: appends.map((call) => ({ ...call, end: call.end ?? 500 })), stored: twice })).toEqual([
      'duplicate',
    ]);
    expect(kinds({ appends, stored: [stored(0, ['a'])] })).toEqual([]);
  });

  it('may store again in the next incarnation, and when it is forgotten', () => {
    const appends = [append(0, ['a'], 0, once()), append(20, ['a'], 1, once())];
    const other = [stored(0, ['a']), stored(1, ['a'], { topicId: 'T2' })];
    expect(kinds({ appends, stored: other })).toEqual([]);
    const later = [append(0, ['a'], 0, once()), append(2_000, ['a'], 1, once())];
    expect(kinds({ appends: later, stored: twice })).toEqual([]);
  });

  it('gives everybody the same answer', () => {
    const appends = [append(0, ['a'], 0, once()), append(0, ['a'], 1, once())];
    expect(kinds({ appends, stored: twice })).toContain('answers differ');
    const at = { duplicate: true, parts: [{ partition: 0, base: 0, at: 8, records: ['a'] }] };
    const times = [append(0, ['a'], 0, once()), append(20, ['a'], 0, { ...once(), answer: at })];
    expect(kinds({ appends: times, stored: [stored(0, ['a'])] })).toEqual(['answers differ']);
  });

  it('is refused only for another request', () => {
    const wrong = [append(0, ['a'], 0, once()), refused(20, ['a'], 'idempotency_key_reused', once())];
    expect(kinds({ appends: wrong, stored: [stored(0, ['a'])] })).toEqual(['key refused without reason']);
    const right = [append(0, ['a'], 0, once('f')), refused(20, ['b'], 'idempotency_key_reused', once('g'))];
    expect(kinds({ appends: right, stored: [stored(0, ['a'])] })).toEqual([]);
  });

  it('never stands for two requests', () => {
    const appends = [append(0, ['a'], 0, once('f')), append(20, ['b'], 1, once('g'))];
    expect(kinds({ appends, stored: [stored(0, ['a']), stored(1, ['b'])] })).toEqual(['key reuse not noticed']);
  });
});

describe('an upload', () => {
  const named = append(0, ['a', 'b'], 0, { uploads: new Map([['b', 'U']]) });
  const batch = stored(0, ['a', 'b'], { uploads: new Map([[1, 'U']]) });
  const fetched = (got?: string): PayloadRead => {
    const read = { reader: 'r', ...LOG, offset: 1, at: 50, uploadId: 'U', expected: 'bytes' };
    return { ...read, ...(got !== undefined && { got }) };
  };

  it('is the value of the record that named it', () => {
    expect(kinds({ appends: [named], stored: [batch] })).toEqual([]);
    expect(kinds({ appends: [named], stored: [stored(0, ['a', 'b'])] })).toEqual(['changed']);
    expect(kinds({ appends: [named], stored: [{ ...batch, uploads: new Map([[1, 'V']]) }] })).toEqual(['changed']);
    expect(kinds({ appends: [append(0, ['a', 'b'], 0)], stored: [batch] })).toEqual(['changed']);
  });

  it('is that of one record alone', () => {
    const other = append(20, ['c'], 2, { uploads: new Map([['c', 'U']]) });
    const both = [batch, stored(2, ['c'], { uploads: new Map([[0, 'U']]) })];
    expect(kinds({ appends: [named, other], stored: both })).toEqual(['upload used twice']);
  });

  it('reads as exactly its bytes', () => {
    expect(kinds({ payloads: [fetched('bytes')] })).toEqual([]);
    expect(kinds({ payloads: [fetched('other')] })).toEqual(['changed']);
    expect(kinds({ payloads: [fetched()] })).toEqual(['lost payload']);
  });
});

describe('an error', () => {
  it('is one that an append may meet', () => {
    expect(kinds({ appends: [refused(0, ['a'], 'internal: TypeError: x')] })).toEqual(['unexpected error']);
    expect(kinds({ appends: [refused(0, ['a'], 'throttled')] })).toEqual([]);
  });
});
