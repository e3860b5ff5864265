import { describe, expect, it } from 'vitest';
import { CannotLook } from '../../../shared/domain/finding.ts';
import { BucketSettings } from '../../../shared/store/bucket-settings.ts';
import { FunctionSettings } from '../../../shared/store/function-settings.ts';
import { QueueSettings } from '../../../shared/store/queue-settings.ts';
import { stackResources } from '../../../shared/store/stack-resources.ts';
import { TableSettings } from '../../../shared/store/table-settings.ts';
import { alarmsNamed, isRuleEnabled } from '../../../shared/store/watch-settings.ts';

/** A client that answers each command by its name; an `Error` is thrown. */
function answering(answers: Readonly<Record<string, object | readonly object[]>>) {
  const asked: object[] = [];
  const left = new Map(Object.entries(answers).map(([name, answer]) => [name, [answer].flat()]));
  const send = async (command: { readonly input: object }) => {
    const name = command.constructor.name.replace(/Command$/, '');
    asked.push(command.input);
    const answer = left.get(name)?.shift();
    if (answer === undefined) throw new Error(`${name} was not expected`);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { asked, send: send as never };
}

const named = (name: string) => Object.assign(new Error(`${name}, it says`), { name });
const NOT_FOUND = named('ResourceNotFoundException');
const DENIED = named('AccessDeniedException');
const UNKNOWN = named('UnknownOperationException');

const table = {
  Table: {
    TableStatus: 'ACTIVE',
    // As AWS may order them.
    KeySchema: [
      { AttributeName: 'last', KeyType: 'RANGE' },
      { AttributeName: 'log', KeyType: 'HASH' },
    ],
    AttributeDefinitions: [
      { AttributeName: 'last', AttributeType: 'N' },
      { AttributeName: 'log', AttributeType: 'S' },
    ],
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' },
    LatestStreamArn: 'arn:stream',
    DeletionProtectionEnabled: true,
  },
};
const expiry = { TimeToLiveDescription: { TimeToLiveStatus: 'ENABLED', AttributeName: 'expiresAt' } };
const backups = (PointInTimeRecoveryStatus: string) => ({
  ContinuousBackupsDescription: { PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus } },
});

describe('a table', () => {
  it('tells its keys, stream, expiry and recovery', async () => {
    const answers = { DescribeTable: table, DescribeTimeToLive: expiry, DescribeContinuousBackups: backups('ENABLED') };
    expect(await new TableSettings(answering(answers)).read('t')).toEqual({
      ...{ status: 'ACTIVE', keys: 'log S, last N', stream: { arn: 'arn:stream', view: 'KEYS_ONLY' } },
      ...{ expiresBy: 'expiresAt', isRecoverable: true, isProtected: true, replicas: 0 },
    });
  });

  it('tells what is off; an engine without backups tells nothing of them', async () => {
    const off = { TimeToLiveDescription: { TimeToLiveStatus: 'DISABLED' } };
    const read = (DescribeContinuousBackups: object) =>
      new TableSettings(answering({ DescribeTable: table, DescribeTimeToLive: off, DescribeContinuousBackups })).read(
        't',
      );
    expect(await read(backups('DISABLED'))).toMatchObject({ expiresBy: null, isRecoverable: false });
    expect(await read(UNKNOWN)).not.toHaveProperty('isRecoverable');
  });

  it('is not there, or may not be looked at', async () => {
    expect(await new TableSettings(answering({ DescribeTable: NOT_FOUND })).read('t')).toBeUndefined();
    await expect(new TableSettings(answering({ DescribeTable: DENIED })).read('t')).rejects.toThrow(CannotLook);
    const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    await expect(new TableSettings(answering({ DescribeTable: away })).read('t')).rejects.toThrow(CannotLook);
    await expect(new TableSettings(answering({})).read('t')).rejects.toThrow('was not expected');
  });
});

