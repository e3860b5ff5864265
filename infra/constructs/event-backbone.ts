import { Fn } from 'aws-cdk-lib';
import type { IRole } from 'aws-cdk-lib/aws-iam';
import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { SLOW_CONCURRENCY_DEFAULT } from '../../shared/domain/limits.ts';
import { Alarms } from './alarms.ts';
import { Api } from './api.ts';
import { BackboneFunction, type FunctionDefaults, type LogLevel } from './backbone-function.ts';
import { Dashboard } from './dashboard.ts';
import { Delivery } from './delivery.ts';
import { LogStorage } from './log-storage.ts';
import { Maintenance } from './maintenance.ts';

export interface EventBackboneProps {
  /**
   * Whether tables and bucket survive the stack, and the tables are protected from deletion meanwhile.
   * Default true. With false, deleting the stack deletes every record.
   */
  readonly retainData?: boolean | undefined;
  /** Who may call the API. `iam`, the default: principals that are allowed `execute-api:Invoke`, by signed requests. */
  readonly auth?: 'iam' | undefined;
  /** Origins whose pages may call the API, such as `https://example.com`. Default none: no CORS. */
  readonly corsOrigins?: readonly string[] | undefined;
  /**
   * Deliveries at once of partitions whose target is slow, fails or is away; others are not held up by them. So much of the
   * account's concurrency is kept free for them. Default 50; an account must have 100 left beside it. 0: nothing is kept free.
   */
  readonly slowConcurrency?: number | undefined;
  /** What the functions log. Default `INFO`. */
  readonly logLevel?: LogLevel | undefined;
  /** How long the lines of functions and gateway are kept. Default `ONE_MONTH`. */
  readonly logRetention?: RetentionDays | undefined;
  /**
   * Whether X-Ray records the functions' calls, all but the sweep's. Default false: AWS charges $5 per million traces. The
   * `traceparent` of records is carried in any case.
   */
  readonly tracing?: boolean | undefined;
  /** Who is told by the alarms of docs/operations.md. Default nobody: then there are no alarms, which cost $0.10 a month each. */
  readonly alarmTopic?: ITopic | undefined;
  /** Whether there is a dashboard. Default false: beyond an account's first three it costs $3 a month. */
  readonly dashboard?: boolean | undefined;
}

/**
 * An event backbone: storage, functions and the HTTP API in front of them. While nothing happens, nothing runs.
 *
 * The ids in here are part of its interface: logical ids of stored data follow from them.
 */
export class EventBackbone extends Construct {
  /** Base URL of the API, without a slash at its end. */
  readonly url: string;
  readonly storage: LogStorage;

  /** By which records are pushed to targets: what the policy of a queue, a function or a bus lets in. */
  readonly pushRole: IRole;
  /** Absent without an `alarmTopic`. */
  readonly alarms?: Alarms;

  constructor(scope: Construct, id: string, props: EventBackboneProps = {}) {
    super(scope, id);
    const { retainData, corsOrigins, logRetention, slowConcurrency = SLOW_CONCURRENCY_DEFAULT } = props;
    const defaults: FunctionDefaults = { logLevel: props.logLevel, logRetention, tracing: props.tracing };
    this.storage = new LogStorage(this, 'Storage', { retainData, corsOrigins });

    const produce = new BackboneFunction(this, 'Produce', {
      source: 'produce',
      description: 'Appends records',
      ...defaults,
    });
    this.storage.grantAppend(produce);

    const fetch = new BackboneFunction(this, 'Fetch', { source: 'fetch', description: 'Reads records', ...defaults });
    this.storage.grantRead(fetch);

    const topics = new BackboneFunction(this, 'Topics', {
      source: 'topics',
      description: 'Makes, changes, lists and removes topics; answers for unknown paths',
      ...defaults,
    });
    this.storage.grantAdminister(topics);

    const groups = new BackboneFunction(this, 'Groups', {
      source: 'groups',
      description: 'Serves the members of consumer groups, and whoever looks after them',
      ...defaults,
    });
    this.storage.grantConsume(groups);

    const dispatch = new BackboneFunction(this, 'Dispatch', {
      source: 'dispatch',
      description: 'Follows what is removed from the log: payloads go after their slots',
      inBackground: true,
      ...defaults,
    });
    const delivery = new Delivery(this, 'Delivery', { storage: this.storage, dispatch, defaults, slowConcurrency });
    delivery.grantDeadLetter(groups);
    delivery.grantWake(groups);
    delivery.grantWake(produce);
    this.pushRole = delivery.role;

    const subscriptions = new BackboneFunction(this, 'Subscriptions', {
      source: 'subscriptions',
      description: 'Serves whoever looks after subscriptions',
      ...defaults,
    });
    this.storage.grantSubscribe(subscriptions);
    delivery.grantSubscribe(subscriptions);

    const sweep = new BackboneFunction(this, 'Sweep', {
      source: 'sweep',
      description: 'Removes what deleted topics and groups left',
      inBackground: true,
      ...defaults,
      tracing: false, // 43,200 traces a month that say nothing
    });
    new Maintenance(this, 'Maintenance', { storage: this.storage, sweep });
    delivery.grantWake(sweep);
    delivery.grantKeep(sweep);

    const functions = { produce, fetch, topics, groups, subscriptions };
    const api = new Api(this, 'Api', { functions, corsOrigins, logRetention });
    this.url = api.url;
    const { wakeQueue, deadLetters, deliver } = delivery;
    const { apiId } = api;
    const watched = { storage: this.storage, wakeQueue, deadLetters, apiId, produce, deliver, dispatch, sweep };
    if (props.alarmTopic) this.alarms = new Alarms(this, 'Alarms', { watched, topic: props.alarmTopic });
    if (props.dashboard) new Dashboard(this, 'Dashboard', watched);
    delivery.forbidHost(Fn.select(1, Fn.split('://', this.url)));
  }
}
