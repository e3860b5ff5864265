import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { DescribeTableCommand, DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { HeadBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAuth } from '../../client/auth.ts';
import { Trial } from '../scenarios/trial.ts';
import { Cdk } from './cdk.ts';
import { readDeployment, resourcesOf } from './deployed.ts';

const { stack, folder, assembly } = readDeployment();
const cdk = new Cdk(folder, process.env);
const cloudFormation = new CloudFormationClient({});
const dynamodb = new DynamoDBClient({});
const s3 = new S3Client({ forcePathStyle: true });
/** A second backbone in the same account and region. */
const other = `${stack}Other`;
let otherAssembly: string;

beforeAll(async () => {
  otherAssembly = await cdk.synthesise({ stackName: other });
});
afterAll(() => {
  for (const client of [cloudFormation, dynamodb, s3]) client.destroy();
});

function trialOf(url: string): Trial {
  return new Trial({ url, sign: openAuth({ iam: {} }, new URL(url)), patienceMs: 60_000 });
}

async function statusOf(name: string): Promise<string | undefined> {
  const { Stacks = [] } = await cloudFormation
    .send(new DescribeStacksCommand({ StackName: name }))
    .catch(() => ({ Stacks: [] }));
  return Stacks[0]?.StackStatus;
}

/** Each goes on where the one before ended. */
describe.sequential('a stack', { retry: 0 }, () => {
  let api: Trial;
  let topic: string;

  it('that is deployed again as it is, is not touched', async () => {
    const { outputs, told } = await cdk.deploy(assembly!, stack);
    expect(told).toContain('(no changes)');
    api = trialOf(outputs.ApiUrl!);
    topic = await api.topic('kept');
    await api.produce(topic, [{ key: 'k', value: 'before' }]);
  });

  it('is deployed beside it under another name, and shares nothing with it', async () => {
    const { outputs } = await cdk.deploy(otherAssembly, other);
    const beside = trialOf(outputs.ApiUrl!);
    expect(outputs.ApiUrl).not.toBe(api.target.url);
    await beside.json('GET', `/v1/topics/${topic}`, {}, 404);
    await beside.json('PUT', `/v1/topics/${topic}`, { body: { partitions: 1 } }, 201);
    await beside.produce(topic, [{ value: 'theirs' }]);
    expect((await api.records(topic, 1)).map(({ value }) => value)).toEqual(['before']);
  });

  it('that is updated keeps its data, and its URL', async () => {
    const changed = await cdk.synthesise({ stackName: other, logLevel: 'DEBUG' });
    const { outputs, told } = await cdk.deploy(changed, other);
    expect(told).toContain('UPDATE_COMPLETE');
    const beside = trialOf(outputs.ApiUrl!);
    expect((await beside.records(topic, 1)).map(({ value }) => value)).toEqual(['theirs']);
    await beside.produce(topic, [{ value: 'later' }]);
    expect((await beside.records(topic, 2)).map(({ value }) => value)).toEqual(['theirs', 'later']);
    otherAssembly = changed;
  });

  it('that is destroyed leaves its data, and its neighbour alone', async () => {
    const { log, state, bucket } = await resourcesOf(other);
    await cdk.destroy(otherAssembly, other);
    expect(await statusOf(other)).toBeUndefined();
    expect(await statusOf(stack)).toMatch(/_COMPLETE$/);

    for (const TableName of [log, state]) {
      const { Table } = await dynamodb.send(new DescribeTableCommand({ TableName }));
      expect(Table).toMatchObject({ TableStatus: 'ACTIVE', DeletionProtectionEnabled: true });
    }
    const { Count } = await dynamodb.send(new ScanCommand({ TableName: log, Select: 'COUNT' }));
    expect(Count).toBe(2);
    await s3.send(new HeadBucketCommand({ Bucket: bucket }));
    expect((await api.records(topic, 1)).map(({ value }) => value)).toEqual(['before']);
  });
});
