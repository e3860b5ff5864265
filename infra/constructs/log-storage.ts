import { Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { AttributeType, BillingMode, StreamViewType, Table, type TableProps } from 'aws-cdk-lib/aws-dynamodb';
import { Grant } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import {
  BlockPublicAccess,
  Bucket,
  BucketEncryption,
  type CfnBucket,
  type CorsRule,
  HttpMethods,
  ObjectOwnership,
} from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { ENV } from '../../shared/env.ts';

export interface LogStorageProps {
  /** Whether the data survives the stack, and is protected from deletion meanwhile. Default true. */
  readonly retainData?: boolean | undefined;
  /** Origins whose pages may use presigned URLs. Default none. */
  readonly corsOrigins?: readonly string[] | undefined;
}

interface Rights {
  readonly log: readonly string[];
  readonly state: readonly string[];
  /** On the State table's items of uploads alone. */
  readonly uploads?: readonly string[];
  /** On the State table's items of dead letters, and of their redrives, alone. */
  readonly letters?: readonly string[];
  readonly objects?: readonly string[];
  /** On the payloads of dead letters alone. */
  readonly deadLetters?: readonly string[];
  readonly bucket?: readonly string[];
}

/** What each kind of work does to each table. Everything that a function may do stands here. */
const RIGHTS = {
  append: {
    // intent and fill; read who is in a slot
    log: ['PutItem', 'GetItem'],
    // reserve; read the topic; make, read and move the claim of an idempotency key; announce, read and take an upload
    state: ['UpdateItem', 'GetItem', 'PutItem'],
    // spill, and sign for uploads; compare what was uploaded with what was announced
    objects: ['PutObject', 'GetObject'],
    // without it, S3 answers "denied" for an upload that is not there
    bucket: ['ListBucket'],
  },
  read: {
    // read; look at one slot; void an abandoned one
    log: ['Query', 'GetItem', 'PutItem'],
    // read topic and head; move `settled`
    state: ['GetItem', 'UpdateItem'],
    // bring a spilled payload, and sign for uploaded ones; without the right to list, S3 answers "denied" for an object that is not there
    objects: ['GetObject'],
    bucket: ['ListBucket'],
  },
  administer: {
    // walk to the high watermark; time to offset; void an abandoned slot
    log: ['Query', 'GetItem', 'PutItem'],
    // topics and their heads: list, read, make, change, close, remove
    state: ['Query', 'GetItem', 'PutItem', 'UpdateItem', 'DeleteItem'],
  },
  consume: {
    // read; look at one slot; void an abandoned one
    log: ['Query', 'GetItem', 'PutItem'],
    // groups with all that they hold: list, read, make, change, remove, some of it together; move a head's `settled`
    state: ['Query', 'GetItem', 'PutItem', 'UpdateItem', 'DeleteItem', 'ConditionCheckItem'],
    // bring a spilled payload, and sign for uploaded ones; as for `read`
    objects: ['GetObject'],
    // keep what is too large for a dead letter's item, and let it go
    deadLetters: ['PutObject', 'DeleteObject'],
    bucket: ['ListBucket'],
  },
  subscribe: {
    // walk to the high watermark; time to offset; void an abandoned slot
    log: ['Query', 'GetItem', 'PutItem'],
    // subscriptions with all that they hold: list, read, make, change, remove, some of it together; mark topics and
    // positions; move a head's `settled`
    state: ['Query', 'GetItem', 'PutItem', 'UpdateItem', 'DeleteItem', 'ConditionCheckItem'],
  },
  deliver: {
    // read; look at one slot; void an abandoned one, or that of a payload to be removed; watch an upload on
    log: ['Query', 'GetItem', 'PutItem'],
    // read subscriptions and topics; make, take, move positions; halt a subscription; mark positions; keep dead letters
    state: ['Query', 'GetItem', 'PutItem', 'UpdateItem', 'ConditionCheckItem'],
    uploads: ['DeleteItem'],
    // those that were delivered after all
    letters: ['DeleteItem'],
    // bring a spilled payload, and sign for uploaded ones; a payload follows its slot
    objects: ['GetObject', 'DeleteObject'],
    deadLetters: ['PutObject', 'DeleteObject'],
    bucket: ['ListBucket'],
  },
  dispatch: {
    // look at the slot of an intent or an upload; void it; watch an upload on
    log: ['GetItem', 'PutItem'],
    // is the topic deleted?
    state: ['GetItem'],
    // forget one; heads and topics are not for it to delete
    uploads: ['DeleteItem'],
    // a payload follows its slot
    objects: ['DeleteObject'],
  },
  sweep: {
    // list and delete what deleted topics left
    log: ['Query', 'BatchWriteItem'],
    // find leftovers and their uploads; whether one has been made after all; close, mark and remove heads; what deleted
    // groups left; the lease
    state: ['Query', 'GetItem', 'UpdateItem', 'DeleteItem'],
    deadLetters: ['DeleteObject'],
  },
} as const satisfies Record<string, Rights>;

/** Partition keys of uploads in the State table, as `shared/store/keys.ts` makes them. */
const OF_UPLOADS = { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['uploads#*'] } };
/** Partition keys of dead letters and of their redrives, likewise. */
const OF_LETTERS = { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['*#dead-letters', '*#redrives'] } };

