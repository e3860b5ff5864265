import type { Situation } from '../coverage.ts';
import { Model } from '../simulator/model.ts';
import { NoEnd } from '../simulator/scheduler.ts';
import type { DynamoModel } from '../simulator/tables.ts';
import { World, type WorldOptions } from '../simulator/world.ts';
import { checkGroups } from './check-groups.ts';
import { GROUP_ENVIRONMENTS, type GroupEnvironment } from './environments.ts';
import { GroupRun } from './group-run.ts';
import type { GroupHistory, GroupViolation } from './history.ts';
import { situationsOf } from './situations.ts';

/** A run that takes more has lost its way. */
const EVENTS_MAX = 400_000;

export interface GroupRan {
  readonly seed: number;
  readonly environment: string;
  readonly violations: readonly GroupViolation[];
  readonly history: GroupHistory;
  readonly situations: readonly (readonly [Situation, number])[];
  readonly trace: readonly string[];
}

export interface GroupRunOptions extends Pick<WorldOptions, 'traced' | 'sabotage'> {
  /** Instead of the one that the seed stands for. */
  readonly environment?: GroupEnvironment;
  /** Instead of one of its own. */
  readonly dynamodb?: DynamoModel;
}

/** Runs the history of a group that a seed stands for, and judges it. The same seed gives the same run. */
export async function runGroupSeed(seed: number, options: GroupRunOptions = {}): Promise<GroupRan> {
  const environment = options.environment ?? GROUP_ENVIRONMENTS[seed % GROUP_ENVIRONMENTS.length]!;
  const dynamodb = options.dynamodb ?? new Model();
  await dynamodb.empty();
  const { habits, spillAboveBytes } = environment;
  const world = new World(dynamodb, { habits, spillAboveBytes, ...options, seed });
  const run = new GroupRun(world, environment);
  const violations: GroupViolation[] = [];
  try {
    await world.scheduler.run(run.play(), EVENTS_MAX);
  } catch (error) {
    if (!(error instanceof NoEnd)) throw error;
    violations.push({ kind: 'no end', what: error.message });
  }
  const history = run.seen.history(run.skewMs);
  for (const [situation, times] of situationsOf(history)) world.coverage.count(situation, times);
  const unexpected = run.violations.map(({ what }): GroupViolation => ({ kind: 'unexpected error', what }));
  violations.push(...run.faults, ...unexpected, ...checkGroups(history));
  const situations = [...world.coverage.counts];
  return { seed, environment: environment.name, violations, history, situations, trace: world.scheduler.trace ?? [] };
}
