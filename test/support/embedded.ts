import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { type EmbeddedAws, type EmbeddedAwsOptions, openEmbeddedAws } from '../../local/aws/embedded-aws.ts';
import { createBackboneTables } from '../../local/aws/tables.ts';

export interface EmbeddedTables {
  readonly aws: EmbeddedAws;
  readonly dynamodb: DynamoDBClient;
  readonly logTable: string;
  readonly stateTable: string;
  close(): Promise<void>;
}

/** The Log and State tables of a backbone, empty, on an engine of its own in memory. */
export async function embeddedTables(options: EmbeddedAwsOptions = {}): Promise<EmbeddedTables> {
  const aws = await openEmbeddedAws(options);
  const dynamodb = new DynamoDBClient({ ...aws.clientConfig(), maxAttempts: 1 });
  const names = { logTable: 'log', stateTable: 'state' };
  await createBackboneTables(dynamodb, names);
  const close = async () => {
    dynamodb.destroy();
    await aws.close();
  };
  return { aws, dynamodb, ...names, close };
}
