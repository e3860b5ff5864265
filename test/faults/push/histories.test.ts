import { describe, expect, it } from 'vitest';
import { EmbeddedModel } from '../simulator/embedded-model.ts';
import { PUSH_ENVIRONMENTS } from './environments.ts';
import { runPushSeed } from './run-push.ts';

/** One of every environment; `npm run test:faults` runs hundreds. */
describe('histories of subscriptions keep what the backbone promises', () => {
  it.each(PUSH_ENVIRONMENTS.map((environment) => [environment.name, environment] as const))(
    '%s',
    async (_, environment) => {
      const { violations, history } = await runPushSeed(1, { environment });
      expect(violations).toEqual([]);
      expect(history.calls.length).toBeGreaterThan(0);
    },
  );
});

describe('a seed of subscriptions', () => {
  it('stands for one run, on the model and on the embedded engine, which is under the contract suites', async () => {
    const embedded = await EmbeddedModel.open();
    for (const seed of [6, 12]) {
      const { trace, history } = await runPushSeed(seed, { traced: true });
      const there = await runPushSeed(seed, { traced: true, dynamodb: embedded });
      expect(trace.length).toBeGreaterThan(500);
      expect(there.trace).toEqual(trace);
      expect(there.history.positions).toEqual(history.positions);
    }
  });
});
