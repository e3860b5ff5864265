import { type AttributeValue, DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { CreateQueueCommand, type Message, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { DynamoDBBatchResponse, DynamoDBStreamEvent, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { openBackbone } from '../../functions/backbone.ts';
import { deliverHandler, openDeliver } from '../../functions/deliver.ts';
import { type DispatchHandler, dispatchHandler } from '../../functions/dispatch.ts';
import { openGroups } from '../../functions/groups-backbone.ts';
import { openSweep } from '../../functions/sweep.ts';
import type { ChangeRecord } from '../../local/aws/dynamodb/change-feed.ts';
import { streamEvent } from '../../local/events.ts';
import type { Observation } from '../../shared/domain/observation.ts';
import type { Env } from '../../shared/env.ts';
import type { SweepPorts } from '../../shared/operations/sweep.ts';
import { WakeQueue } from '../../shared/store/wake-queue.ts';
import { FaultHandler } from './fault-handler.ts';
import { type LogBench, openLogBench } from './log-bench.ts';

interface Clients {
  readonly dynamodb: DynamoDBClient;
  readonly s3: S3Client;
  readonly sqs: SQSClient;
}

export interface SweepHost {
  readonly ports: SweepPorts;
  readonly faults: FaultHandler;
  readonly seen: Observation[];
}

export interface DispatchHost {
  /** Works the stream off, or the wake queue. */
  readonly handler: (
    event: DynamoDBStreamEvent | SQSEvent,
    context: Parameters<DispatchHandler>[1],
  ) => Promise<DynamoDBBatchResponse | SQSBatchResponse>;
  readonly faults: FaultHandler;
  readonly seen: Observation[];
}

/** A log bench with the functions that work in the background, and what the log's stream has told. */
export interface BackgroundBench extends LogBench {
  sweepHost(): SweepHost;
  /** @param own clients to be used in place of those with faults */
  dispatchHost(own?: Partial<Clients>): DispatchHost;
  /** Takes what the stream has told of removals since it was last asked. */
  changes(): ChangeRecord[];
  /** Hands all that to a function, as its event source does. */
  follow(host?: DispatchHost): Promise<void>;
  /** Receives what is visible in the wake queue. */
  messages(): Promise<Message[]>;
  /** Every item of a table. */
  items(table: 'log' | 'state'): Promise<Record<string, AttributeValue>[]>;
}

function isQueueEvent(event: DynamoDBStreamEvent | SQSEvent): event is SQSEvent {
  return event.Records.some((record) => 'receiptHandle' in record);
}

/** What a function is told of its time; it is measured on the bench's clock, which stands still. */
export const CONTEXT = { getRemainingTimeInMillis: () => 60_000 };

export async function openBackgroundBench(options: Partial<Env> = {}): Promise<BackgroundBench> {
  const bench = await openLogBench(options);
  const { aws, dynamodb, logTable, stateTable, bucket } = bench.tables;
  const sqs = new SQSClient({ ...aws.clientConfig(), maxAttempts: 1 });
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: 'wake' }));
  const clients: { destroy(): void }[] = [sqs];
  const told: ChangeRecord[] = [];
  // What is new is told by itself.
  const stopListening = aws.onChange(logTable, (record) => record.eventName === 'REMOVE' && told.push(record));
  const host = () => {
    const config = aws.clientConfig();
    const faults = new FaultHandler(config.requestHandler);
    const own = { ...config, requestHandler: faults, maxAttempts: 1 };
    const opened = { dynamodb: new DynamoDBClient(own), s3: new S3Client(own), sqs: new SQSClient(own) };
    clients.push(...Object.values(opened));
    const seen: Observation[] = [];
    return { ...opened, faults, seen, tell: (observation: Observation) => seen.push(observation) };
  };
  const dispatchHost = (own: Partial<Clients> = {}): DispatchHost => {
    const { dynamodb, s3, sqs, faults, seen, tell } = { ...host(), ...own };
    const backbone = openBackbone({ dynamodb, s3 }, bench.tables, tell, bench.clock);
    const dispatch = dispatchHandler(() => ({ ...backbone, wakeQueue: new WakeQueue(sqs, QueueUrl!) }));
    const groups = openGroups(backbone, { s3, sqs }, { bucket, deadLetterQueueUrl: QueueUrl! });
    const nobody = () => Promise.reject(new Error('nobody is pushed to'));
    const deliver = deliverHandler(() => openDeliver(groups, sqs, { wakeQueueUrl: QueueUrl! }, () => nobody));
    const handler: DispatchHost['handler'] = (event, context) =>
      isQueueEvent(event) ? deliver(event, context) : dispatch(event, context);
    return { handler, faults, seen };
  };
  const usual = dispatchHost();
  return {
    ...bench,
    dispatchHost,
    sweepHost() {
      const { dynamodb, s3, faults, seen, tell } = host();
      const sleep = async (ms: number) => bench.clock.pass(ms);
      return { ports: { ...openSweep({ dynamodb, s3 }, bench.tables, tell, bench.clock), sleep }, faults, seen };
    },
    changes: () => told.splice(0),
    async follow(by = usual) {
      await by.handler(streamEvent(told.splice(0)), CONTEXT);
    },
    async messages() {
      const received = await sqs.send(
        new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, MessageSystemAttributeNames: ['All'] }),
      );
      return received.Messages ?? [];
    },
    async items(table) {
      const TableName = table === 'log' ? logTable : stateTable;
      return (await dynamodb.send(new ScanCommand({ TableName, ConsistentRead: true }))).Items ?? [];
    },
    async close() {
      stopListening();
      for (const client of clients) client.destroy();
      await bench.close();
    },
  };
}
