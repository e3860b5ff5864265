import { expect, it } from 'vitest';
import { measureParking } from '../../bench/parking.ts';

it('parked keys cost what the design says: to park, to retry, to recover, and nothing where there is none', async () => {
  const { laws } = await measureParking(() => {}, { waiting: 100, seconds: 0.5, pairs: 1, hangMs: 20 });
  expect(laws.flatMap(({ law, broken }) => broken.map((where) => `${law}: ${where}`))).toEqual([]);
  expect(laws).toHaveLength(5);
}, 60_000);
