import { Fn } from 'aws-cdk-lib';
import type { IRole } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { SLOW_CONCURRENCY_DEFAULT } from '../../shared/domain/limits.ts';
import { Api } from './api.ts';
import { BackboneFunction, type LogLevel } from './backbone-function.ts';
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

  constructor(scope: Construct, id: string, props: EventBackboneProps = {}) {
    super(scope, id);
    const { retainData, corsOrigins, logLevel, slowConcurrency = SLOW_CONCURRENCY_DEFAULT } = props;
    this.storage = new LogStorage(this, 'Storage', { retainData, corsOrigins });

    const produce = new BackboneFunction(this, 'Produce', {
      source: 'produce',
      description: 'Appends records',
      logLevel,
    });
    this.storage.grantAppend(produce);

    const fetch = new BackboneFunction(this, 'Fetch', { source: 'fetch', description: 'Reads records', logLevel });
    this.storage.grantRead(fetch);

    const topics = new BackboneFunction(this, 'Topics', {
      source: 'topics',
      description: 'Makes, changes, lists and removes topics; answers for unknown paths',
      logLevel,
    });
    this.storage.grantAdminister(topics);

    const groups = new BackboneFunction(this, 'Groups', {
      source: 'groups',
      description: 'Serves the members of consumer groups, and whoever looks after them',
      logLevel,
    });
    this.storage.grantConsume(groups);

    const dispatch = new BackboneFunction(this, 'Dispatch', {
      source: 'dispatch',
      description: 'Follows what is removed from the log: payloads go after their slots',
      inBackground: true,
      logLevel,
    });
    const delivery = new Delivery(this, 'Delivery', { storage: this.storage, dispatch, logLevel, slowConcurrency });
    delivery.grantDeadLetter(groups);
    delivery.grantWake(groups);
    delivery.grantWake(produce);
    this.pushRole = delivery.role;

    const subscriptions = new BackboneFunction(this, 'Subscriptions', {
      source: 'subscriptions',
      description: 'Serves whoever looks after subscriptions',
      logLevel,
    });
    this.storage.grantSubscribe(subscriptions);
    delivery.grantSubscribe(subscriptions);

    const sweep = new BackboneFunction(this, 'Sweep', {
      source: 'sweep',
      description: 'Removes what deleted topics and groups left',
      inBackground: true,
      logLevel,
    });
    new Maintenance(this, 'Maintenance', { storage: this.storage, sweep });
    delivery.grantWake(sweep);

    this.url = new Api(this, 'Api', { functions: { produce, fetch, topics, groups, subscriptions }, corsOrigins }).url;
    delivery.forbidHost(Fn.select(1, Fn.split('://', this.url)));
  }
}
