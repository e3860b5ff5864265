import { describe, expect, it } from 'vitest';
import { ENVIRONMENTS } from './environments.ts';
import { runSeed } from './run.ts';
import { SABOTAGES } from './sabotage.ts';

/** How many seeds it takes until the checker notices, and what it says then. */
async function seedsToNotice(name: string): Promise<{ seeds: number; what: string }> {
  const { seedsMax, environments, break: sabotage } = SABOTAGES[name]!;
  const chosen = ENVIRONMENTS.filter((environment) => environments.includes(environment.name));
  for (let seed = 1; seed <= seedsMax; seed++) {
    const { violations } = await runSeed(seed, { sabotage, environment: chosen[seed % chosen.length]! });
    const [first] = violations;
    if (first !== undefined) return { seeds: seed, what: `${first.kind}: ${first.what}` };
  }
  return { seeds: Number.POSITIVE_INFINITY, what: 'nothing was noticed' };
}

describe('the checker notices', () => {
  it.each(Object.keys(SABOTAGES))('%s', { timeout: 300_000 }, async (name) => {
    const { seeds, what } = await seedsToNotice(name);
    console.info(`${name}: ${seeds} seeds, ${what}`);
    expect(seeds, what).toBeLessThanOrEqual(SABOTAGES[name]!.seedsMax);
  });
});
