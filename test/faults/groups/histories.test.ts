import { describe, expect, it } from 'vitest';
import { EmbeddedModel } from '../simulator/embedded-model.ts';
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

describe('a seed of a group', () => {
  it('stands for one run, on the model and on the embedded engine, which is under the contract suites', async () => {
    const embedded = await EmbeddedModel.open();
    for (const seed of [4, 6, 9, 10]) {
      const { trace, history } = await runGroupSeed(seed, { traced: true });
      const there = await runGroupSeed(seed, { traced: true, dynamodb: embedded });
      expect(trace.length).toBeGreaterThan(500);
      expect(there.trace).toEqual(trace);
      expect(there.history).toEqual(history);
    }
  });
});
