import { Stack } from 'aws-cdk-lib';
import { Grant } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';

/**
 * What services do with a key in the name of who calls them. Sources: AWS, DynamoDB, "Authorizing use of your KMS key"; S3,
 * "Using server-side encryption with AWS KMS keys"; SQS, "Configuring AWS KMS permissions".
 */
const ACTIONS = [
  'Decrypt',
  'DescribeKey',
  'Encrypt',
  'GenerateDataKey',
  'GenerateDataKeyWithoutPlaintext',
  'ReEncryptFrom',
  'ReEncryptTo',
].map((verb) => `kms:${verb}`);

/** Lets a function use stored data that is encrypted by this key: by way of these services, and not by itself. */
export function allowKey(
  fn: LambdaFunction,
  key: IKey | undefined,
  services: readonly ('dynamodb' | 's3' | 'sqs')[],
): void {
  if (key === undefined) return;
  const { region } = Stack.of(fn);
  Grant.addToPrincipal({
    grantee: fn,
    actions: ACTIONS,
    resourceArns: [key.keyArn],
    conditions: { StringEquals: { 'kms:ViaService': services.map((service) => `${service}.${region}.amazonaws.com`) } },
  });
}
