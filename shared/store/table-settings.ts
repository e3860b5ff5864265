import {
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  type TableDescription,
} from '@aws-sdk/client-dynamodb';
import type { TableFacts } from '../domain/deployed-facts.ts';
import type { DynamoDB } from './dynamo.ts';
import { look, lookFor } from './looks.ts';

/** How tables are set up. */
export class TableSettings {
  readonly #dynamodb: DynamoDB;

  constructor(dynamodb: DynamoDB) {
    this.#dynamodb = dynamodb;
  }

  /** @returns undefined when there is none of this name @throws {CannotLook} */
  async read(TableName: string): Promise<TableFacts | undefined> {
    const table = (await lookFor(this.#dynamodb.send(new DescribeTableCommand({ TableName }))))?.Table;
    if (table === undefined) return undefined;
    const expiry = await lookFor(this.#dynamodb.send(new DescribeTimeToLiveCommand({ TableName })));
    const { TimeToLiveStatus, AttributeName } = expiry?.TimeToLiveDescription ?? {};
    const expires = TimeToLiveStatus === 'ENABLED' || TimeToLiveStatus === 'ENABLING';
    const backups = await look(this.#dynamodb.send(new DescribeContinuousBackupsCommand({ TableName })));
    const recovery =
      backups === 'not told'
        ? undefined
        : backups?.ContinuousBackupsDescription?.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus;
    const { LatestStreamArn: arn, StreamSpecification: stream } = table;
    return {
      status: table.TableStatus ?? 'UNKNOWN',
      keys: keysOf(table),
      ...(stream?.StreamEnabled && arn && { stream: { arn, view: stream.StreamViewType ?? 'none' } }),
      expiresBy: expires ? (AttributeName ?? null) : null,
      ...(backups !== 'not told' && { isRecoverable: recovery === 'ENABLED' }),
      isProtected: table.DeletionProtectionEnabled === true,
      replicas: table.Replicas?.length ?? 0,
    };
  }
}

function keysOf({ KeySchema = [], AttributeDefinitions = [] }: TableDescription): string {
  return KeySchema.toSorted((a, b) => Number(a.KeyType === 'RANGE') - Number(b.KeyType === 'RANGE'))
    .map(({ AttributeName: name }) => {
      const type = AttributeDefinitions.find(({ AttributeName }) => AttributeName === name)?.AttributeType;
      return `${name} ${type}`;
    })
    .join(', ');
}
