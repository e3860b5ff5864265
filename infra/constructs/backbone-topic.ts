import { type CustomResource, type Duration, RemovalPolicy } from 'aws-cdk-lib';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { PARTITIONS_MAX, RETENTION_FOREVER, RETENTION_MS_MIN } from '../../shared/domain/limits.ts';
import type { BackboneSubscription, SubscribeProps } from './backbone-subscription.ts';
import type { EventBackbone } from './event-backbone.ts';
import { refuseName } from './names.ts';
import type { Provisioner } from './provisioner.ts';
import { limitsOf, type TopicLimits } from './topic-limits.ts';

export interface TopicProps extends TopicLimits {
  /** 1 to 1024. Default 8. More may be added later, fewer never be made: then the deployment is refused. */
  readonly partitions?: number | undefined;
  /** How long records are kept, an hour or longer. Default 7 days. */
  readonly retention?: Duration | 'forever' | undefined;
  /**
   * What becomes of the topic, and its records, when it leaves the app or the app names it otherwise. Default `RETAIN`: it
   * stays. `DESTROY`: it is deleted, unless it was there before the app took it over.
   */
  readonly removalPolicy?: RemovalPolicy | undefined;
}

/** A topic that an app looks after: made, or taken over, and changed as the app says; never made smaller. */
export class BackboneTopic extends Construct {
  readonly topicName: string;
  readonly #backbone: EventBackbone;
  readonly #resource: CustomResource;

  /** Use `EventBackbone.addTopic`. */
  constructor(backbone: EventBackbone, name: string, props: TopicProps, provisioner: Provisioner) {
    refuseName('topic', name);
    super(backbone, `Topic-${name}`);
    this.topicName = name;
    this.#backbone = backbone;
    this.#resource = provisioner.topic(this, 'Resource', name, settingsOf(name, props), onRemovalOf(name, props));
  }

  /** ULID of this incarnation. */
  get topicId(): string {
    return this.#resource.getAttString('TopicId');
  }

  /** Has the backbone push this topic's records to a function. See `EventBackbone.subscribe`. */
  subscribe(name: string, fn: IFunction, props: SubscribeProps = {}): BackboneSubscription {
    return this.#backbone.subscribe(name, fn, { ...props, topics: [this] });
  }
}

function settingsOf(name: string, { partitions, retention, ...limits }: TopicProps): object {
  if (partitions !== undefined && !(Number.isInteger(partitions) && partitions >= 1 && partitions <= PARTITIONS_MAX)) {
    throw new Error(`Topic '${name}' must have 1 to ${PARTITIONS_MAX} partitions, not ${partitions}.`);
  }
  const retentionMs = retention === 'forever' ? RETENTION_FOREVER : retention?.toMilliseconds();
  if (retentionMs !== undefined && retentionMs !== RETENTION_FOREVER && retentionMs < RETENTION_MS_MIN) {
    throw new Error(`Topic '${name}' must keep its records for an hour at least, not ${retentionMs} ms.`);
  }
  return {
    ...(partitions !== undefined && { partitions }),
    ...(retentionMs !== undefined && { retentionMs }),
    ...limitsOf(name, limits),
  };
}

function onRemovalOf(name: string, { removalPolicy = RemovalPolicy.RETAIN }: TopicProps): 'retain' | 'delete' {
  if (removalPolicy === RemovalPolicy.RETAIN) return 'retain';
  if (removalPolicy === RemovalPolicy.DESTROY) return 'delete';
  throw new Error(`The removalPolicy of topic '${name}' must be RETAIN or DESTROY, not '${removalPolicy}'.`);
}
