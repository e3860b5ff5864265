import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LANE_KEY_BYTES_MAX } from '../../shared/domain/park-limits.ts';
import { parkedListAnswer } from '../../shared/wire/parked-keys.ts';
import { openParkingBench, type ParkingBench } from '../support/parking-bench.ts';

let bench: ParkingBench;
beforeEach(async () => {
  bench = await openParkingBench();
});
afterEach(() => bench.close());

const KEYS: readonly (readonly [what: string, key: Buffer])[] = [
  ['empty', Buffer.alloc(0)],
  ['a NUL', Buffer.from([0])],
  ['decomposed', Buffer.from('65cc81', 'hex')],
  ['with a byte order mark', Buffer.from('efbbbf6b', 'hex')],
  ['with half of a surrogate pair', Buffer.from('eda080', 'hex')],
  ['no text', Buffer.from('ff00fe80', 'hex')],
  ['cut within a character where it is shown', Buffer.from(`${'x'.repeat(LANE_KEY_BYTES_MAX - 1)}€uro`)],
  ['long, and no text', Buffer.alloc(300, 0xff)],
  ['very long', Buffer.alloc(10_000, 0x41)],
  ['with control characters', Buffer.from('\u001b[31mred\r\n')],
];

describe('a key', () => {
  it('is parked, shown and taken back byte for byte, whatever it consists of', async () => {
    await bench.park();
    for (const [what] of KEYS) bench.bad.add(`${what}: 0`);
    const ofAll = (n: number) => KEYS.map(([what, key]) => [key, `${what}: ${n}`] as const);
    await bench.appendSlot([...ofAll(0), [null, 'without'], ...ofAll(1), ['é', 'other']]);
    await bench.wake({ last: 2 * KEYS.length + 1 });
    await bench.drain(1_000);
    expect(bench.given).toEqual(['without', 'other']);
    const items = (await bench.list()).toSorted((a, b) => a.offset - b.offset);
    const { parked } = JSON.parse(String(parkedListAnswer({ items }).body));
    expect(parked).toHaveLength(KEYS.length);
    for (const [i, [what, key]] of KEYS.entries()) {
      expect(items[i], what).toMatchObject({ offset: i, waiting: 2, keyBytes: key.length });
      const shown = Buffer.from(parked[i].key, parked[i].keyEncoding ?? 'utf8');
      expect(key.subarray(0, shown.length), what).toEqual(shown);
      // No more is left out than what cannot be shown of a character.
      expect(shown.length, what).toBeGreaterThanOrEqual(Math.min(key.length, LANE_KEY_BYTES_MAX - 3));
    }
    bench.bad.clear();
    bench.given.length = 0;
    await bench.drain(30_000);
    expect(bench.given).toHaveLength(2 * KEYS.length);
    for (const [what] of KEYS)
      expect(bench.given.filter((value) => value.startsWith(what))).toEqual([`${what}: 0`, `${what}: 1`]);
    await bench.expectNoneParked();
  });

  it('that only looks the same as a parked one goes on', async () => {
    await bench.park();
    bench.bad.add('0');
    await bench.appendSlot([
      ['\u00e9', '0'],
      ['e\u0301', '1'],
    ]);
    await bench.wake({ last: 1 });
    await bench.drain(1_000);
    expect(bench.given).toEqual(['1']);
    expect(await bench.list()).toMatchObject([{ offset: 0, waiting: 1 }]);
  });
});

it('records of a parked key without a value come as what they are', async () => {
  await bench.park();
  bench.bad.add('@0');
  await bench.appendSlot([
    ['K', null],
    ['K', ''],
    ['a', null],
    ['K', null],
  ]);
  await bench.wake({ last: 3 });
  await bench.drain(1_000);
  const got: unknown[] = [];
  bench.scripts.set('s', ({ records }) => {
    got.push(...records.map(({ offset, value }) => [offset, value === null ? null : value.length]));
    return { kind: 'done' };
  });
  await bench.drain(30_000);
  expect(got).toEqual([
    [0, null],
    [1, 0],
    [3, null],
  ]);
  await bench.expectNoneParked();
});

it('a key that lies in the middle of compressed slots, and of spilled ones, is given from there', async () => {
  await bench.park({ batch: { maxRecords: 7, maxBytes: 200_000 } });
  const pad = 'z'.repeat(3_000);
  bench.bad.add(`5${pad}`);
  await bench.appendSlot(Array.from({ length: 20 }, (_, i) => [i % 3 === 2 ? 'K' : `a${i}`, `${i}${pad}`] as const));
  await bench.appendSlot(
    Array.from({ length: 9 }, (_, i) => [i % 2 ? 'K' : 'b', `s${i}${randomBytes(9_000).toString('hex')}`] as const),
  );
  await bench.wake({ last: 28 });
  await bench.drain(1_000);
  expect(await bench.objects()).toHaveLength(1);
  expect(await bench.list()).toMatchObject([{ offset: 5, waiting: 5 + 4 }]);
  bench.bad.clear();
  bench.given.length = 0;
  await bench.drain(30_000);
  const named = bench.given.map((value) => value.slice(0, 2).replace('z', ''));
  expect(named).toEqual(['5', '8', '11', '14', '17', 's1', 's3', 's5', 's7']);
  await bench.expectNoneParked();
});
