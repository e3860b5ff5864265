import { describe, expect, it } from 'vitest';
import { runPushSeed } from './run-push.ts';
import { PUSH_SABOTAGES } from './sabotage.ts';

/** How many seeds it takes until the checker notices, and what it says then. */
async function seedsToNotice(name: string): Promise<{ seeds: number; what: string }> {
  const { seedsMax, environment, break: sabotage } = PUSH_SABOTAGES[name]!;
  for (let seed = 1; seed <= seedsMax; seed++) {
    const { violations } = await runPushSeed(seed, { sabotage, environment });
    const [first] = violations;
    if (first !== undefined) return { seeds: seed, what: `${first.kind}: ${first.what}` };
  }
  return { seeds: Number.POSITIVE_INFINITY, what: 'nothing was noticed' };
}

describe('the checker of deliveries notices', () => {
  it.each(Object.keys(PUSH_SABOTAGES))('%s', { timeout: 300_000 }, async (name) => {
    const { seeds, what } = await seedsToNotice(name);
    console.info(`${name}: ${seeds} seeds, ${what}`);
    expect(seeds, what).toBeLessThanOrEqual(PUSH_SABOTAGES[name]!.seedsMax);
  });
});
