import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { LOG_LEVELS, type LogLevel } from './constructs/backbone-function.ts';
import { AUTH_MODES, type Auth, type Concurrency, type JwtIssuer } from './constructs/backbone-props.ts';

/** What a deployment may choose, as `cdk.json` context or by `-c name=value`. */
export interface Settings {
  /** Name of the CloudFormation stack. Default `Vertebra`. */
  readonly stackName: string;
  /** Whether tables and bucket survive the stack. Default true. */
  readonly retainData: boolean;
  /** ARN of the KMS key by which stored data is encrypted. Default none: keys that AWS keeps. */
  readonly encryptionKeyArn?: string;
  /** How callers are known: `iam`, the default, `apiKey` or `jwt`. */
  readonly auth: Auth;
  /** From `jwtIssuer`, and `jwtAudience`: as context, an array or a comma-separated list. */
  readonly jwt?: JwtIssuer;
  /** Whether the API also has a Lambda function URL. Default false. */
  readonly functionUrl: boolean;
  /** Origins whose pages may call the API; as context, an array or a comma-separated list. Default none. */
  readonly corsOrigins: readonly string[];
  /** What the functions log. Default `INFO`. */
  readonly logLevel: LogLevel;
  /** Days for which log lines are kept, such as 7 or 365. Default 30. */
  readonly logRetention: RetentionDays;
  /** Whether X-Ray records calls. Default false. */
  readonly tracing: boolean;
  /** ARN of the SNS topic that alarms tell. Default none: no alarms. */
  readonly alarmTopicArn?: string;
  /** Whether there is a dashboard. Default false. */
  readonly dashboard: boolean;
  /** Batches that are larger once compressed go to the bucket, in bytes. Default 32768. */
  readonly spillAboveBytes?: number;
  /** From `produceConcurrency`, `fetchConcurrency` and so on. Default: nothing is reserved. */
  readonly concurrency: Concurrency;
}

/**
 * Reads the settings from CDK context, where values that come by `-c` are always text.
 *
 * @throws {Error} with a sentence that names the setting and what it may be
 */
export function readSettings(context: (name: string) => unknown): Settings {
  return {
    stackName: text('stackName', context('stackName') ?? 'Vertebra'),
    retainData: yesOrNo('retainData', context('retainData') ?? true),
    ...arnIn('encryptionKeyArn', context('encryptionKeyArn'), 'kms', 'a KMS key'),
    auth: oneOf('auth', context('auth') ?? 'iam', AUTH_MODES),
    ...jwtIn(context('jwtIssuer'), context('jwtAudience')),
    functionUrl: yesOrNo('functionUrl', context('functionUrl') ?? false),
    corsOrigins: list('corsOrigins', context('corsOrigins') ?? []),
    logLevel: oneOf('logLevel', context('logLevel') ?? 'INFO', LOG_LEVELS),
    logRetention: days('logRetentionDays', context('logRetentionDays') ?? RetentionDays.ONE_MONTH),
    tracing: yesOrNo('tracing', context('tracing') ?? false),
    ...arnIn('alarmTopicArn', context('alarmTopicArn'), 'sns', 'an SNS topic'),
    dashboard: yesOrNo('dashboard', context('dashboard') ?? false),
    ...optional('spillAboveBytes', context('spillAboveBytes'), count),
    concurrency: Object.assign(
      {},
      ...['produce', 'fetch', 'groups', 'deliver', 'slow'].map((name) => {
        const value = context(`${name}Concurrency`);
        return value === undefined ? {} : { [name]: count(`${name}Concurrency`, value) };
      }),
    ),
  };
}

function text(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') throw refusal(name, 'a text', value);
  return value;
}

function yesOrNo(name: string, value: unknown): boolean {
  if (value === true || value === 'true') return true;
  if (value === false || value === 'false') return false;
  throw refusal(name, 'true or false', value);
}

function oneOf<T extends string>(name: string, value: unknown, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) throw refusal(name, allowed.map((each) => `'${each}'`).join(' or '), value);
  return found;
}

function count(name: string, value: unknown): number {
  const number = typeof value === 'string' && /^\d{1,6}$/.test(value) ? Number(value) : value;
  if (!Number.isSafeInteger(number) || (number as number) < 1) throw refusal(name, 'a whole number above 0', value);
  return number as number;
}

/** CloudWatch keeps lines for as many days as one of its own numbers says, and for no other. */
function days(name: string, value: unknown): RetentionDays {
  const found = Object.values(RetentionDays).find((each) => typeof each === 'number' && each === Number(value));
  if (found === undefined || value === '')
    throw refusal(name, 'a number of days that CloudWatch knows, such as 7, 30 or 365', value);
  return found as RetentionDays;
}

function arnIn<Name extends string>(
  name: Name,
  value: unknown,
  service: string,
  what: string,
): { [name in Name]?: string } {
  return optional(name, value, () => {
    const found =
      typeof value === 'string' && new RegExp(`^arn:aws[\\w-]*:${service}:[\\w-]+:\\d{12}:[\\w/-]+$`).test(value);
    if (!found) throw refusal(name, `the ARN of ${what}`, value);
    return value;
  });
}

function jwtIn(issuer: unknown, audience: unknown): { jwt?: JwtIssuer } {
  if (issuer === undefined && audience === undefined) return {};
  return { jwt: { issuer: text('jwtIssuer', issuer), audience: list('jwtAudience', audience) } };
}

function optional<Name extends string, T>(
  name: Name,
  value: unknown,
  read: (name: string, value: unknown) => T,
): { [name in Name]?: T } {
  return value === undefined ? {} : ({ [name]: read(name, value) } as { [name in Name]?: T });
}

function list(name: string, value: unknown): string[] {
  const items = typeof value === 'string' ? value.split(',').map((item) => item.trim()) : value;
  if (!Array.isArray(items) || !items.every((item) => typeof item === 'string')) {
    throw refusal(name, 'a list of texts, or one text with commas', value);
  }
  return items.filter((item) => item !== '');
}

function refusal(name: string, wanted: string, got: unknown): Error {
  return new Error(`The setting '${name}' must be ${wanted}; it is ${JSON.stringify(got)}.`);
}
