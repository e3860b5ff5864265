import { Alarm, ComparisonOperator, type IMetric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { FILL_DEADLINE_MS } from '../../shared/domain/limits.ts';
import { BackboneMetrics, type Watched } from './metrics.ts';

export interface AlarmsProps {
  readonly watched: Watched;
  /** Who is told, of the end of a trouble as well. */
  readonly topic: ITopic;
}

interface Watch {
  readonly metric: IMetric;
  /** What it means. What to do stands in docs/operations.md, under the alarm's id. */
  readonly means: string;
  /** It is as bad at this value and above. */
  readonly threshold: number;
  /** As bad below the threshold. Default false. */
  readonly isFloor?: boolean;
  /** So many periods of five minutes in a row. Default 1. */
  readonly periods?: number;
  /**
   * What no figure means. Default `NOT_BREACHING`: nothing is written while there is nothing to tell, and an idle backbone
   * is well.
   */
  readonly missing?: TreatMissingData;
}

/** Requests that failed within five minutes: a single one has been tried again by then. */
const FAILURES = 5;
/** Whoever waits that long for an append has had its reservation run out. */
const APPEND_MS = 2 * FILL_DEADLINE_MS;
/** A subscription that has waited so long, in s, is neither busy nor in a short back-off. */
const LAG_S = 15 * 60;
/** Of the time for which records are kept, in percent: as much is left to act. */
const RETENTION_USED = 50;
/** A key that has been parked for so long, in s, waits for a person: its target has had time to come back by itself. */
const PARKED_S = 3_600;
/** A slot is settled by whoever reads there 2 s after it was reserved, or 10. */
const UNSETTLED_S = 60;
/** Beyond the longest delay of a message, and the longest delivery: 15 min each. In s. */
const WAKE_AGE_S = 3_600;
/** The stream keeps its records for 24 h, and what fails is given up after 12. In ms. */
const STREAM_AGE_MS = 3_600_000;

/**
 * What is to be known at once. Every alarm has its entry in docs/operations.md, which says what it means and what to do.
 * Each costs $0.10 a month for every metric that it looks at.
 */
export class Alarms extends Construct {
  readonly #metrics: BackboneMetrics;
  readonly #action: SnsAction;

  constructor(scope: Construct, id: string, { watched, topic }: AlarmsProps) {
    super(scope, id);
    const metrics = new BackboneMetrics(watched);
    this.#metrics = metrics;
    this.#action = new SnsAction(topic);
    for (const [name, watch] of Object.entries({
      ...ofAppends(metrics),
      ...ofStorage(metrics),
      ...ofDeliveries(metrics),
      ...ofTheSweep(metrics),
    })) {
      this.#watch(name, watch);
    }
  }

  /**
   * One more, for a subscription that must not wait as long as others may: `Lag-<subscription>`. It sees the subscription
   * only while it is among the ten that wait longest.
   * @param afterMs how long a record may wait; at least a minute, for so often it is looked
   */
  watchSubscription(subscription: string, afterMs: number): Alarm {
    if (!(afterMs >= 60_000))
      throw new Error(`The lag of '${subscription}' is looked at once a minute: 60000 ms or more`);
    return this.#watch(`Lag-${subscription}`, {
      metric: this.#metrics.own('ConsumerLagAge', Stats.MAXIMUM, 'sweep', { subscription }),
      means: `A record waits for subscription ${subscription} for ${afterMs / 1_000} s or longer`,
      threshold: afterMs / 1_000,
    });
  }

  #watch(id: string, { metric, means, threshold, isFloor = false, periods = 1, missing }: Watch): Alarm {
    const alarm = new Alarm(this, id, {
      metric,
      alarmDescription: `${means}. See ${id.startsWith('Lag-') ? 'ConsumerLag' : id} in docs/operations.md.`,
      threshold,
      comparisonOperator: isFloor
        ? ComparisonOperator.LESS_THAN_THRESHOLD
        : ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      evaluationPeriods: periods,
      treatMissingData: missing ?? TreatMissingData.NOT_BREACHING,
      // A percentile of a few requests says nothing.
      ...(id === 'AppendLatency' && { evaluateLowSampleCountPercentile: 'ignore' }),
    });
    alarm.addAlarmAction(this.#action);
    alarm.addOkAction(this.#action);
    return alarm;
  }
}

function ofAppends(metrics: BackboneMetrics): Record<string, Watch> {
  return {
    AppendErrors: {
      metric: metrics.own('Failures', Stats.SUM, 'produce'),
      means: 'Appends fail',
      threshold: FAILURES,
    },
    AppendLatency: {
      metric: metrics.own('Duration', Stats.percentile(99), 'produce'),
      means: `One append in a hundred takes ${APPEND_MS} ms or longer`,
      threshold: APPEND_MS,
      periods: 3,
    },
    AppendThrottles: {
      metric: metrics.ofFunction('produce', 'Throttles', Stats.SUM),
      means: 'Appends are refused because the account runs as many functions at once as it may',
      threshold: 1,
    },
    ApiErrors: {
      metric: metrics.api('5xx', Stats.SUM),
      means: 'Requests of any kind end with 5xx, also where no function answered',
      threshold: FAILURES,
    },
    StrangersInSlot: {
      metric: metrics.own('StrangersInSlot', Stats.SUM, 'produce'),
      means: 'A slot held what its writer had not put there: the append protocol is broken',
      threshold: 1,
    },
  };
}

