import { Dashboard as CloudWatchDashboard, GraphWidget, type IMetric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import { BackboneMetrics, type Watched } from './metrics.ts';

/** Of the 24 columns of a dashboard: two graphs side by side. */
const WIDTH = 12;

/** How a backbone is, on one page: who asks for what, how it is answered, who waits, what it consumes. */
export class Dashboard extends Construct {
  constructor(scope: Construct, id: string, watched: Watched) {
    super(scope, id);
    const metrics = new BackboneMetrics(watched);
    const sum = (name: string, service: string) => metrics.own(name, Stats.SUM, service);
    const graph = (title: string, left: readonly IMetric[]) =>
      new GraphWidget({ title, left: [...left], width: WIDTH, leftYAxis: { min: 0 } });
    new CloudWatchDashboard(this, 'Page', {
      widgets: [
        [
          graph('Requests', [
            metrics.api('Count', Stats.SUM),
            metrics.api('4xx', Stats.SUM),
            metrics.api('5xx', Stats.SUM),
          ]),
          graph('Records appended and read', [
            sum('RecordsAppended', 'produce'),
            ...['fetch', 'groups', 'deliver'].map((service) => sum('RecordsRead', service)),
          ]),
        ],
        [
          graph(
            'Appends, ms',
            [50, 99].map((share) => metrics.own('Duration', Stats.percentile(share), 'produce')),
          ),
          graph('Refused and failed', [
            sum('Failures', 'produce'),
            metrics.throttles('log'),
            metrics.throttles('state'),
            metrics.ofFunction('produce', 'Throttles', Stats.SUM),
          ]),
        ],
        [
          graph('Longest wait of a subscription, s', [
            metrics.bySubscription('ConsumerLagAge'),
            metrics.own('OldestParkedKeyAge', Stats.MAXIMUM, 'sweep'),
          ]),
          graph('Lag of subscriptions, records', [metrics.bySubscription('ConsumerLag')]),
        ],
        [
          graph('Wake queue and dead letters, messages', [
            metrics.wakeQueue('ApproximateNumberOfMessagesVisible'),
            metrics.deadLetters,
          ]),
          graph('Running at once', [
            metrics.ofFunction('produce', 'ConcurrentExecutions', Stats.MAXIMUM),
            metrics.ofFunction('deliver', 'ConcurrentExecutions', Stats.MAXIMUM),
          ]),
        ],
        [
          graph('Log, units', [metrics.consumed('log', 'Read'), metrics.consumed('log', 'Write')]),
          graph('State, units', [metrics.consumed('state', 'Read'), metrics.consumed('state', 'Write')]),
        ],
      ],
    });
  }
}
