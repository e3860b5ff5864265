import { commands } from '../../../client/effects/transaction.ts';
import type { Situation } from '../coverage.ts';
import { Model } from '../simulator/model.ts';
import { NoEnd } from '../simulator/scheduler.ts';
import type { DynamoModel } from '../simulator/tables.ts';
import { World, type WorldOptions } from '../simulator/world.ts';
import { checkPush } from './check-push.ts';
import { PUSH_ENVIRONMENTS, type PushEnvironment } from './environments.ts';
import type { PushHistory, PushViolation } from './history.ts';
import { PushRun } from './push-run.ts';
import { situationsOf } from './situations.ts';

/** Until every target has been met once. */
const KNOWN_AFTER_MS = 80_000;
/** A run that takes more has lost its way. */
const EVENTS_MAX = 600_000;

export interface PushRan {
  readonly seed: number;
  readonly environment: string;
  readonly violations: readonly PushViolation[];
  readonly history: PushHistory;
  readonly situations: readonly (readonly [Situation, number])[];
  readonly trace: readonly string[];
}

export interface PushRunOptions extends Pick<WorldOptions, 'traced'> {
  /** Makes deliveries wrong, so that the checker can be seen to notice. */
  readonly sabotage?: (run: PushRun) => void;
  /** Instead of the one that the seed stands for. */
  readonly environment?: PushEnvironment;
  /** Instead of one of its own. */
  readonly dynamodb?: DynamoModel;
}

/** Runs the history of subscriptions that a seed stands for, and judges it. The same seed gives the same run. */
export async function runPushSeed(seed: number, options: PushRunOptions = {}): Promise<PushRan> {
  const environment = options.environment ?? PUSH_ENVIRONMENTS[seed % PUSH_ENVIRONMENTS.length]!;
  const dynamodb = options.dynamodb ?? new Model();
  await dynamodb.empty();
  // Loaded in mid-run they would take real time.
  if (environment.once) await commands();
  const { habits, spillAboveBytes, retentionMs, boundMs } = environment;
  const { traced = false } = options;
  const world = new World(dynamodb, { habits, spillAboveBytes, traced, seed });
  const begun = world.now;
  const run = new PushRun(world, environment);
  options.sabotage?.(run);
  const violations: PushViolation[] = [];
  try {
    await world.scheduler.run(run.play(), EVENTS_MAX);
  } catch (error) {
    if (!(error instanceof NoEnd)) throw error;
    violations.push({ kind: 'no end', what: error.message });
  }
  const isPoison = (name: string, record: string) => run.targets.get(name)!.isPoison(record);
  const prompt =
    boundMs === undefined ? undefined : { names: run.prompt, boundMs, from: begun + KNOWN_AFTER_MS, isPoison };
  const { once: isOnce, keys } = environment;
  const history = run.seen.history({ retentionMs, skewMs: run.skewMs, prompt, isOnce, keys });
  for (const [situation, times] of situationsOf(history)) world.coverage.count(situation, times);
  const unexpected = run.violations.map(({ what }): PushViolation => ({ kind: 'unexpected error', what }));
  violations.push(...run.faults, ...unexpected, ...checkPush(history));
  const situations = [...world.coverage.counts];
  return { seed, environment: environment.name, violations, history, situations, trace: world.scheduler.trace ?? [] };
}
