import { type Duration, RemovalPolicy } from 'aws-cdk-lib';
import { ArnPrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { BackboneTopic } from './backbone-topic.ts';
import type { EventBackbone } from './event-backbone.ts';
import { refuseName } from './names.ts';
import type { Provisioner } from './provisioner.ts';

export interface SubscribeProps {
  /** Where a new subscription begins. Default `latest`: with what is appended once it is there. */
  readonly from?: 'earliest' | 'latest' | { readonly at: string | number } | undefined;
  /** Which records are pushed: EventBridge's pattern language over `{key, headers, value}`. Default all. */
  readonly filter?: object | undefined;
  /** How much one call gets. Default 100 records, 1 MiB. */
  readonly batch?: { readonly maxRecords?: number; readonly maxBytes?: number } | undefined;
  /** How often a record is tried, and how long is waited between. Default 5 times, 500 ms growing to 60 s. */
  readonly retry?:
    | { readonly maxAttempts?: number; readonly minBackoffMs?: number; readonly maxBackoffMs?: number }
    | undefined;
  /** What becomes of a record that has failed so often. Default `deadLetter`. */
  readonly onFailure?: 'deadLetter' | 'halt' | 'park' | undefined;
  /** So many dead letters in a row, in one partition, are an outage: the subscription halts. Default 10. */
  readonly haltAfterDeadLetters?: number | undefined;
  /** Tell `alarmTopic` when a record has waited so long; a minute or longer. Default: the backbone's own alarms alone. */
  readonly alarmAfter?: Duration | undefined;
  /**
   * What becomes of the subscription when it leaves the app. Default: it is deleted, unless dead letters wait: then it is
   * paused and kept. `DESTROY`: it is deleted with them. `RETAIN`: it stays as it is. One that was there before the app took
   * it over always stays.
   */
  readonly removalPolicy?: RemovalPolicy | undefined;
}

export interface SubscribeToProps extends SubscribeProps {
  /** What is pushed: topics of the app, or the names of others. */
  readonly topics: readonly (BackboneTopic | string)[];
}

/** A function that the backbone pushes records to, with the rights that this takes on both sides. */
export class BackboneSubscription extends Construct {
  readonly subscriptionName: string;

  /** Use `EventBackbone.subscribe`, or `subscribe` of a topic. */
  constructor(
    backbone: EventBackbone,
    name: string,
    fn: IFunction,
    { topics, removalPolicy, alarmAfter, from, ...settings }: SubscribeToProps,
    provisioner: Provisioner,
  ) {
    refuseName('subscription', name);
    if (topics.length === 0) throw new Error(`Subscription '${name}' names no topic.`);
    // With the function, and in its stack: the backbone's may be deployed before it.
    super(fn as unknown as Construct, `Subscription-${name}-${backbone.node.addr.slice(-8)}`);
    this.subscriptionName = name;
    const principal = new ArnPrincipal(backbone.pushRole.roleArn);
    const permissions = ['lambda:InvokeFunction', 'lambda:GetFunctionConfiguration'].map((action) => {
      const id = `${action.slice('lambda:'.length)}For-${name}`;
      fn.addPermission(id, { principal, action, scope: this });
      return this.node.tryFindChild(id);
    });
    const resource = provisioner.subscription(
      this,
      'Resource',
      name,
      {
        topics: topics.map((topic) => (typeof topic === 'string' ? topic : topic.topicName)),
        target: { lambda: { functionArn: fn.functionArn } },
        ...(from !== undefined && { from }),
        ...Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)),
      },
      onRemovalOf(name, removalPolicy),
    );
    resource.node.addDependency(...[...permissions, ...topics].filter((one) => one instanceof Construct));
    if (alarmAfter === undefined) return;
    if (backbone.alarms === undefined) {
      throw new Error(`Subscription '${name}' has 'alarmAfter', but the backbone has no 'alarmTopic' to tell.`);
    }
    backbone.alarms.watchSubscription(name, alarmAfter.toMilliseconds());
  }
}

function onRemovalOf(name: string, policy: RemovalPolicy | undefined): 'unlessNeeded' | 'retain' | 'delete' {
  if (policy === undefined) return 'unlessNeeded';
  if (policy === RemovalPolicy.RETAIN) return 'retain';
  if (policy === RemovalPolicy.DESTROY) return 'delete';
  throw new Error(`The removalPolicy of subscription '${name}' must be RETAIN or DESTROY, not '${policy}'.`);
}
