import { Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import {
  AttributeType,
  BillingMode,
  StreamViewType,
  Table,
  TableEncryption,
  type TableProps,
} from 'aws-cdk-lib/aws-dynamodb';
import { Grant } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
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
import { allowKey } from './encryption.ts';
import { OF_LANES, OF_LETTERS, OF_UPLOADS, RIGHTS, type Rights } from './storage-rights.ts';

export interface LogStorageProps {
  /** Whether the data survives the stack, and is protected from deletion meanwhile. Default true. */
  readonly retainData?: boolean | undefined;
  /** Origins whose pages may use presigned URLs. Default none. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** By which everything is encrypted. Default: keys that AWS keeps. */
  readonly encryptionKey?: IKey | undefined;
}

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
  /** The customer's own; absent: AWS's. */
  readonly encryptionKey: IKey | undefined;

  constructor(
    scope: Construct,
    id: string,
    { retainData = true, corsOrigins = [], encryptionKey }: LogStorageProps = {},
  ) {
    super(scope, id);
    this.encryptionKey = encryptionKey;
    const removalPolicy = retainData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
    const common = {
      billingMode: BillingMode.PAY_PER_REQUEST,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: retainData,
      removalPolicy,
      timeToLiveAttribute: 'expiresAt',
      ...(encryptionKey && { encryption: TableEncryption.CUSTOMER_MANAGED, encryptionKey }),
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
      // With a bucket key S3 asks for a data key now and then, and not for each object: KMS is paid by request.
      ...(encryptionKey
        ? { encryption: BucketEncryption.KMS, encryptionKey, bucketKeyEnabled: true }
        : { encryption: BucketEncryption.S3_MANAGED }),
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

  /** For the function that makes what the stacks of others name. */
  grantProvision(fn: LambdaFunction): void {
    this.#grant(fn, RIGHTS.provision);
  }

  /** For the function that removes what nobody needs any more. */
  grantSweep(fn: LambdaFunction): void {
    this.#grant(fn, RIGHTS.sweep);
  }

  #grant(
    fn: LambdaFunction,
    { log, state, uploads = [], letters = [], lanes = [], objects = [], deadLetters = [], bucket = [] }: Rights,
  ): void {
    allow(fn, this.log.tableArn, 'dynamodb', log);
    allow(fn, this.state.tableArn, 'dynamodb', state);
    allow(fn, this.state.tableArn, 'dynamodb', uploads, OF_UPLOADS);
    allow(fn, this.state.tableArn, 'dynamodb', letters, OF_LETTERS);
    allow(fn, this.state.tableArn, 'dynamodb', lanes, OF_LANES);
    this.#allowObjects(fn, '*', objects, 'Every object in the bucket is a payload of this backbone.');
    this.#allowObjects(
      fn,
      'dead-letters/*',
      deadLetters,
      'What lies there are payloads of dead letters, and nothing else.',
    );
    allow(fn, this.bucket.bucketArn, 's3', bucket);
    allowKey(fn, this.encryptionKey, objects.length + deadLetters.length > 0 ? ['dynamodb', 's3'] : ['dynamodb']);
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