describe('a bucket', () => {
  const blocked = {
    BlockPublicAcls: true,
    IgnorePublicAcls: true,
    BlockPublicPolicy: true,
    RestrictPublicBuckets: true,
  };
  const read = (GetPublicAccessBlock: object, GetBucketLifecycleConfiguration: object) =>
    new BucketSettings(answering({ HeadBucket: {}, GetPublicAccessBlock, GetBucketLifecycleConfiguration })).read('b');

  it('tells who may read it, and which rules delete objects', async () => {
    const Rules = [
      { ID: 'abort', Status: 'Enabled', AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 } },
      { ID: 'old', Status: 'Enabled', Expiration: { Days: 30 } },
      { ID: 'unused', Status: 'Disabled', Expiration: { Days: 30 } },
    ];
    const block = { PublicAccessBlockConfiguration: blocked };
    expect(await read(block, { Rules })).toEqual({ isPrivate: true, expiringRules: ['old'] });
    const open = { PublicAccessBlockConfiguration: { ...blocked, BlockPublicPolicy: false } };
    expect(await read(open, { Rules: [] })).toEqual({ isPrivate: false, expiringRules: [] });
  });

  it('has no setting that nobody made; an engine that knows of none tells nothing', async () => {
    const none = [named('NoSuchPublicAccessBlockConfiguration'), named('NoSuchLifecycleConfiguration')] as const;
    expect(await read(...none)).toEqual({ isPrivate: false, expiringRules: [] });
    expect(await read(named('NotImplemented'), named('NotImplemented'))).toEqual({});
  });

  it('is not there', async () => {
    expect(await new BucketSettings(answering({ HeadBucket: named('NotFound') })).read('b')).toBeUndefined();
  });
});

it('a queue tells its times, where it puts what fails, and how much is in it', async () => {
  const Attributes = {
    ...{ QueueArn: 'arn:wake', VisibilityTimeout: '5400', DelaySeconds: '0', ApproximateNumberOfMessages: '7' },
    RedrivePolicy: '{"deadLetterTargetArn":"arn:dead","maxReceiveCount":12}',
  };
  expect(await new QueueSettings(answering({ GetQueueAttributes: { Attributes } })).read('u')).toEqual({
    ...{ arn: 'arn:wake', visibilityTimeoutMs: 5_400_000, delayMs: 0, messages: 7, isOpen: false },
    deadLetters: { arn: 'arn:dead', receivesMax: 12 },
  });
  const policy = async (...Statement: object[]) => {
    const policed = { ...Attributes, SqsManagedSseEnabled: 'true', Policy: JSON.stringify({ Statement }) };
    const { isOpen, requiresTls } = (await new QueueSettings(
      answering({ GetQueueAttributes: { Attributes: policed } }),
    ).read('u'))!;
    return { isOpen, requiresTls };
  };
  const Principal = { AWS: '*' };
  const Condition = { Bool: { 'aws:SecureTransport': 'false' } };
  expect(await policy({ Effect: 'Deny', Principal, Condition })).toEqual({ isOpen: false, requiresTls: true });
  expect(await policy({ Effect: 'Allow', Principal })).toEqual({ isOpen: true, requiresTls: false });
  const limited = { Effect: 'Allow', Principal: '*', Condition: { ArnEquals: { 'aws:SourceArn': 'arn:a' } } };
  expect(await policy(limited)).toEqual({ isOpen: false, requiresTls: false });
  const gone = answering({ GetQueueAttributes: named('QueueDoesNotExist') });
  expect(await new QueueSettings(gone).read('u')).toBeUndefined();
});

