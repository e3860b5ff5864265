import { Coverage, type Situation } from './coverage.ts';
import { runGroupSeed } from './groups/run-group.ts';
import { runSeed } from './run.ts';

export interface Failure {
  readonly seed: number;
  readonly environment: string;
  readonly violations: readonly { readonly kind: string; readonly what: string }[];
}

/** What came of a row of seeds; can be sent from process to process. */
export interface Report {
  readonly histories: number;
  readonly failures: readonly Failure[];
  readonly situations: readonly (readonly [Situation, number])[];
}

/** Every so many seeds stand for a history of a group, the others for one of the log alone. */
const GROUPS_EVERY = 4;

/** Runs the history that a seed stands for, of either kind, and judges it. */
export function runHistory(seed: number, options: { readonly traced?: boolean } = {}) {
  return seed % GROUPS_EVERY === 0 ? runGroupSeed(seed / GROUPS_EVERY, options) : runSeed(seed, options);
}

/** Runs the histories of `count` seeds from `from` on. */
export async function runSeeds(from: number, count: number): Promise<Report> {
  const coverage = new Coverage();
  const failures: Failure[] = [];
  for (let seed = from; seed < from + count; seed++) {
    const { environment, violations, situations } = await runHistory(seed);
    coverage.add(situations);
    if (violations.length > 0) failures.push({ seed, environment, violations });
  }
  return { histories: count, failures, situations: [...coverage.counts] };
}
