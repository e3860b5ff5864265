import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ACTS, type Act, type Usage } from '../../bench/acts.ts';
import { atRest, partsOf } from '../../bench/cost-model.ts';
import { costPage } from '../../bench/cost-page.ts';
import { afterFree, dollarsOf, PRICES, type Price, totalOf } from '../../bench/prices.ts';
import { countUsage } from '../../bench/usage.ts';

const counted = JSON.parse(readFileSync('bench/counted.json', 'utf8')) as Record<Act, Usage>;
/** Of which compression decides: another version of Node.js may need a unit more or less. */
const COMPRESSED: readonly string[] = [
  'appendHundred',
  'appendHundredSubscribed',
  'fetchHundred',
  'deliverHundred',
] satisfies Act[];

describe('docs/cost.md', () => {
  it('is what follows from the counts and the prices: after a change of either, `npm run cost`', () => {
    expect(readFileSync('docs/cost.md', 'utf8')).toBe(`${costPage(counted)}\n`);
  });

  it('rests on what the engine counts', async () => {
    const now = await countUsage();
    expect(Object.keys(now).sort()).toEqual(Object.keys(ACTS).sort());
    for (const [act, usage] of Object.entries(now)) {
      const { readUnits, writeUnits, messages } = counted[act as Act];
      const slack = COMPRESSED.includes(act) ? 1 : 0;
      expect(Math.abs(usage.readUnits - readUnits), act).toBeLessThanOrEqual(slack);
      expect(Math.abs(usage.writeUnits - writeUnits), act).toBeLessThanOrEqual(slack);
      expect(usage.messages, act).toBe(messages);
    }
  }, 60_000);

  it('promises a price at rest that holds: 40 cents a month at list, 10 with what is free', () => {
    const parts = atRest(counted);
    expect(totalOf(parts)).toBeLessThanOrEqual(0.4);
    expect(totalOf(afterFree(parts))).toBeLessThanOrEqual(0.1);
    expect(parts.length).toBeGreaterThan(5);
  });
});

describe('a price', () => {
  it('is for so much of a unit', () => {
    expect(dollarsOf({ price: 'writeUnit', count: 2_000_000 })).toBe(1.25);
    expect(dollarsOf({ price: 'lambdaTime', count: 1_000 })).toBeCloseTo(0.0133334);
  });

  it('has its source, and says when it was seen, or that it was not', () => {
    for (const [name, price] of Object.entries<Price>(PRICES)) {
      expect(price.source, name).toMatch(/^\/[a-z0-9/-]+\/pricing/);
      if (price.seen !== undefined) expect(price.seen, name).toMatch(/^20\d\d(-\d\d)?$|^undated$/);
    }
  });

  it('is not paid for what is free, once: what one part has taken another has not', () => {
    const calls = (count: number) => ({ what: 'calls', price: 'lambdaRequest' as const, count });
    const left = afterFree([calls(600_000), calls(600_000), { what: 'requests', price: 'apiRequest', count: 5 }]);
    expect(left.map(({ count }) => count)).toEqual([0, 200_000, 5]);
  });

  it('of an act has what each of its requests consumes', () => {
    const usage = { readUnits: 1, writeUnits: 2, messages: 1 };
    const counts = partsOf('appendOne', 10, usage).map(({ price, count }) => [price, count]);
    expect(Object.fromEntries(counts)).toMatchObject({
      ...{ apiRequest: 10, lambdaRequest: 10, readUnit: 10, writeUnit: 20, queueRequest: 30, fairRequest: 30 },
      lambdaTime: 0.25,
    });
    expect(partsOf('sweep', 1, usage).map(({ price }) => price)).not.toContain('apiRequest');
  });
});
