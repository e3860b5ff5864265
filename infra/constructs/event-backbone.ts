import { Annotations, Aspects, Fn, Lazy } from 'aws-cdk-lib';
import type { IGrantable, IRole } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { Rights } from '../../shared/domain/rights.ts';
import { ENV } from '../../shared/env.ts';
import { Alarms } from './alarms.ts';
import { Api } from './api.ts';
import { BackboneFunction, type FunctionDefaults } from './backbone-function.ts';
import { checkProps, deliveriesMax, type EventBackboneProps } from './backbone-props.ts';
import { BackboneSubscription, type SubscribeToProps } from './backbone-subscription.ts';
import { BackboneTopic, type TopicProps } from './backbone-topic.ts';
import { Dashboard } from './dashboard.ts';
import { Delivery } from './delivery.ts';
import { addUrl } from './function-url.ts';
import { Grants } from './grants.ts';
import { LogStorage } from './log-storage.ts';
import { Maintenance } from './maintenance.ts';
import { Provisioner } from './provisioner.ts';
import { allowPrepared, allowProcessOnce, type TransactingFunction } from './transactions.ts';

/** Topics of the app, names, or patterns of names in which `*` stands for any characters. */
export type Names = string | BackboneTopic | readonly (string | BackboneTopic)[];

/**
 * An event backbone: storage, functions and the HTTP API in front of them. While nothing happens, nothing runs.
 *
 * The ids in here are part of its interface: logical ids of stored data follow from them.
 */
export class EventBackbone extends Construct {
  /** Base URL of the API, without a slash at its end. */
  readonly url: string;
  /** The same API behind a Lambda function URL, without a slash at its end; absent without `functionUrl`. */
  readonly functionUrl?: string;
  readonly storage: LogStorage;

  /** By which records are pushed to targets: what the policy of a queue, a function or a bus lets in. */
  readonly pushRole: IRole;
  /** Absent without an `alarmTopic`. */
  readonly alarms?: Alarms;

  readonly #grants: Grants;
  readonly #auth: NonNullable<EventBackboneProps['auth']>;
  readonly #makeProvisioner: () => Provisioner;
  #provisioner: Provisioner | undefined;

