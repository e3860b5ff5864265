import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { BackboneError, type ErrorCode, UnknownLayout } from '../shared/domain/errors.ts';
import type { Observation } from '../shared/domain/observation.ts';
import { WriteFailed } from '../shared/domain/write-failed.ts';
import type { LagReport, ParkedReport } from '../shared/operations/measure-lag.ts';

/** The function's name, from its environment; the embedded backbone runs them all in one process. */
const serviceName = process.env.POWERTOOLS_SERVICE_NAME ?? 'vertebra';

/** Structured logs: for failures only, without payloads, keys, header values or the caller's own words. */
export const logger = new Logger({ serviceName });

/** CloudWatch metrics, written as one log line per request (EMF); that line is the access log, too. */
const namespace = process.env.POWERTOOLS_METRICS_NAMESPACE ?? 'Vertebra';
const metrics = new Metrics({ namespace, serviceName });
/** What is alarmed by, whichever function met it: once more, on a line of its own, as of the whole backbone. */
const alarming = new Metrics({ namespace, serviceName: 'backbone' });

const METRIC_OF = {
  append_fenced: 'AppendsFenced',
  append_late: 'AppendsLate',
  stranger_in_slot: 'StrangersInSlot',
  unknown_layout: 'UnknownLayouts',
  payload_missing: 'PayloadsMissing',
  payload_corrupt: 'PayloadsCorrupt',
  slots_voided: 'SlotsVoided',
  slots_purged: 'SlotsPurged',
  topic_purged: 'TopicsPurged',
  group_purged: 'GroupsPurged',
  positions_reset: 'PositionsReset',
  dead_letters: 'DeadLetters',
  records_expired: 'RecordsExpired',
  subscription_stopped: 'SubscriptionsStopped',
  removals_deferred: 'RemovalsDeferred',
  records_appended: 'RecordsAppended',
  keys_parked: 'KeysParked',
  records_read: 'RecordsRead',
} as const satisfies Record<Observation['kind'], string>;

/** Never met in good order, and met by more than one function: an alarm that named each would be paid for each. */
const ALARMING: ReadonlySet<Observation['kind']> = new Set(['unknown_layout', 'payload_missing', 'payload_corrupt']);

/** Counts what an operation met; it is written with the request's own line. */
export function observe(observation: Observation): void {
  const count = 'count' in observation ? observation.count : 1;
  metrics.addMetric(METRIC_OF[observation.kind], MetricUnit.Count, count);
  if (ALARMING.has(observation.kind)) alarming.addMetric(METRIC_OF[observation.kind], MetricUnit.Count, count);
}

/** Logs what kept work in the background from being finished: the store's refusals pass, anything else is a bug. */
export function logFailure(message: string, failure: unknown, fields: Readonly<Record<string, string>> = {}): void {
  const error = failure instanceof Error ? failure : new Error(String(failure));
  const passes = error instanceof WriteFailed || (error instanceof BackboneError && error.retryable);
  if (error instanceof UnknownLayout) observe({ kind: 'unknown_layout' });
  const extra = { ...fields, error: factsOf(error) };
  if (passes) logger.warn(message, extra);
  else logger.error(message, extra);
}

/** An error without what else hangs on it: the SDK's may carry whole items. */
function factsOf({ name, message, stack, cause }: Error): Readonly<Record<string, unknown>> {
  return { name, message, stack, ...(cause instanceof Error && { cause: factsOf(cause) }) };
}

/** Writes what was counted since the last line, for functions that serve no requests; nothing when nothing was. */
export function publishObservations(): void {
  for (const each of [metrics, alarming]) if (each.hasStoredMetrics()) each.publishStoredMetrics();
}

/**
 * Writes how far subscriptions are behind: one line for each of the worst, and what is alarmed by with the function's own
 * line. Nothing while nobody is behind.
 */
export function recordLag({ worst, oldestMs, retentionUsed, unsettledMs }: LagReport): void {
  for (const { subscription, records, ageMs } of worst) {
    const one = new Metrics({ namespace, serviceName, defaultDimensions: { subscription } });
    one.addMetric('ConsumerLag', MetricUnit.Count, records);
    one.addMetric('ConsumerLagAge', MetricUnit.Seconds, ageMs / 1_000);
    one.publishStoredMetrics();
  }
  if (oldestMs !== undefined) metrics.addMetric('ConsumerLagAge', MetricUnit.Seconds, oldestMs / 1_000);
  if (retentionUsed !== undefined) metrics.addMetric('RetentionUsed', MetricUnit.Percent, 100 * retentionUsed);
  if (unsettledMs !== undefined) metrics.addMetric('OldestUnsettledSlot', MetricUnit.Seconds, unsettledMs / 1_000);
}

/** Writes how long keys have been parked: one line for each of the worst, and the oldest of all. Nothing while none is. */
export function recordParked({ worst, oldestMs }: ParkedReport): void {
  for (const { subscription, ageMs } of worst) {
    const one = new Metrics({ namespace, serviceName, defaultDimensions: { subscription } });
    one.addMetric('OldestParkedKeyAge', MetricUnit.Seconds, ageMs / 1_000);
    one.publishStoredMetrics();
  }
  if (oldestMs !== undefined) metrics.addMetric('OldestParkedKeyAge', MetricUnit.Seconds, oldestMs / 1_000);
}

/** Counts tasks of the background that were left to the next run. */
export function recordTasksLeft(count: number): void {
  if (count > 0) metrics.addMetric('TasksLeft', MetricUnit.Count, count);
}

/** How one request ended. */
export interface RequestOutcome {
  /** The gateway's id, which the answer carries. */
  readonly requestId: string;
  /** The template, never the path: names are the user's. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
  /** Who called, where that is asked. */
  readonly principal?: string | undefined;
  /** Of a refusal. */
  readonly code?: ErrorCode;
}

/** Writes the one line of a request: its metrics, and, to be searched, its id, route, status, caller and code. */
export function recordRequest({ requestId, route, status, durationMs, principal, code }: RequestOutcome): void {
  metrics.addMetric('Requests', MetricUnit.Count, 1);
  metrics.addMetric('Duration', MetricUnit.Milliseconds, durationMs);
  if (code !== undefined) metrics.addMetric(`Refused.${code}`, MetricUnit.Count, 1);
  if (status >= 500 || status === 207) metrics.addMetric('Failures', MetricUnit.Count, 1);
  metrics.addMetadata('requestId', requestId).addMetadata('route', route).addMetadata('status', String(status));
  if (principal !== undefined) metrics.addMetadata('principal', principal);
  if (code !== undefined) metrics.addMetadata('code', code);
  publishObservations();
}
