import { describe, expect, it } from 'vitest';
import { S3_CALLS } from '../../functions/dispatch.ts';
import { CALLS } from '../../functions/tables.ts';
import {
  BACKGROUND_FUNCTION_TIMEOUT_MS,
  BACKGROUND_MARGIN_MS,
  DELIVER_FUNCTION_TIMEOUT_MS,
  OBJECTS_PER_DELETE_MAX,
  SWEEP_RUN_MS,
  WAKE_TRIES_MAX,
} from '../../shared/domain/limits.ts';
import { functionName, type Resource, resourcesOf, synthesise } from '../support/synthesise.ts';

const { template } = synthesise();
const functions = resourcesOf(template, 'AWS::Lambda::Function');
const idOf = (name: string) => Object.keys(functions).find((id) => functionName(functions[id]!) === name)!;
const queues = resourcesOf(template, 'AWS::SQS::Queue');
const queueNamed = (name: string) => Object.entries(queues).find(([id]) => id.includes(name))!;

/** @param naming a word of it */
function mappingOf(source: RegExp, naming = ''): Resource {
  return Object.values(resourcesOf(template, 'AWS::Lambda::EventSourceMapping')).find(
    ({ Properties }) =>
      source.test(JSON.stringify(Properties.EventSourceArn)) && JSON.stringify(Properties).includes(naming),
  )!;
}

describe('the log’s stream', () => {
  const { Properties } = mappingOf(/"StreamArn"/, 'REMOVE');

  it('wakes dispatch for removals alone, from the first record on', () => {
    expect(Properties).toMatchObject({
      FunctionName: { Ref: idOf('dispatch') },
      StartingPosition: 'TRIM_HORIZON',
      FilterCriteria: { Filters: [{ Pattern: JSON.stringify({ eventName: ['REMOVE'] }) }] },
      BatchSize: OBJECTS_PER_DELETE_MAX,
    });
  });

  it('tries again what fails, in halves, for as long as leaves time to look at it', () => {
    const [deadLetters] = queueNamed('DeadLetters');
    expect(Properties).toMatchObject({
      BisectBatchOnFunctionError: true,
      MaximumRecordAgeInSeconds: 12 * 3_600,
      DestinationConfig: { OnFailure: { Destination: { 'Fn::GetAtt': [deadLetters, 'Arn'] } } },
    });
    expect(Properties.FunctionResponseTypes).toBeUndefined();
  });
});

describe('appends in the log’s stream', () => {
  it('wake dispatch once somebody has subscribed, at once, and are not waited for longer than the sweep takes', () => {
    const { Properties } = mappingOf(/"StreamArn"/, 'INSERT');
    expect(Properties).toMatchObject({
      Enabled: false,
      FunctionName: { Ref: idOf('dispatch') },
      StartingPosition: 'LATEST',
      FilterCriteria: { Filters: [{ Pattern: JSON.stringify({ eventName: ['INSERT'] }) }] },
    });
    expect(Properties.MaximumBatchingWindowInSeconds).toBeUndefined();
  });
});

describe('what wakes deliveries', () => {
  it('may be woken by what they push', () => {
    const looping = Object.values(functions)
      .filter(({ Properties }) => Properties.RecursiveLoop === 'Allow')
      .map(functionName);
    const waking = Object.values(functions)
      .filter((fn) => JSON.stringify(fn.Properties.Environment).includes('VERTEBRA_WAKE_QUEUE_URL'))
      .map(functionName);
    expect(looping.sort()).toEqual(waking.sort());
    expect(new Set(looping)).toContain('produce');
  });
});

describe('deliver', () => {
  const both = Object.values(functions).filter((fn) => functionName(fn) === 'deliver');

  it('may wake itself, and has the time that the slowest target may take', () => {
    expect(both).toHaveLength(2);
    for (const { Properties } of both) expect(Properties).toMatchObject({ RecursiveLoop: 'Allow', Timeout: 900 });
  });

  it('takes nothing of the account for itself, which may be a new one, with 10 at once in all', () => {
    expect(JSON.stringify(functions)).not.toContain('ReservedConcurrentExecutions');
  });
});

describe('the wake queue', () => {
  const [id, queue] = queueNamed('Wake');

  it('wakes deliver once somebody has subscribed, which says of each message whether it is done', () => {
    expect(mappingOf(new RegExp(id)).Properties).toMatchObject({
      Enabled: false,
      FunctionName: { Ref: idOf('deliver') },
      BatchSize: 1,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      ScalingConfig: { MaximumConcurrency: 200 },
    });
  });

  it('hides a message for longer than it can be at work, and gives up on it at last', () => {
    const [deadLetters, { Properties }] = queueNamed('DeadLetters');
    expect(queue.Properties).toMatchObject({
      VisibilityTimeout: (6 * DELIVER_FUNCTION_TIMEOUT_MS) / 1_000,
      RedrivePolicy: {
        deadLetterTargetArn: { 'Fn::GetAtt': [deadLetters, 'Arn'] },
        maxReceiveCount: WAKE_TRIES_MAX,
      },
    });
    expect(Properties.MessageRetentionPeriod).toBe(14 * 24 * 3_600);
  });

  it('refuses access without TLS, as the dead letters do', () => {
    const policies = Object.values(resourcesOf(template, 'AWS::SQS::QueuePolicy'));
    expect(policies).toHaveLength(2);
    for (const { Properties } of policies) {
      expect(JSON.stringify(Properties.PolicyDocument)).toContain('"aws:SecureTransport":"false"');
    }
  });
});

describe('dispatch', () => {
  it('has time left to hand on what S3 did not remove, when it called S3 in the last moment', () => {
    const pausesMs = 2_000; // the SDK's, between its attempts, and more than they take
    const handOnMs = CALLS.maxAttempts * CALLS.requestHandler.requestTimeout + pausesMs;
    expect(S3_CALLS.maxAttempts * S3_CALLS.timeoutMs + handOnMs).toBeLessThan(BACKGROUND_MARGIN_MS);
  });
});

describe('a delivery aside', () => {
  it('that dies, or does not begin in time, has its wake-up come back by the queue', () => {
    const configs = Object.values(resourcesOf(template, 'AWS::Lambda::EventInvokeConfig'));
    const config = configs.find(({ Properties }) => JSON.stringify(Properties).includes('DeliverAside'));
    const [wake] = queueNamed('Wake');
    expect(config!.Properties).toMatchObject({
      MaximumRetryAttempts: 0,
      DestinationConfig: { OnFailure: { Destination: { 'Fn::GetAtt': [wake, 'Arn'] } } },
    });
  });
});

describe('the sweep', () => {
  it('is called every minute, and not again when a call failed', () => {
    const [rule] = Object.values(resourcesOf(template, 'AWS::Events::Rule'));
    expect(rule!.Properties).toMatchObject({
      ScheduleExpression: 'rate(1 minute)',
      State: 'ENABLED',
      Targets: [{ Arn: { 'Fn::GetAtt': [idOf('sweep'), 'Arn'] }, RetryPolicy: { MaximumRetryAttempts: 0 } }],
    });
    const configs = Object.values(resourcesOf(template, 'AWS::Lambda::EventInvokeConfig'));
    const config = configs.find(({ Properties }) => JSON.stringify(Properties).includes(idOf('sweep')));
    expect(config!.Properties).toMatchObject({ MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 });
  });

  it('ends before its function does', () => {
    expect(SWEEP_RUN_MS).toBeLessThan(BACKGROUND_FUNCTION_TIMEOUT_MS - BACKGROUND_MARGIN_MS);
  });
});
