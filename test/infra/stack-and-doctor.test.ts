import { expect, it } from 'vitest';
import { backbonesIn, MAPPING, partsOf } from '../../shared/domain/backbone-parts.ts';
import { driftOfFunction, driftOfMapping } from '../../shared/domain/drift-of-functions.ts';
import {
  driftOfBucket,
  driftOfTable,
  driftOfWakeQueue,
  LOG_TABLE,
  STATE_TABLE,
} from '../../shared/domain/drift-of-storage.ts';
import { type Resource, resourcesOf, synthesise } from '../support/synthesise.ts';

// The doctor knows the parts of a stack by their logical ids, and how each must be: this holds it against the stack.
const { template } = synthesise();
const listed = Object.entries(resourcesOf(template)).map(([logicalId, { Type: type }]) => ({
  ...{ logicalId, type, physicalId: logicalId },
}));
const parts = partsOf(listed, 'Backbone')!;
const propertiesOf = (name: string) => resourcesOf(template)[name]!.Properties;

it('finds the one backbone of the stack with all that belongs to it', () => {
  expect(backbonesIn(listed)).toEqual(['Backbone']);
  expect(parts).toMatchObject({
    ...{ logTable: expect.any(String), stateTable: expect.any(String), bucket: expect.any(String) },
    ...{ wakeQueueUrl: expect.any(String), deadLetterQueueUrl: expect.any(String) },
  });
  const count = (type: string) => Object.keys(resourcesOf(template, type)).length;
  expect(parts.functions).toHaveLength(count('AWS::Lambda::Function'));
  expect(parts.functions!.map(({ id }) => id)).toEqual(expect.arrayContaining(['Deliver', 'DeliverAside', 'Sweep']));
  expect(parts.mappings!.map(({ id }) => id).sort()).toEqual(Object.values(MAPPING).sort());
  expect(parts.mappings).toHaveLength(count('AWS::Lambda::EventSourceMapping'));
  expect(parts.schedules).toHaveLength(count('AWS::Events::Rule'));
  expect(parts.alarms).toHaveLength(count('AWS::CloudWatch::Alarm'));
});

it('finds no drift in tables and bucket as the stack makes them', () => {
  const facts = (name: string) => {
    const { KeySchema, AttributeDefinitions, ...is } = propertiesOf(name) as unknown as {
      readonly KeySchema: { readonly AttributeName: string }[];
      readonly AttributeDefinitions: { readonly AttributeName: string; readonly AttributeType: string }[];
      readonly StreamSpecification?: { readonly StreamViewType: string };
      readonly TimeToLiveSpecification: { readonly AttributeName: string; readonly Enabled: boolean };
      readonly PointInTimeRecoverySpecification: { readonly PointInTimeRecoveryEnabled: boolean };
      readonly DeletionProtectionEnabled: boolean;
    };
    const typeOf = (key: string) =>
      AttributeDefinitions.find(({ AttributeName }) => AttributeName === key)!.AttributeType;
    return {
      status: 'ACTIVE',
      keys: KeySchema.map(({ AttributeName: key }) => `${key} ${typeOf(key)}`).join(', '),
      ...(is.StreamSpecification && { stream: { arn: 'arn', view: is.StreamSpecification.StreamViewType } }),
      expiresBy: is.TimeToLiveSpecification.Enabled ? is.TimeToLiveSpecification.AttributeName : null,
      isRecoverable: is.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled,
      isProtected: is.DeletionProtectionEnabled,
      replicas: 0,
    };
  };
  expect(driftOfTable('log', LOG_TABLE, facts(parts.logTable))).toEqual([]);
  expect(driftOfTable('state', STATE_TABLE, facts(parts.stateTable))).toEqual([]);
  const bucket = propertiesOf(parts.bucket) as {
    PublicAccessBlockConfiguration: object;
    LifecycleConfiguration: { Rules: { Id: string; ExpirationInDays?: number }[] };
  };
  const isPrivate = Object.values(bucket.PublicAccessBlockConfiguration).every((value) => value === true);
  const expiring = bucket.LifecycleConfiguration.Rules.filter((rule) => rule.ExpirationInDays !== undefined);
  expect(driftOfBucket('b', { isPrivate, expiringRules: expiring.map(({ Id }) => Id) })).toEqual([]);
});

it('finds no drift in the wake queue, in mappings and in functions as the stack makes them', () => {
  const wake = propertiesOf(parts.wakeQueueUrl!) as {
    VisibilityTimeout: number;
    DelaySeconds?: number;
    RedrivePolicy: { maxReceiveCount: number };
  };
  const queue = {
    arn: 'arn:wake',
    visibilityTimeoutMs: 1_000 * wake.VisibilityTimeout,
    delayMs: 1_000 * (wake.DelaySeconds ?? 0),
    deadLetters: { arn: 'arn:dead', receivesMax: wake.RedrivePolicy.maxReceiveCount },
    ...{ messages: 0, isOpen: false },
  };
  expect(driftOfWakeQueue(queue, 'arn:dead')).toEqual([]);
  for (const part of parts.mappings!) {
    const is = propertiesOf(part.name) as Resource['Properties'] & { FunctionResponseTypes?: string[] };
    const facts = {
      ...{ isEnabled: is.Enabled !== false, state: 'as made', source: 'arn:stream' },
      takesFailures: is.FunctionResponseTypes?.includes('ReportBatchItemFailures') ?? false,
    };
    expect(driftOfMapping(part, facts, { streamArn: 'arn:stream', subscriptions: false })).toEqual([]);
  }
  for (const part of parts.functions!) {
    const { RecursiveLoop } = propertiesOf(part.name);
    expect(driftOfFunction(part, { environment: {}, mayLoop: RecursiveLoop === 'Allow' }, {})).toEqual([]);
  }
});
