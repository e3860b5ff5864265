import { Validations } from 'aws-cdk-lib';
import { Match, type Template } from 'aws-cdk-lib/assertions';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it } from 'vitest';
import { firstSteps } from '../../shared/wire/first-steps.ts';
import { resourcesOf, synthesise } from '../support/synthesise.ts';

const { stack, template } = synthesise();

describe('stored data', () => {
  const tables = Object.values(resourcesOf(template, 'AWS::DynamoDB::Table'));
  const [bucket] = Object.values(resourcesOf(template, 'AWS::S3::Bucket'));

  it('keeps its logical ids, keys and names: a change here replaces what users have stored', () => {
    expect(statefulParts(template)).toEqual(STATEFUL);
  });

  it('keeps them in an app that has set no feature flags', () => {
    expect(statefulParts(synthesise({}, { flags: false }).template)).toEqual(STATEFUL);
  });

  it('is paid by request, can be restored to any second, and survives stack and mistakes', () => {
    expect(tables).toHaveLength(2);
    for (const table of tables) {
      expect(table).toMatchObject({
        DeletionPolicy: 'Retain',
        UpdateReplacePolicy: 'Retain',
        Properties: {
          BillingMode: 'PAY_PER_REQUEST',
          DeletionProtectionEnabled: true,
          PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
          TimeToLiveSpecification: { AttributeName: 'expiresAt', Enabled: true },
        },
      });
    }
    expect(bucket).toMatchObject({ DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' });
  });

  it('goes with the stack when told so', () => {
    const { template } = synthesise({ retainData: false });
    for (const table of Object.values(resourcesOf(template, 'AWS::DynamoDB::Table'))) {
      expect(table).toMatchObject({ DeletionPolicy: 'Delete', Properties: { DeletionProtectionEnabled: false } });
    }
    template.hasResource('AWS::S3::Bucket', { DeletionPolicy: 'Delete' });
  });

  it('streams the keys of the log, and nothing of the state', () => {
    expect(tables.map((table) => table.Properties.StreamSpecification)).toEqual([
      { StreamViewType: 'KEYS_ONLY' },
      undefined,
    ]);
  });

  it('keeps objects private and encrypted, and lets none expire by age', () => {
    expect(bucket!.Properties).toMatchObject({
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }],
      },
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
      OwnershipControls: { Rules: [{ ObjectOwnership: 'BucketOwnerEnforced' }] },
    });
    expect(bucket!.Properties.LifecycleConfiguration).toEqual({
      Rules: [{ Id: 'AbortUploads', Status: 'Enabled', AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 } }],
    });
  });

  it('refuses access to the bucket without TLS, or with an old one', () => {
    const denied = (Condition: object) =>
      template.hasResourceProperties('AWS::S3::BucketPolicy', {
        PolicyDocument: {
          Statement: Match.arrayWith([Match.objectLike({ Effect: 'Deny', Action: 's3:*', Condition })]),
        },
      });
    denied({ Bool: { 'aws:SecureTransport': 'false' } });
    denied({ NumericLessThan: { 's3:TlsVersion': 1.2 } });
  });
});

it('prints its URL and the first three commands, signed', () => {
  const outputs = Object.fromEntries(
    Object.entries(template.findOutputs('*')).map(([name, output]) => [name, resolved(output.Value)]),
  );
  const curl =
    'curl --aws-sigv4 "aws:amz:REGION:execute-api" --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" ' +
    `\${AWS_SESSION_TOKEN:+-H"X-Amz-Security-Token: $AWS_SESSION_TOKEN"}`;
  const [create, produce, read] = firstSteps('https://API', curl);
  expect(outputs).toEqual({
    ApiUrl: 'https://API',
    PushRoleArn: 'BackboneDeliverRole',
    Step1CreateTopic: create,
    Step2Produce: produce,
    Step3ReadBack: read,
  });
});

it('consists of so many resources', () => {
  expect(Object.keys(resourcesOf(template))).toHaveLength(154);
});

it('passes the AwsSolutions rules of cdk-nag, with three rules argued away', () => {
  expect(new AwsSolutionsChecks().validateScope(stack)).toMatchObject({ success: true, violations: [] });
  const argued = stack.node
    .findAll()
    .flatMap((node) => node.node.metadata)
    .filter((entry) => entry.type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)
    .flatMap((entry) => Object.keys(entry.data as object));
  const objects = (pattern: string) =>
    `Annotation::AwsSolutions-IAM5[Resource::<BackboneStorageBucketD4E7B8EE.Arn>/${pattern}]`;
  expect(new Set(argued)).toEqual(new Set(['Annotation::AwsSolutions-S1', objects('*'), objects('dead-letters/*')]));
});

/** What of every stateful resource must not change, because CloudFormation would replace the resource. */
const STATEFUL = {
  BackboneStorageLog8821B302: {
    Type: 'AWS::DynamoDB::Table',
    TableName: undefined,
    KeySchema: [
      { AttributeName: 'log', KeyType: 'HASH' },
      { AttributeName: 'last', KeyType: 'RANGE' },
    ],
    AttributeDefinitions: [
      { AttributeName: 'log', AttributeType: 'S' },
      { AttributeName: 'last', AttributeType: 'N' },
    ],
  },
  BackboneStorageState2921BEDA: {
    Type: 'AWS::DynamoDB::Table',
    TableName: undefined,
    KeySchema: [
      { AttributeName: 'pk', KeyType: 'HASH' },
      { AttributeName: 'sk', KeyType: 'RANGE' },
    ],
    AttributeDefinitions: [
      { AttributeName: 'pk', AttributeType: 'S' },
      { AttributeName: 'sk', AttributeType: 'S' },
    ],
  },
  BackboneStorageBucketD4E7B8EE: { Type: 'AWS::S3::Bucket', BucketName: undefined },
};

function statefulParts(template: Template): Record<string, object> {
  const tables = Object.entries(resourcesOf(template, 'AWS::DynamoDB::Table')).map(([id, { Type, Properties }]) => {
    const { TableName, KeySchema, AttributeDefinitions } = Properties;
    return [id, { Type, TableName, KeySchema, AttributeDefinitions }];
  });
  const buckets = Object.entries(resourcesOf(template, 'AWS::S3::Bucket')).map(([id, { Type, Properties }]) => [
    id,
    { Type, BucketName: Properties.BucketName },
  ]);
  return Object.fromEntries([...tables, ...buckets]);
}

/** The text that an output will have once its region is REGION and its API is https://API. */
function resolved(value: unknown): string {
  if (typeof value === 'string') return value;
  if (JSON.stringify(value) === '{"Ref":"AWS::Region"}') return 'REGION';
  const { 'Fn::GetAtt': attribute, 'Fn::Join': join } = value as {
    'Fn::GetAtt'?: string[];
    'Fn::Join'?: [string, unknown[]];
  };
  if (attribute?.[1] === 'ApiEndpoint') return 'https://API';
  if (attribute?.[1] === 'Arn') return attribute[0]!.slice(0, -8);
  return join![1].map(resolved).join(join![0]);
}
