import { Duration } from 'aws-cdk-lib';
import { Grant } from 'aws-cdk-lib/aws-iam';
import {
  EventSourceMapping,
  FilterCriteria,
  FilterRule,
  type IFunction,
  type Function as LambdaFunction,
  StartingPosition,
} from 'aws-cdk-lib/aws-lambda';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { BACKGROUND_FUNCTION_TIMEOUT_MS, OBJECTS_PER_DELETE_MAX, WAKE_TRIES_MAX } from '../../shared/domain/limits.ts';
import { ENV } from '../../shared/env.ts';
import type { LogStorage } from './log-storage.ts';

export interface DeliveryProps {
  readonly storage: LogStorage;
  /** Follows the log's stream, and works off the wake queue. */
  readonly dispatch: LambdaFunction;
}

/** Nobody waits for a removal to be followed; fewer, fuller events cost less. */
const STREAM_WINDOW = Duration.seconds(60);
/** What fails that long is handed to the dead letters, while the stream still has the records: it keeps them for 24 h. */
const STREAM_AGE_MAX = Duration.hours(12);
/** Source: AWS Lambda, "Using Lambda with Amazon SQS": six times the function's timeout. */
const VISIBILITY = Duration.millis(6 * BACKGROUND_FUNCTION_TIMEOUT_MS);

/** What goes on when the log has changed: its stream, the wake queue, and the dead letters of both and of groups. */
export class Delivery extends Construct {
  readonly wakeQueue: Queue;
  readonly deadLetters: Queue;

  constructor(scope: Construct, id: string, { storage, dispatch }: DeliveryProps) {
    super(scope, id);
    this.deadLetters = new Queue(this, 'DeadLetters', { enforceSSL: true, retentionPeriod: Duration.days(14) });
    this.wakeQueue = new Queue(this, 'Wake', {
      enforceSSL: true,
      visibilityTimeout: VISIBILITY,
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: WAKE_TRIES_MAX },
    });

    storage.grantDispatch(dispatch);
    allow(dispatch, this.wakeQueue, ['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes']); // Lambda's, on its behalf
    allow(dispatch, this.wakeQueue, ['SendMessage', 'ChangeMessageVisibility']);
    allow(dispatch, this.deadLetters, ['SendMessage']);
    dispatch.addEnvironment(ENV.wakeQueueUrl, this.wakeQueue.queueUrl);

    new EventSourceMapping(this, 'Stream', {
      target: dispatch,
      eventSourceArn: storage.log.tableStreamArn!,
      // Nothing is missed that happens before the mapping is there.
      startingPosition: StartingPosition.TRIM_HORIZON,
      filters: [FilterCriteria.filter({ eventName: FilterRule.isEqual('REMOVE') })],
      batchSize: OBJECTS_PER_DELETE_MAX,
      maxBatchingWindow: STREAM_WINDOW,
      bisectBatchOnError: true,
      maxRecordAge: STREAM_AGE_MAX,
      onFailure: { bind: () => ({ destination: this.deadLetters.queueArn }) },
    });
    new EventSourceMapping(this, 'WakeUps', {
      target: dispatch,
      eventSourceArn: this.wakeQueue.queueArn,
      batchSize: 10,
      reportBatchItemFailures: true,
      maxConcurrency: 2,
    });
  }

  /** For a function that tells of records which could not be handled. */
  grantDeadLetter(fn: LambdaFunction): void {
    allow(fn, this.deadLetters, ['SendMessage']);
    fn.addEnvironment(ENV.deadLetterQueueUrl, this.deadLetters.queueUrl);
  }
}

function allow(fn: IFunction, queue: Queue, verbs: readonly string[]): void {
  Grant.addToPrincipal({
    grantee: fn,
    actions: verbs.map((verb) => `sqs:${verb}`),
    resourceArns: [queue.queueArn],
  });
}
