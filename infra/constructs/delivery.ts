import { Duration } from 'aws-cdk-lib';
import { Grant, type IRole, Policy, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import {
  type CfnEventSourceMapping,
  type CfnFunction,
  EventSourceMapping,
  FilterCriteria,
  FilterRule,
  type Function as LambdaFunction,
  RecursiveLoop,
  StartingPosition,
} from 'aws-cdk-lib/aws-lambda';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { DELIVER_FUNCTION_TIMEOUT_MS, OBJECTS_PER_DELETE_MAX, WAKE_TRIES_MAX } from '../../shared/domain/limits.ts';
import { ENV } from '../../shared/env.ts';
import { BackboneFunction, type FunctionDefaults } from './backbone-function.ts';
import { allowKey } from './encryption.ts';
import type { LogStorage } from './log-storage.ts';
import { ownNames } from './names.ts';

export interface DeliveryProps {
  readonly storage: LogStorage;
  /** Follows the log's stream. */
  readonly dispatch: LambdaFunction;
  readonly defaults: FunctionDefaults;
  /** Deliveries at once that the wake queue starts. */
  readonly concurrencyMax: number;
  /** Deliveries at once of positions that are slow, failed, or met nobody; absent: no such share is kept free. */
  readonly slowConcurrency?: number | undefined;
  /** By which messages are encrypted. Default: a key that AWS keeps. */
  readonly encryptionKey?: IKey | undefined;
}

/** Nobody waits for a removal to be followed; fewer, fuller events cost less. */
const STREAM_WINDOW = Duration.seconds(60);
/** What fails that long is handed to the dead letters, while the stream still has the records: it keeps them for 24 h. */
const STREAM_AGE_MAX = Duration.hours(12);
/** An append that the stream is late to tell has been found by the sweep. */
const INSERT_AGE_MAX = Duration.hours(1);
/** Source: AWS Lambda, "Using Lambda with Amazon SQS": six times the function's timeout. */
const VISIBILITY = Duration.millis(6 * DELIVER_FUNCTION_TIMEOUT_MS);

/** What goes on when the log has changed: its stream, the wake queue, deliveries, and the dead letters of all of them. */
export class Delivery extends Construct {
  readonly wakeQueue: Queue;
  readonly deadLetters: Queue;
  /** By which records are pushed: what a target's own policy lets in. */
  readonly role: IRole;
  readonly deliver: LambdaFunction;
  readonly #pushing: readonly LambdaFunction[];
  readonly #check: LambdaFunction;
  /** What wakes deliveries. It is off until the first subscription: polls of a queue are paid for even where it is empty. */
  readonly #mappings: readonly EventSourceMapping[];
  readonly #key: IKey | undefined;

  constructor(scope: Construct, id: string, props: DeliveryProps) {
    super(scope, id);
    const { storage, dispatch, defaults, encryptionKey } = props;
    this.#key = encryptionKey;
    const common = {
      enforceSSL: true,
      ...(encryptionKey && { encryption: QueueEncryption.KMS, encryptionMasterKey: encryptionKey }),
    };
    this.deadLetters = new Queue(this, 'DeadLetters', { ...common, retentionPeriod: Duration.days(14) });
    this.wakeQueue = new Queue(this, 'Wake', {
      ...common,
      visibilityTimeout: VISIBILITY,
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: WAKE_TRIES_MAX },
    });

    storage.grantDispatch(dispatch);
    this.#allow(dispatch, this.deadLetters, ['SendMessage']);
    this.grantWake(dispatch);

    const push = { source: 'deliver' as const, timeoutMs: DELIVER_FUNCTION_TIMEOUT_MS, wakesItself: true, ...defaults };
    const deliver = new BackboneFunction(scope, 'Deliver', { ...push, description: 'Pushes records to subscribers' });
    this.deliver = deliver;
    this.role = deliver.role!;
    const aside = new BackboneFunction(scope, 'DeliverAside', {
      ...push,
      description: 'Pushes records to subscribers that take long, beside those that do not',
      role: this.role,
      reservedConcurrency: props.slowConcurrency,
    });
    // What dies there, or waits too long, comes back by the queue: its position tells when to try again.
    const back = { bind: () => ({ destination: this.wakeQueue.queueArn }) };
    aside.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.hours(1), onFailure: back });
    this.#check = new BackboneFunction(scope, 'Check', {
      source: 'check',
      description: 'Looks at what is to be pushed to',
      role: this.role,
      ...defaults,
    });
    this.#check.addEnvironment(ENV.role, this.role.roleArn);
    this.#check.addEnvironment(ENV.ownNames, ownNames(scope));
    this.#pushing = [deliver, aside];

    storage.grantDeliver(deliver);
    storage.wire(aside);
    for (const fn of this.#pushing) {
      fn.addEnvironment(ENV.wakeQueueUrl, this.wakeQueue.queueUrl);
      fn.addEnvironment(ENV.deadLetterQueueUrl, this.deadLetters.queueUrl);
    }
    // The first three are Lambda's, on its behalf.
    const received = [
      'ReceiveMessage',
      'DeleteMessage',
      'GetQueueAttributes',
      'SendMessage',
      'ChangeMessageVisibility',
    ];
    this.#allow(deliver, this.wakeQueue, received);
    this.#allow(deliver, this.deadLetters, ['SendMessage']);
    deliver.addEnvironment(ENV.asideArn, aside.functionArn);
    // Not in the role's own policy, on which its functions wait: one would wait for itself.
    new Policy(this, 'HandAside', {
      roles: [this.role],
      statements: [new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [aside.functionArn] })],
    });

    const stream = {
      target: dispatch,
      eventSourceArn: storage.log.tableStreamArn!,
      batchSize: OBJECTS_PER_DELETE_MAX,
      bisectBatchOnError: true,
    };
    new EventSourceMapping(this, 'Stream', {
      ...stream,
      // Nothing is missed that happens before the mapping is there.
      startingPosition: StartingPosition.TRIM_HORIZON,
      filters: [FilterCriteria.filter({ eventName: FilterRule.isEqual('REMOVE') })],
      maxBatchingWindow: STREAM_WINDOW,
      maxRecordAge: STREAM_AGE_MAX,
      onFailure: { bind: () => ({ destination: this.deadLetters.queueArn }) },
    });
    const inserts = new EventSourceMapping(this, 'Inserts', {
      ...stream,
      startingPosition: StartingPosition.LATEST,
      filters: [FilterCriteria.filter({ eventName: FilterRule.isEqual('INSERT') })],
      maxRecordAge: INSERT_AGE_MAX,
      enabled: false,
    });
    const wakeUps = new EventSourceMapping(this, 'WakeUps', {
      target: deliver,
      eventSourceArn: this.wakeQueue.queueArn,
      // A wake-up may take as long as the function: one that comes with it would wait for it.
      batchSize: 1,
      reportBatchItemFailures: true,
      maxConcurrency: props.concurrencyMax,
      enabled: false,
    });
    this.#mappings = [inserts, wakeUps];
  }

  /** For a function that tells of records which could not be handled. */
  grantDeadLetter(fn: LambdaFunction): void {
    this.#allow(fn, this.deadLetters, ['SendMessage']);
    fn.addEnvironment(ENV.deadLetterQueueUrl, this.deadLetters.queueUrl);
  }

  /** For a function that wakes deliveries: some of what they push comes back to it, which Lambda would take for a mistake. */
  grantWake(fn: LambdaFunction): void {
    this.#allow(fn, this.wakeQueue, ['SendMessage']);
    fn.addEnvironment(ENV.wakeQueueUrl, this.wakeQueue.queueUrl);
    (fn.node.defaultChild as CfnFunction).recursiveLoop = RecursiveLoop.ALLOW;
  }

  /** For a function that looks after subscriptions: it asks about targets, and switches on and off what wakes deliveries. */
  grantSubscribe(fn: LambdaFunction): void {
    this.grantWake(fn);
    this.#grantSwitch(fn);
    Grant.addToPrincipal({
      grantee: fn,
      actions: ['lambda:InvokeFunction'],
      resourceArns: [this.#check.functionArn],
    });
    fn.addEnvironment(ENV.checkFunction, this.#check.functionName);
  }

  /** For the function that sees that what wakes deliveries is on while it is needed, and off otherwise. */
  grantKeep(fn: LambdaFunction): void {
    this.#allow(fn, this.wakeQueue, ['GetQueueAttributes']);
    this.#grantSwitch(fn);
  }

  #grantSwitch(fn: LambdaFunction): void {
    const mappings = this.#mappings.map(({ node }) => node.defaultChild as CfnEventSourceMapping);
    Grant.addToPrincipal({
      grantee: fn,
      actions: ['lambda:GetEventSourceMapping', 'lambda:UpdateEventSourceMapping'],
      resourceArns: mappings.map((mapping) => mapping.attrEventSourceMappingArn),
    });
    fn.addEnvironment(ENV.deliveryMappings, this.#mappings.map((mapping) => mapping.eventSourceMappingId).join(','));
  }

  #allow(fn: LambdaFunction, queue: Queue, verbs: readonly string[]): void {
    Grant.addToPrincipal({
      grantee: fn,
      actions: verbs.map((verb) => `sqs:${verb}`),
      resourceArns: [queue.queueArn],
    });
    allowKey(fn, this.#key, ['sqs']);
  }

  /** Names under which the backbone itself is reached: nothing is pushed there. */
  forbidHost(host: string): void {
    for (const fn of [...this.#pushing, this.#check]) fn.addEnvironment(ENV.ownHosts, host);
  }
}
