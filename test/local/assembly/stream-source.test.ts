import { afterEach, describe, expect, it } from 'vitest';
import { ServiceRefusal } from '../../../local/assembly/aws-calls.ts';
import type { MappingProperties } from '../../../local/assembly/event-source.ts';
import { StreamSource } from '../../../local/assembly/stream-source.ts';

const NOW_S = 1_800_000_000;
/** However busy the machine is. */
const SOON = { timeout: 20_000 };
const sources: StreamSource[] = [];
afterEach(() => Promise.all(sources.splice(0).map((source) => source.close())));

interface Seen {
  /** Numbers of the records of each call. */
  readonly calls: string[];
  readonly sent: unknown[];
}

/** Hands the records 1 to 4 to a function, whose answer is told by the numbers that it got; `throw` fails the call. */
function streaming(
  properties: Partial<MappingProperties>,
  answer: (numbers: string) => unknown,
  expired = false,
): Seen {
  const seen: Seen = { calls: [], sent: [] };
  let isExpired = expired;
  const records = [1, 2, 3, 4].map((number) => ({
    eventName: number === 3 ? 'REMOVE' : 'INSERT',
    dynamodb: { SequenceNumber: String(number), ApproximateCreationDateTime: NOW_S - 60 },
  }));
  const source = new StreamSource({
    id: 'one',
    properties: { EventSourceArn: 'arn:aws:dynamodb:us-east-1:000000000000:table/log/stream/x', ...properties },
    fn: {
      ...{ name: 'fn', arn: 'arn:fn' },
      invoke: async (payload) => {
        const { Records } = JSON.parse(payload) as { Records: { dynamodb: { SequenceNumber: string } }[] };
        const numbers = Records.map(({ dynamodb }) => dynamodb.SequenceNumber).join('');
        seen.calls.push(numbers);
        const result = answer(numbers);
        return { payload: JSON.stringify(result), failed: result === 'throw' };
      },
    },
    call: async (operation, body) => {
      const verb = operation.split('.')[1];
      if (verb === 'SendMessage') seen.sent.push(JSON.parse((body as { MessageBody: string }).MessageBody));
      if (verb === 'DescribeStream') return { StreamDescription: { Shards: [{ ShardId: 'shard' }] } };
      if (verb === 'GetShardIterator') return { ShardIterator: '0' };
      if (verb !== 'GetRecords') return {};
      if (isExpired) {
        isExpired = false;
        throw new ServiceRefusal('ExpiredIteratorException', 'expired');
      }
      return { Records: records.splice(0), NextShardIterator: '1' };
    },
    ...{ onFailure: () => {}, onChange: () => () => {}, now: () => NOW_S * 1_000, retryPauseMs: 1 },
  });
  sources.push(source);
  source.switch(true);
  return seen;
}

describe('records of a stream', () => {
  it('are handed on together, once, also after the place to go on at has expired', async () => {
    const seen = streaming({}, () => ({ batchItemFailures: [] }), true);
    await expect.poll(() => seen.calls, SOON).toEqual(['1234']);
  });

  it('are halved where a call fails, until the culprit stands alone, which is given up after its attempts', async () => {
    const Destination = 'arn:aws:sqs:us-east-1:000000000000:dead';
    const seen = streaming(
      { BisectBatchOnFunctionError: true, MaximumRetryAttempts: 1, DestinationConfig: { OnFailure: { Destination } } },
      (numbers) => (numbers.includes('3') ? 'throw' : {}),
    );
    await expect.poll(() => seen.calls, SOON).toEqual(['1234', '12', '34', '3', '3', '4']);
    expect(seen.sent).toMatchObject([{ DDBStreamBatchInfo: { startSequenceNumber: '3', batchSize: 1 } }]);
  });

  it('come again from the first that failed on, where failures are reported', async () => {
    let failures = 1;
    const seen = streaming({ FunctionResponseTypes: ['ReportBatchItemFailures'] }, () => ({
      batchItemFailures: failures-- > 0 ? [{ itemIdentifier: '3' }] : [],
    }));
    await expect.poll(() => seen.calls, SOON).toEqual(['1234', '34']);
  });

  it('are given up when they are too old, and left out when the filter says so', async () => {
    const Filters = [{ Pattern: JSON.stringify({ eventName: ['REMOVE'] }) }];
    const Destination = 'arn:aws:sqs:us-east-1:000000000000:dead';
    const seen = streaming(
      { FilterCriteria: { Filters }, MaximumRecordAgeInSeconds: 30, DestinationConfig: { OnFailure: { Destination } } },
      () => 'throw',
    );
    await expect.poll(() => seen.sent, SOON).toHaveLength(1);
    expect(seen.calls).toEqual(['3']);
  });
});