/**
 * Where the records and everything known about them are kept: the Log and State tables and the bucket for payloads
 * that are too large for a slot.
 *
 * These are plain tables, not global ones: an append is safe because one region decides every conditional write.
 * No name is given, so that a retained table never stands in the way of the next deployment. The logical ids follow
 * from the ids here: changing one replaces the table, and `test/infra` refuses it.
 */
export class LogStorage extends Construct {
  readonly log: Table;
  readonly state: Table;
  readonly bucket: Bucket;

  constructor(scope: Construct, id: string, { retainData = true, corsOrigins = [] }: LogStorageProps = {}) {
    super(scope, id);
    const removalPolicy = retainData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
    const common = {
      billingMode: BillingMode.PAY_PER_REQUEST,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: retainData,
      removalPolicy,
      timeToLiveAttribute: 'expiresAt',
    } satisfies Partial<TableProps>;

    this.log = new Table(this, 'Log', {
      ...common,
      partitionKey: { name: 'log', type: AttributeType.STRING },
      sortKey: { name: 'last', type: AttributeType.NUMBER },
      stream: StreamViewType.KEYS_ONLY,
    });
    this.state = new Table(this, 'State', {
      ...common,
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      sortKey: { name: 'sk', type: AttributeType.STRING },
    });
    this.bucket = new Bucket(this, 'Bucket', {
      removalPolicy,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      // Objects go when their slot goes, never by age: a rule here could outrun a topic that keeps its records for ever.
      lifecycleRules: [{ id: 'AbortUploads', abortIncompleteMultipartUploadAfter: Duration.days(1) }],
      ...(corsOrigins.length > 0 && { cors: [forUploads(corsOrigins)] }),
    });
    Validations.of(this.bucket).acknowledge({
      id: 'AwsSolutions-S1',
      reason:
        "Only the backbone's own functions may read or write it, and whoever they sign a URL for. A log of every access " +
        'would be a second bucket that grows with each spilled batch; whoever must audit single reads turns on CloudTrail data events for this ' +
        'bucket, which name the caller.',
    });
  }

  /** For a function that appends records. */
  grantAppend(fn: LambdaFunction): void {
    this.#grant(fn, RIGHTS.append);
  }

  /** For a function that reads records, and settles what abandoned appends left. */
  grantRead(fn: LambdaFunction): void {
    this.#grant(fn, RIGHTS.read);
  }

  /** For a function that makes, changes, lists, measures and removes topics. */
  grantAdminister(fn: LambdaFunction): void {
    this.#grant(fn, RIGHTS.administer);
  }

