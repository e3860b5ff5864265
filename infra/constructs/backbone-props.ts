import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { DELIVER_CONCURRENCY_MAX, INLINE_BATCH_BYTES_MAX } from '../../shared/domain/limits.ts';
import type { LogLevel } from './backbone-function.ts';

/** How callers are known. */
export const AUTH_MODES = ['iam', 'apiKey', 'jwt'] as const;
export type Auth = (typeof AUTH_MODES)[number];

/** Who vouches for callers, where `auth` is `jwt`. */
export interface JwtIssuer {
  /** Its URL, under which `/.well-known/openid-configuration` lies, such as `https://login.example.com`. */
  readonly issuer: string;
  /** Whom its tokens must be meant for: one of these. */
  readonly audience: readonly string[];
}

/**
 * How much runs at once. All but `deliver` is kept free for its function out of the account's concurrency, and is the most
 * that it gets: 100 must be left to the account's other functions. So nothing is reserved unless it is asked for, and a new
 * account, which has 10 in all, can be deployed to.
 */
export interface Concurrency {
  /** Appends. Reserved, neither waiting polls nor deliveries can take it from them. */
  readonly produce?: number | undefined;
  /** Reads; one that waits for records counts all the time. */
  readonly fetch?: number | undefined;
  /** Polls of consumer groups; one that waits for records counts all the time. */
  readonly groups?: number | undefined;
  /** Deliveries that the wake queue starts: at most so many, 2 to 1000, none of them reserved. Default 200. */
  readonly deliver?: number | undefined;
  /** Deliveries of partitions whose target is slow, fails or is away: others are not held up by them. */
  readonly slow?: number | undefined;
}

export interface EventBackboneProps {
  /**
   * Whether tables and bucket survive the stack, and the tables are protected from deletion meanwhile.
   * Default true. With false, deleting the stack deletes every record.
   */
  readonly retainData?: boolean | undefined;
  /**
   * A customer managed KMS key by which tables, bucket and queues are encrypted. Its own policy must let the account's IAM
   * policies count, as that of a key does which the CDK makes. Default: keys that AWS keeps, at no charge.
   */
  readonly encryptionKey?: IKey | undefined;
  /**
   * How callers are known. `iam`, the default: by signed requests, of principals that are allowed `execute-api:Invoke`.
   * `apiKey`: by keys that the API hands out to whoever signs for them. `jwt`: by tokens of an issuer.
   */
  readonly auth?: Auth | undefined;
  /** Where `auth` is `jwt`: whose tokens are taken. */
  readonly jwt?: JwtIssuer | undefined;
  /**
   * Whether the whole API also has a Lambda function URL: it costs nothing beside the function, and takes no longer for the
   * way through a gateway. Its one function may do what all those behind the gateway may. Default false.
   */
  readonly functionUrl?: boolean | undefined;
  /** Origins whose pages may call the API, such as `https://example.com`. Default none: no CORS. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Batches that are larger once compressed go to the bucket, in bytes. Default 32768; 8192 costs least, more is faster. */
  readonly spillAboveBytes?: number | undefined;
  /** How much runs at once. Default: nothing is reserved. */
  readonly concurrency?: Concurrency | undefined;
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

/** Refuses what does not go together, or is out of its range. @throws {Error} with a sentence */
export function checkProps(props: EventBackboneProps): void {
  const { auth = 'iam', jwt, functionUrl = false, spillAboveBytes, concurrency = {} } = props;
  if (auth === 'jwt' && functionUrl)
    throw new Error("'functionUrl' cannot be where auth is 'jwt': Lambda checks no tokens.");
  if (auth === 'jwt' && jwt === undefined)
    throw new Error("With auth 'jwt' the backbone needs 'jwt': issuer and audience.");
  if (auth !== 'jwt' && jwt !== undefined)
    throw new Error(`'jwt' says nothing where auth is '${auth}'; it must be 'jwt'.`);
  if (jwt !== undefined && !jwt.issuer.startsWith('https://')) {
    throw new Error(`'jwt.issuer' must be an https URL; it is '${jwt.issuer}'.`);
  }
  if (jwt?.audience.length === 0) throw new Error("'jwt.audience' must name somebody.");
  inRange('spillAboveBytes', spillAboveBytes, 1, INLINE_BATCH_BYTES_MAX);
  const { deliver, ...reserved } = concurrency;
  // Source: AWS Lambda, "Configuring maximum concurrency for Amazon SQS event sources".
  inRange('concurrency.deliver', deliver, 2, 1_000);
  for (const [name, count] of Object.entries(reserved)) inRange(`concurrency.${name}`, count, 1);
}

/** The cap on deliveries. */
export function deliveriesMax({ concurrency }: EventBackboneProps): number {
  return concurrency?.deliver ?? DELIVER_CONCURRENCY_MAX;
}

function inRange(name: string, value: number | undefined, min: number, max = Number.MAX_SAFE_INTEGER): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= min && value <= max)) return;
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new Error(`'${name}' must be a whole number ${range}; it is ${value}.`);
}