function ofStorage(metrics: BackboneMetrics): Record<string, Watch> {
  return {
    LogThrottles: {
      metric: metrics.throttles('log'),
      means: 'The Log table refuses reads or writes: one of its partitions gets more than it can take',
      threshold: FAILURES,
      periods: 2,
    },
    StateThrottles: {
      metric: metrics.throttles('state'),
      means: 'The State table refuses reads or writes: one head or one position gets more than it can take',
      threshold: FAILURES,
      periods: 2,
    },
    UnknownLayouts: {
      metric: metrics.own('UnknownLayouts', Stats.SUM),
      means: 'An item in the tables has a layout that this version does not know',
      threshold: 1,
    },
    PayloadsMissing: {
      metric: metrics.own('PayloadsMissing', Stats.SUM),
      means: 'A payload in the bucket is gone while its record is there',
      threshold: 1,
    },
    PayloadsCorrupt: {
      metric: metrics.own('PayloadsCorrupt', Stats.SUM),
      means: 'A stored batch is not what was stored, or cannot be read',
      threshold: 1,
    },
    StreamAge: {
      metric: metrics.ofFunction('dispatch', 'IteratorAge', Stats.MAXIMUM),
      means: 'What the log tells of is followed an hour late',
      threshold: STREAM_AGE_MS,
    },
  };
}

function ofDeliveries(metrics: BackboneMetrics): Record<string, Watch> {
  return {
    ConsumerLag: {
      metric: metrics.own('ConsumerLagAge', Stats.MAXIMUM, 'sweep'),
      means: 'A record waits for a subscription for a quarter of an hour',
      threshold: LAG_S,
    },
    RetentionUsed: {
      metric: metrics.own('RetentionUsed', Stats.MAXIMUM, 'sweep'),
      means: 'A record has waited for a subscription for half the time for which it is kept',
      threshold: RETENTION_USED,
    },
    RecordsExpired: {
      metric: metrics.own('RecordsExpired', Stats.SUM, 'deliver'),
      means: 'Records expired before a subscription was given them',
      threshold: 1,
    },
    ParkedKeys: {
      metric: metrics.own('OldestParkedKeyAge', Stats.MAXIMUM, 'sweep'),
      means: 'A key of a subscription has been parked for an hour',
      threshold: PARKED_S,
    },
    UnsettledSlot: {
      metric: metrics.own('OldestUnsettledSlot', Stats.MAXIMUM, 'sweep'),
      means: 'A slot that no append fills and no reader settles keeps a subscription waiting',
      threshold: UNSETTLED_S,
    },
    SubscriptionsStopped: {
      metric: metrics.own('SubscriptionsStopped', Stats.SUM, 'deliver'),
      means: 'A subscription was halted or paused, because its target cannot work or wants no more',
      threshold: 1,
    },
    DeadLetters: {
      metric: metrics.deadLetters,
      means: 'The dead-letter queue is not empty',
      threshold: 1,
      // SQS tells nothing of a queue that nobody touched for hours, also when there are messages in it.
      missing: TreatMissingData.IGNORE,
    },
    WakeQueueAge: {
      metric: metrics.wakeQueue('ApproximateAgeOfOldestMessage'),
      means: 'Wake-ups wait for an hour',
      threshold: WAKE_AGE_S,
      periods: 3,
    },
    DeliverErrors: {
      metric: metrics.ofFunction('deliver', 'Errors', Stats.SUM),
      means: 'Deliveries end with an error of their own',
      threshold: FAILURES,
    },
  };
}

function ofTheSweep(metrics: BackboneMetrics): Record<string, Watch> {
  return {
    SweepFailures: {
      metric: metrics.ofFunction('sweep', 'Errors', Stats.SUM),
      means: 'Most runs of the sweep fail',
      threshold: 3, // of five
    },
    SweepMissing: {
      metric: metrics.ofFunction('sweep', 'Invocations', Stats.SUM),
      means: 'The sweep does not run',
      threshold: 1,
      isFloor: true,
      periods: 3,
      missing: TreatMissingData.BREACHING, // that nothing is told is what it is about
    },
    TasksLeft: {
      metric: metrics.own('TasksLeft', Stats.SUM, 'sweep'),
      means: 'The sweep has left some task to its next run for a quarter of an hour',
      threshold: 1,
      periods: 3,
    },
  };
}
