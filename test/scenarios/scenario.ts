import { it } from 'vitest';
import type { Need, Target } from './target.ts';
import { Trial } from './trial.ts';

/** What a backbone does, wherever it runs. */
export interface Scenario {
  /** A sentence. */
  readonly name: string;
  /** What the target must offer beside the API. */
  readonly needs?: readonly Need[];
  readonly run: (trial: Trial) => Promise<void>;
}

export interface RunOptions {
  readonly scenarios: readonly Scenario[];
  /** What the target offers: a scenario that needs more is not among the tests. */
  readonly offered: readonly Need[];
  readonly timeoutMs: number;
}

/** Makes a test of each scenario that fits the target, which is there when they begin. */
export function itHolds(target: () => Target, { scenarios, offered, timeoutMs }: RunOptions): void {
  for (const { name, needs = [], run } of scenarios) {
    if (!needs.every((need) => offered.includes(need))) continue;
    it(name, { timeout: timeoutMs }, async () => {
      const trial = new Trial(target());
      try {
        await run(trial);
      } finally {
        await trial.end();
      }
    });
  }
}