describe('a function', () => {
  const read = (is: object, limit: object = {}, loop: object = { RecursiveLoop: 'Allow' }) =>
    new FunctionSettings(
      answering({ GetFunctionConfiguration: is, GetFunctionConcurrency: limit, GetFunctionRecursionConfig: loop }),
    ).read('f');

  it('tells its variables, and what keeps it from running', async () => {
    const fine = { State: 'Active', LastUpdateStatus: 'Successful', Environment: { Variables: { A: '1' } } };
    expect(await read(fine)).toEqual({ environment: { A: '1' }, mayLoop: true });
    const failed = { ...fine, LastUpdateStatus: 'Failed', LastUpdateStatusReason: 'no role' };
    expect(await read(failed, { ReservedConcurrentExecutions: 0 }, { RecursiveLoop: 'Terminate' })).toEqual({
      ...{ environment: { A: '1' }, concurrency: 0, mayLoop: false, fault: 'its last update failed: no role' },
    });
    expect(await read({ State: 'Inactive', StateReason: 'idle' }, UNKNOWN, UNKNOWN)).toEqual({
      ...{ environment: {}, fault: 'it is Inactive: idle' },
    });
    expect(await read(NOT_FOUND)).toBeUndefined();
  });

  it('is called by a mapping that is on, or off', async () => {
    const readMapping = (is: object) =>
      new FunctionSettings(answering({ GetEventSourceMapping: is })).readMapping('id');
    const on = {
      ...{ State: 'Enabled', EventSourceArn: 'arn:stream', LastProcessingResult: 'OK' },
      FunctionResponseTypes: ['ReportBatchItemFailures'],
    };
    expect(await readMapping(on)).toEqual({
      ...{ isEnabled: true, state: 'Enabled', source: 'arn:stream', lastResult: 'OK', takesFailures: true },
    });
    expect(await readMapping({ State: 'Disabling' })).toMatchObject({ isEnabled: false, takesFailures: false });
    expect(await readMapping(NOT_FOUND)).toBeUndefined();
  });
});

describe('a stack', () => {
  it('lists what it made, page after page', async () => {
    const summary = (LogicalResourceId: string, PhysicalResourceId?: string) => ({
      ...{ LogicalResourceId, ResourceType: 'AWS::SQS::Queue', ...(PhysicalResourceId && { PhysicalResourceId }) },
    });
    const client = answering({
      ListStackResources: [
        { StackResourceSummaries: [summary('A', 'a')], NextToken: 'more' },
        { StackResourceSummaries: [summary('B')] },
      ],
    });
    expect(await stackResources(client, 's')).toEqual([
      { logicalId: 'A', type: 'AWS::SQS::Queue', physicalId: 'a' },
      { logicalId: 'B', type: 'AWS::SQS::Queue' },
    ]);
    expect(client.asked).toEqual([{ StackName: 's' }, { StackName: 's', NextToken: 'more' }]);
  });

  it('that is not there cannot be looked at', async () => {
    const missing = Object.assign(new Error('Stack with id s does not exist'), { name: 'ValidationError' });
    await expect(stackResources(answering({ ListStackResources: missing }), 's')).rejects.toThrow(CannotLook);
  });
});

it('alarms are asked for a hundred at a time', async () => {
  const names = Array.from({ length: 101 }, (_, i) => `a${i}`);
  const client = answering({
    DescribeAlarms: [
      { MetricAlarms: [{ AlarmName: 'a0', StateValue: 'OK', ActionsEnabled: true }], CompositeAlarms: [] },
      { CompositeAlarms: [{ AlarmName: 'a100', StateValue: 'ALARM', ActionsEnabled: false }] },
    ],
  });
  expect(await alarmsNamed(client, names)).toEqual([
    { name: 'a0', state: 'OK', areActionsEnabled: true },
    { name: 'a100', state: 'ALARM', areActionsEnabled: false },
  ]);
  expect(client.asked).toMatchObject([{ AlarmNames: { length: 100 } }, { AlarmNames: ['a100'] }]);
});

it('a rule is enabled, disabled, or not there', async () => {
  const ask = (DescribeRule: object) => isRuleEnabled(answering({ DescribeRule }), 'r');
  expect(await ask({ State: 'ENABLED' })).toBe(true);
  expect(await ask({ State: 'DISABLED' })).toBe(false);
  expect(await ask(NOT_FOUND)).toBeUndefined();
});
