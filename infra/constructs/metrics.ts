import { Duration } from 'aws-cdk-lib';
import { type DimensionsMap, MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import type { LogStorage } from './log-storage.ts';
import { metricsNamespace } from './names.ts';

/** What of a backbone can be watched. */
export interface Watched {
  readonly storage: LogStorage;
  readonly wakeQueue: Queue;
  readonly deadLetters: Queue;
  readonly apiId: string;
  readonly produce: IFunction;
  readonly deliver: IFunction;
  readonly dispatch: IFunction;
  readonly sweep: IFunction;
}

/** The `service` of what the functions tell of the backbone as a whole. */
const WHOLE = 'backbone';

const period = Duration.minutes(5);

/** The figures that tell how a backbone is: AWS's own, which cost nothing, and those that its functions write. */
export class BackboneMetrics {
  readonly #watched: Watched;
  readonly #namespace: string;

  constructor(watched: Watched) {
    this.#watched = watched;
    this.#namespace = metricsNamespace(watched.storage.node.scope as Construct);
  }

  /** A figure that a function writes. @param service the function's name, or `backbone` */
  own(metricName: string, statistic: string, service = WHOLE, more: DimensionsMap = {}): Metric {
    const dimensionsMap = { service, ...more };
    return new Metric({ namespace: this.#namespace, metricName, dimensionsMap, statistic, period });
  }

  /** Figures of every subscription that has any, each a line of its own; for dashboards alone. */
  bySubscription(metricName: string): MathExpression {
    const search = `{"${this.#namespace}",service,subscription} MetricName="${metricName}"`;
    return new MathExpression({ expression: `SEARCH('${search}', 'Maximum', 60)`, label: '', period });
  }

  api(metricName: 'Count' | '4xx' | '5xx' | 'Latency', statistic: string): Metric {
    const dimensionsMap = { ApiId: this.#watched.apiId };
    return new Metric({ namespace: 'AWS/ApiGateway', metricName, dimensionsMap, statistic, period });
  }

  /** What a table refuses because too much comes at once, to reads and writes. */
  throttles(table: 'log' | 'state'): MathExpression {
    const usingMetrics = {
      [`${table}Reads`]: this.#table(table, 'ReadThrottleEvents'),
      [`${table}Writes`]: this.#table(table, 'WriteThrottleEvents'),
    };
    const expression = `FILL(${table}Reads, 0) + FILL(${table}Writes, 0)`;
    return new MathExpression({ expression, usingMetrics, label: `${table} throttles`, period });
  }

  consumed(table: 'log' | 'state', what: 'Read' | 'Write'): Metric {
    return this.#table(table, `Consumed${what}CapacityUnits`);
  }

  ofFunction(
    name: 'produce' | 'deliver' | 'dispatch' | 'sweep',
    metricName: 'Errors' | 'Invocations' | 'Throttles' | 'IteratorAge' | 'ConcurrentExecutions',
    statistic: string,
  ): Metric {
    return this.#watched[name].metric(metricName, { statistic, period });
  }

  wakeQueue(metricName: 'ApproximateAgeOfOldestMessage' | 'ApproximateNumberOfMessagesVisible'): Metric {
    return this.#watched.wakeQueue.metric(metricName, { statistic: Stats.MAXIMUM, period });
  }

  get deadLetters(): Metric {
    return this.#watched.deadLetters.metricApproximateNumberOfMessagesVisible({ statistic: Stats.MAXIMUM, period });
  }

  #table(name: 'log' | 'state', metricName: string): Metric {
    const table: Table = this.#watched.storage[name];
    return table.metric(metricName, { statistic: Stats.SUM, period });
  }
}
