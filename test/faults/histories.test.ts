import { expect, it } from 'vitest';
import { ENVIRONMENTS } from './environments.ts';
import { runSeeds } from './seeds.ts';

/** A few of every environment, and of groups; `npm run test:faults` runs thousands. */
const SEEDS = 4 * ENVIRONMENTS.length;

it(`histories of seeds 1 to ${SEEDS} keep what the backbone promises`, async () => {
  const { histories, failures, situations } = await runSeeds(1, SEEDS);
  expect(failures).toEqual([]);
  expect(histories).toBe(SEEDS);
  expect(situations.length).toBeGreaterThan(30);
});
