import { describe, expect, it } from 'vitest';
import { GROUP_ENVIRONMENTS } from './environments.ts';
import { runGroupSeed } from './run-group.ts';

/** A few of every environment; `npm run test:faults` runs hundreds. */
const SEEDS_OF_EACH = 2;

describe('histories of groups keep what the backbone promises', () => {
  it.each(GROUP_ENVIRONMENTS.map((environment) => [environment.name, environment] as const))(
    '%s',
    async (_, environment) => {
      for (let seed = 1; seed <= SEEDS_OF_EACH; seed++) {
        const { violations, history } = await runGroupSeed(seed, { environment });
        expect(violations, `seed ${seed}`).toEqual([]);
        expect(history.handled.length, `seed ${seed}`).toBeGreaterThan(0);
      }
    },
  );
});
