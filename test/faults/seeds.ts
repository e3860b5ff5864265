import { Coverage, type Situation } from './coverage.ts';
import { runGroupSeed } from './groups/run-group.ts';
import { runPushSeed } from './push/run-push.ts';
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

/** Of so many seeds in a row one stands for a history of a group, one for one of deliveries, the others for the log alone. */
const KINDS_EVERY = 4;

/** Runs the history that a seed stands for, of whichever kind, and judges it. */
export function runHistory(seed: number, options: { readonly traced?: boolean } = {}) {
  const nth = Math.floor(seed / KINDS_EVERY);
  if (seed % KINDS_EVERY === 0) return runGroupSeed(nth, options);
  return seed % KINDS_EVERY === 1 ? runPushSeed(nth, options) : runSeed(seed, options);
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
