import { Coverage, type Situation } from './coverage.ts';
import type { Violation } from './history.ts';
import { runSeed } from './run.ts';

export interface Failure {
  readonly seed: number;
  readonly environment: string;
  readonly violations: readonly Violation[];
}

/** What came of a row of seeds; can be sent from process to process. */
export interface Report {
  readonly histories: number;
  readonly failures: readonly Failure[];
  readonly situations: readonly (readonly [Situation, number])[];
}

/** Runs the histories of `count` seeds from `from` on. */
export async function runSeeds(from: number, count: number): Promise<Report> {
  const coverage = new Coverage();
  const failures: Failure[] = [];
  for (let seed = from; seed < from + count; seed++) {
    const { environment, violations, situations } = await runSeed(seed);
    coverage.add(situations);
    if (violations.length > 0) failures.push({ seed, environment, violations });
  }
  return { histories: count, failures, situations: [...coverage.counts] };
}
