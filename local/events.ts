import type { Message } from '@aws-sdk/client-sqs';
import type { DynamoDBRecord, DynamoDBStreamEvent, SQSEvent } from 'aws-lambda';
import type { ChangeRecord } from './aws/dynamodb/change-feed.ts';
import { REGION } from './aws/dynamodb/store-view.ts';

/** What is used of a change. */
export type ToldChange = Pick<ChangeRecord, 'eventName'> & {
  readonly dynamodb: Pick<ChangeRecord['dynamodb'], 'Keys'>;
};

/** The event that a table's stream hands to a function. */
export function streamEvent(records: readonly ToldChange[]): DynamoDBStreamEvent {
  return { Records: records as readonly ToldChange[] as DynamoDBRecord[] };
}

/** The event that a queue hands to a function, of messages received with their system attributes. */
export function queueEvent(messages: readonly Message[], queueArn: string): SQSEvent {
  return {
    Records: messages.map(({ MessageId, ReceiptHandle, Body = '', Attributes = {}, MD5OfBody = '' }) => ({
      messageId: MessageId!,
      receiptHandle: ReceiptHandle!,
      body: Body,
      attributes: {
        ApproximateReceiveCount: Attributes.ApproximateReceiveCount ?? '1',
        SentTimestamp: Attributes.SentTimestamp ?? '0',
        SenderId: Attributes.SenderId ?? '',
        ApproximateFirstReceiveTimestamp: Attributes.ApproximateFirstReceiveTimestamp ?? '0',
      },
      messageAttributes: {},
      md5OfBody: MD5OfBody,
      eventSource: 'aws:sqs',
      eventSourceARN: queueArn,
      awsRegion: REGION,
    })),
  };
}