  constructor(scope: Construct, id: string, props: EventBackboneProps = {}) {
    super(scope, id);
    checkProps(props);
    const { retainData, corsOrigins, logRetention, encryptionKey, auth = 'iam', concurrency = {} } = props;
    const defaults: FunctionDefaults = { logLevel: props.logLevel, logRetention, tracing: props.tracing };
    this.storage = new LogStorage(this, 'Storage', { retainData, corsOrigins, encryptionKey });

    const produce = new BackboneFunction(this, 'Produce', {
      source: 'produce',
      description: 'Appends records',
      reservedConcurrency: concurrency.produce,
      ...defaults,
    });
    this.storage.grantAppend(produce);
    if (props.spillAboveBytes !== undefined) {
      produce.addEnvironment(ENV.spillAboveBytes, String(props.spillAboveBytes));
    }

    const fetch = new BackboneFunction(this, 'Fetch', {
      source: 'fetch',
      description: 'Reads records',
      reservedConcurrency: concurrency.fetch,
      ...defaults,
    });
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
      reservedConcurrency: concurrency.groups,
      ...defaults,
    });
    this.storage.grantConsume(groups);

    const dispatch = new BackboneFunction(this, 'Dispatch', {
      source: 'dispatch',
      description: 'Follows what is removed from the log: payloads go after their slots',
      inBackground: true,
      ...defaults,
    });
    const delivery = new Delivery(this, 'Delivery', {
      ...{ storage: this.storage, dispatch, defaults, encryptionKey },
      ...{ concurrencyMax: deliveriesMax(props), slowConcurrency: concurrency.slow },
    });
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
    const whole = props.functionUrl ? this.#makeWhole(delivery, defaults, props.spillAboveBytes) : undefined;
    const wholeUrl = whole && addUrl(whole, auth, corsOrigins);
    const api = new Api(this, 'Api', { functions, auth, jwt: props.jwt, corsOrigins, logRetention });
    this.url = api.url;
    const { wakeQueue, deadLetters, deliver } = delivery;
    const { apiId } = api;
    const watched = { storage: this.storage, wakeQueue, deadLetters, apiId, produce, deliver, dispatch, sweep };
    if (props.alarmTopic) this.alarms = new Alarms(this, 'Alarms', { watched, topic: props.alarmTopic });
    if (props.dashboard) new Dashboard(this, 'Dashboard', watched);
    // Its other host is not forbidden: they would wait for each other. Nothing is pushed there without a signature or a key.
    if (wholeUrl !== undefined) this.functionUrl = Fn.join('', ['https://', hostOf(wholeUrl.url)]);
    delivery.forbidHost(hostOf(this.url));

    this.#auth = auth;
    this.#makeProvisioner = () => new Provisioner(this, 'Provisioner', { storage: this.storage, delivery, defaults });
    const provisioner = () => this.#provision();
    this.#grants = new Grants(this, 'Grants', { url: this.url, apiId, api: api.resource, wholeUrl, provisioner });
    this.#askForRights([...Object.values(functions), ...(whole ? [whole] : [])]);
  }

  /** Makes a topic while the app is deployed, or takes over the one of this name. */
  addTopic(name: string, props: TopicProps = {}): BackboneTopic {
    return new BackboneTopic(this, name, props, this.#provision());
  }

  /**
   * Has the backbone push records to a function, which gets them as from Kafka's event source. The rights for that are
   * given on both sides. The function may be in another stack, of the same account and region.
   *
   * @param name of the subscription, and of its consumer group
   */
  subscribe(name: string, fn: IFunction, props: SubscribeToProps): BackboneSubscription {
    return new BackboneSubscription(this, name, fn, props, this.#provision());
  }

  /** Lets a function, a role or a user append to topics. A function finds `VERTEBRA_URL`, which the SDK looks for. */
  grantProduce(grantee: IGrantable, topics: Names): void {
    this.#grantTo(grantee, combined({ topics }, 'produce'));
  }

  /** Lets a function, a role or a user read topics, by itself or as a member of consumer groups. */
  grantConsume(grantee: IGrantable, of: { readonly topics: Names; readonly groups?: Names }): void {
    this.#grantTo(grantee, combined(of, 'consume'));
  }

  /**
   * Lets a function append to a topic of the app from transactions of its own, by the SDK's `prepareAppend`. It finds
   * `VERTEBRA_URL`.
   */
  grantOutbox(fn: TransactingFunction, topic: BackboneTopic): void {
    this.grantProduce(fn, topic);
    allowPrepared(fn, this.storage, topic);
  }

  /**
   * Lets a function process the records of one consumer group, or of one subscription, exactly once, by the SDK's `processOnce` and
   * `effectOnce`. It finds `VERTEBRA_STATE_TABLE`. One that polls, and is not pushed to, needs `grantConsume` besides.
   */
  grantProcessOnce(fn: TransactingFunction, group: string): void {
    allowProcessOnce(fn, this.storage, group);
  }

  /** Lets a function, a role or a user look after subscriptions of these names, of topics to targets. */
  grantSubscribe(
    grantee: IGrantable,
    of: { readonly topics: Names; readonly subscriptions: Names; readonly targets: Names },
  ): void {
    const { topics, subscriptions: groups, targets } = of;
    this.#grantTo(grantee, combined({ topics, groups, targets }, 'subscribe'));
  }

  /** Lets a function, a role or a user make, change and remove topics and groups; default all, and API keys. */
  grantAdmin(grantee: IGrantable, of?: { readonly topics?: Names; readonly groups?: Names }): void {
    this.#grantTo(grantee, combined(of ?? { topics: '*', groups: '*', targets: '*' }, 'admin'));
  }

  /**
   * Gives rights as they are stored, to whomever they name: `role:<account>:<name>`, `user:<account>:<name>`, an ARN, or
   * `sub:<subject>` where `auth` is `jwt`. Whether it gets through to the API is not looked after here.
   */
  grant(principal: string, ...rights: readonly Rights[]): void {
    this.#grants.toPrincipal(principal, rights);
  }

  #grantTo(grantee: IGrantable, rights: readonly Rights[]): void {
    if (this.#auth !== 'iam') {
      throw new Error(
        `With auth '${this.#auth}' functions, roles and users are not known to the API: ` +
          (this.#auth === 'jwt' ? "give rights to a subject, by grant('sub:…', …)." : 'give them an API key.'),
      );
    }
    this.#grants.toGrantee(grantee, rights);
  }

  /** One function that may do what all those behind the gateway may. */
  #makeWhole(delivery: Delivery, defaults: FunctionDefaults, spillAboveBytes: number | undefined): BackboneFunction {
    const description = 'Serves the whole API behind a URL of its own';
    const whole = new BackboneFunction(this, 'Whole', { source: 'whole', description, ...defaults });
    this.storage.grantAppend(whole);
    this.storage.grantRead(whole);
    this.storage.grantAdminister(whole);
    this.storage.grantConsume(whole);
    this.storage.grantSubscribe(whole);
    delivery.grantSubscribe(whole);
    delivery.grantDeadLetter(whole);
    if (spillAboveBytes !== undefined) whole.addEnvironment(ENV.spillAboveBytes, String(spillAboveBytes));
    return whole;
  }

  /** There is no provisioner unless there is something to provision. */
  #provision(): Provisioner {
    this.#provisioner ??= this.#makeProvisioner();
    return this.#provisioner;
  }

  /** How the functions know their callers; and what is to be said at synthesis when they ask nobody for rights. */
  #askForRights(functions: readonly BackboneFunction[]): void {
    const asks = () => this.#auth !== 'iam' || this.#grants.areAny;
    for (const fn of functions) {
      fn.addEnvironment(ENV.auth, this.#auth);
      fn.addEnvironment(ENV.grants, Lazy.string({ produce: () => (asks() ? 'stored' : undefined) }));
    }
    Aspects.of(this).add({
      visit: (node) => {
        if (node !== this || asks()) return;
        Annotations.of(this).addWarningV2(
          'vertebra:noGrants',
          'Nobody was granted anything, so every IAM principal that may invoke the API may do everything with it.',
        );
      },
    });
  }
}

/** The host of a URL, which CloudFormation makes. */
function hostOf(url: string): string {
  return Fn.select(2, Fn.split('/', url));
}

/** One entry for each combination: what is used together must stand in one. */
function combined(
  names: { readonly [part in 'topics' | 'groups' | 'targets']?: Names },
  right: Rights['allow'][number],
) {
  let entries: Rights[] = [{ allow: [right] }];
  for (const [part, named] of Object.entries(names)) {
    if (named === undefined) continue;
    const patterns = [named].flat().map((one) => (typeof one === 'string' ? one : one.topicName));
    entries = entries.flatMap((entry) => patterns.map((pattern) => ({ ...entry, [part]: pattern })));
  }
  return entries;
}