  /** For a function that serves consumer groups. */
  grantConsume(fn: LambdaFunction): void {
    this.#grant(fn, RIGHTS.consume);
  }

  /** For the function that follows the log's stream, which Lambda reads on its behalf. */
  grantDispatch(fn: LambdaFunction): void {
    this.#grant(fn, RIGHTS.dispatch);
    allow(fn, this.log.tableStreamArn!, 'dynamodb', [
      'DescribeStream',
      'GetRecords',
      'GetShardIterator',
      'ListStreams',
    ]);
  }

  /** For a function that looks after subscriptions. */
  grantSubscribe(fn: LambdaFunction): void {
    this.#grant(fn, RIGHTS.subscribe);
  }

  /** For the role of functions that push records to subscribers, and take up what dispatch could not follow. */
  grantDeliver(fn: LambdaFunction): void {
    this.#grant(fn, RIGHTS.deliver);
  }

  /** For the function that removes what nobody needs any more. */
  grantSweep(fn: LambdaFunction): void {
    this.#grant(fn, RIGHTS.sweep);
  }

  #grant(
    fn: LambdaFunction,
    { log, state, uploads = [], letters = [], objects = [], deadLetters = [], bucket = [] }: Rights,
  ): void {
    allow(fn, this.log.tableArn, 'dynamodb', log);
    allow(fn, this.state.tableArn, 'dynamodb', state);
    allow(fn, this.state.tableArn, 'dynamodb', uploads, OF_UPLOADS);
    allow(fn, this.state.tableArn, 'dynamodb', letters, OF_LETTERS);
    this.#allowObjects(fn, '*', objects, 'Every object in the bucket is a payload of this backbone.');
    this.#allowObjects(
      fn,
      'dead-letters/*',
      deadLetters,
      'What lies there are payloads of dead letters, and nothing else.',
    );
    allow(fn, this.bucket.bucketArn, 's3', bucket);
    fn.addEnvironment(ENV.logTable, this.log.tableName);
    fn.addEnvironment(ENV.stateTable, this.state.tableName);
  }

  /** Tells a function where everything is; its rights come with a role that it shares with another. */
  wire(fn: LambdaFunction): void {
    fn.addEnvironment(ENV.logTable, this.log.tableName);
    fn.addEnvironment(ENV.stateTable, this.state.tableName);
    fn.addEnvironment(ENV.bucket, this.bucket.bucketName);
  }

  #allowObjects(fn: LambdaFunction, pattern: string, verbs: readonly string[], reason: string): void {
    if (verbs.length === 0) return;
    allow(fn, this.bucket.arnForObjects(pattern), 's3', verbs);
    fn.addEnvironment(ENV.bucket, this.bucket.bucketName);
    const id = Stack.of(this).getLogicalId(this.bucket.node.defaultChild as CfnBucket);
    Validations.of(fn.role!).acknowledge({
      id: `AwsSolutions-IAM5[Resource::<${id}.Arn>/${pattern}]`,
      reason,
    });
  }
}

/** What a page needs to send a payload as it was announced, and to get it. */
function forUploads(origins: readonly string[]): CorsRule {
  return {
    allowedOrigins: [...origins],
    allowedMethods: [HttpMethods.GET, HttpMethods.HEAD, HttpMethods.PUT],
    allowedHeaders: ['content-type', 'range', 'x-amz-checksum-sha256'],
    exposedHeaders: ['content-range', 'etag', 'x-amz-checksum-sha256'],
    maxAge: Duration.hours(1).toSeconds(),
  };
}

/** Names the resource alone: `Table.grant` would add its indexes, and there are none. */
function allow(
  fn: LambdaFunction,
  resourceArn: string,
  service: string,
  verbs: readonly string[],
  conditions?: Record<string, Record<string, unknown>>,
): void {
  if (verbs.length === 0) return;
  const actions = verbs.map((verb) => `${service}:${verb}`);
  Grant.addToPrincipal({ grantee: fn, actions, resourceArns: [resourceArn], ...(conditions && { conditions }) });
}
