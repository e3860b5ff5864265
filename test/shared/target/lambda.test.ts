import { kafkaConsumer, SchemaType } from '@aws-lambda-powertools/kafka';
import type { MSKEvent } from '@aws-lambda-powertools/kafka/types';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import type { Context } from 'aws-lambda';
import { mockClient } from 'aws-sdk-client-mock';
import { describe, expect, it } from 'vitest';
import { type CallLimit, type FunctionAnswer, type Functions, LambdaFunctions } from '../../../shared/target/lambda.ts';
import { deliveryBatch, soon } from '../../support/deliveries.ts';
import { target } from '../../support/target-ports.ts';

const SPEC = { lambda: { functionArn: 'arn:aws:lambda:eu-central-1:1:function:billing' } };
const BATCH = deliveryBatch([{ value: '1' }, { value: '2' }, { value: '3' }]);

class FakeFunctions implements Functions {
  readonly events: (MSKEvent & { vertebra: object })[] = [];
  readonly #answer: (event: MSKEvent) => unknown;

  constructor(answer: (event: MSKEvent) => unknown) {
    this.#answer = answer;
  }

  async invoke(_arn: string, payload: string, _limit: CallLimit): Promise<FunctionAnswer> {
    this.events.push(JSON.parse(payload));
    const result = await this.#answer(JSON.parse(payload));
    return { payload: result === undefined ? 'null' : JSON.stringify(result), failed: false };
  }
}

function refusing(error: Error): Functions {
  return { invoke: () => Promise.reject(error) };
}

function serviceError(name: string, httpStatusCode: number): Error {
  return Object.assign(new Error(`it is ${name}`), { name, $metadata: { httpStatusCode } });
}

describe("a function's event", () => {
  it('is that of the AWS Kafka event source, and says whose it is', async () => {
    const functions = new FakeFunctions(() => undefined);
    const batch = deliveryBatch([
      {
        key: 'order-17',
        value: '{"a":1}',
        headers: [
          ['trace', 'hé'],
          ['trace', ''],
          ['none', null],
        ],
      },
      { key: null, value: null },
    ]);
    expect(await target(SPEC, { functions }).send(batch, soon())).toEqual({ kind: 'done' });
    const common = { topic: 'orders', partition: 3, timestamp: 1_767_225_600_012, timestampType: 'CREATE_TIME' };
    expect(functions.events).toEqual([
      {
        eventSource: 'aws:kafka',
        eventSourceArn: `arn:vertebra:topic:${batch.topicId}`,
        bootstrapServers: '',
        records: {
          'orders-3': [
            {
              ...common,
              offset: 41,
              key: Buffer.from('order-17').toString('base64'),
              value: Buffer.from('{"a":1}').toString('base64'),
              headers: [{ trace: [104, 195, 169] }, { trace: [] }, { none: [] }],
            },
            { ...common, offset: 42, key: null, value: null, headers: [] },
          ],
        },
        vertebra: {
          group: 'billing',
          groupId: '01J00000000000000000000000',
          retentionMs: 604_800_000,
          topicId: batch.topicId,
          partition: 3,
          epoch: 7,
        },
      },
    ]);
  });

  it('is read by an unchanged handler written with Powertools', async () => {
    const read: unknown[] = [];
    const handler = kafkaConsumer<string, { total: number }>(
      async ({ records, eventSource }) => {
        for (const { key, value, offset, headers } of records) read.push({ eventSource, key, value, offset, headers });
      },
      { value: { type: SchemaType.JSON } },
    );
    const functions = new FakeFunctions((event) => handler(event, {} as Context));
    const batch = deliveryBatch([
      { key: 'order-17', value: '{"total":12.5}', headers: [['trace', '00-1']] },
      { key: 'order-18', value: null },
    ]);
    expect(await target(SPEC, { functions }).send(batch, soon())).toEqual({ kind: 'done' });
    expect(read).toEqual([
      { eventSource: 'aws:kafka', key: 'order-17', value: { total: 12.5 }, offset: 41, headers: [{ trace: '00-1' }] },
      { eventSource: 'aws:kafka', key: 'order-18', value: null, offset: 42, headers: [] },
    ]);
  });
});

describe("a function's answer", () => {
  it.each([
    [undefined, { kind: 'done' }],
    [{ batchItemFailures: [] }, { kind: 'done' }],
    [{ batchItemFailures: [{ itemIdentifier: { partition: 'orders-3', offset: 42 } }] }, { kind: 'failed', at: 42 }],
    [{ batchItemFailures: [{ itemIdentifier: 'orders-3:43' }] }, { kind: 'failed', at: 43 }],
    [{ batchItemFailures: [{ itemIdentifier: 'orders-3:44' }] }, { kind: 'failed', error: { name: 'InvalidAnswer' } }],
  ])('%j is %j', async (answer, expected) => {
    const functions = new FakeFunctions(() => answer);
    expect(await target(SPEC, { functions }).send(BATCH, soon())).toMatchObject(expected);
  });

  it.each([
    [{ payload: '{"errorType":"TypeError","errorMessage":"x is\\nnot y"}', failed: true }, 'TypeError', 'x is not y'],
    [
      { payload: '{"errorMessage":"Task timed out after 3.00 seconds"}', failed: true },
      'Error',
      'Task timed out after 3.00 seconds',
    ],
    [{ payload: 'Runtime exited', failed: true }, 'Error', 'Runtime exited'],
    [{ payload: 'nonsense', failed: false }, 'InvalidAnswer', 'the function answered no JSON'],
  ])('%j fails the whole batch', async (answer, name, message) => {
    const functions = { invoke: async () => answer };
    expect(await target(SPEC, { functions }).send(BATCH, soon())).toEqual({ kind: 'failed', error: { name, message } });
  });

  it('fails the batch when it does not come in time', async () => {
    const functions: Functions = {
      invoke: (_arn, _payload, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(Object.assign(new Error('aborted'), { name: 'AbortError' })));
        }),
    };
    expect(await target(SPEC, { functions }).send(BATCH, soon(30))).toMatchObject({
      kind: 'failed',
      error: { name: 'Timeout' },
    });
  });
});

describe('a function that cannot be called', () => {
  it.each([
    ['TooManyRequestsException', 429, 'away'],
    ['ServiceException', 500, 'away'],
    ['EC2ThrottledException', 502, 'away'],
    ['ResourceNotReadyException', 502, 'away'],
    ['ResourceConflictException', 409, 'away'],
    ['SnapStartNotReadyException', 409, 'away'],
    ['ExpiredTokenException', 403, 'away'],
    ['UnrecognizedClientException', 403, 'away'],
    ['AccessDeniedException', 403, 'cannot'],
    ['ResourceNotFoundException', 404, 'cannot'],
    ['KMSAccessDeniedException', 502, 'cannot'],
    ['InvalidRuntimeException', 502, 'cannot'],
    ['RecursiveInvocationException', 400, 'cannot'],
    ['InvalidRequestContentException', 400, 'failed'],
    ['RequestTooLargeException', 413, 'failed'],
  ])('because of %s (%i) is %s', async (name, status, kind) => {
    const functions = refusing(serviceError(name, status));
    expect(await target(SPEC, { functions }).send(BATCH, soon())).toEqual({
      kind,
      error: { name, message: `it is ${name}` },
    });
  });

  it.each(['ECONNREFUSED', 'ENOTFOUND'])('because of %s is away', async (code) => {
    const functions = refusing(Object.assign(new Error(code), { code }));
    expect(await target(SPEC, { functions }).send(BATCH, soon())).toEqual({
      kind: 'away',
      error: { name: 'Error', message: code },
    });
  });

  it('to be called because the connection was lost is away until it has certainly ended', async () => {
    const functions = refusing(Object.assign(new Error('lost'), { code: 'ECONNRESET' }));
    const delivered = await target(SPEC, { functions }).send(BATCH, soon(60_000));
    expect(delivered).toMatchObject({ kind: 'away' });
    expect((delivered as { retryAfterMs: number }).retryAfterMs).toBeGreaterThan(50_000);
  });

  it('because of a fault of ours lets it be known', async () => {
    const functions = refusing(new TypeError('a bug'));
    await expect(target(SPEC, { functions }).send(BATCH, soon())).rejects.toThrow('a bug');
  });
});

describe('a call', () => {
  const large = (mb: number) => Buffer.alloc(mb * 1024 * 1024, 1);

  it('carries as many records as fit, and says where to go on', async () => {
    const functions = new FakeFunctions(() => undefined);
    const batch = deliveryBatch([{ value: large(2) }, { value: large(2) }, { value: large(2) }]);
    expect(await target(SPEC, { functions }).send(batch, soon())).toEqual({ kind: 'part', next: 43 });
    expect(functions.events.map(({ records }) => records['orders-3']!.length)).toEqual([2]);
  });

  it('does not know of records that it did not carry', async () => {
    const functions = new FakeFunctions(() => ({ batchItemFailures: [{ itemIdentifier: 'orders-3:43' }] }));
    const batch = deliveryBatch([{ value: large(2) }, { value: large(2) }, { value: large(2) }]);
    expect(await target(SPEC, { functions }).send(batch, soon())).toMatchObject({
      kind: 'failed',
      error: { name: 'InvalidAnswer' },
    });
  });

  it('carries a link in place of a value that does not fit, or tells that it is too large', async () => {
    const functions = new FakeFunctions(() => undefined);
    const batch = deliveryBatch([{ value: large(5) }]);
    expect(await target(SPEC, { functions }).send(batch, soon())).toEqual({ kind: 'too_large', at: 41 });
    expect(functions.events).toEqual([]);
    const link = { url: 'https://payloads.example/41', size: 5, sha256: 'ab' };
    expect(await target(SPEC, { functions, link: async () => link }).send(batch, soon())).toEqual({ kind: 'done' });
    const [record] = functions.events[0]!.records['orders-3']!;
    expect(JSON.parse(Buffer.from(record!.value ?? '', 'base64').toString())).toEqual(link);
    expect(record!.headers).toEqual([{ 'vertebra-value-encoding': [...Buffer.from('url')] }]);
    expect(await target(SPEC, { functions, link: async () => undefined }).send(batch, soon())).toEqual({
      kind: 'too_large',
      at: 41,
    });
  });
});

describe("AWS's functions", () => {
  it('are called once, and waited for', async () => {
    const client = new LambdaClient({ region: 'eu-central-1' });
    const lambda = mockClient(client);
    const bytes = Object.assign(Buffer.from('{"errorType":"E"}'), { transformToString: () => '{"errorType":"E"}' });
    lambda.on(InvokeCommand).resolves({ FunctionError: 'Unhandled', Payload: bytes as never });
    const limit = { deadline: soon(), signal: new AbortController().signal };
    const answer = await new LambdaFunctions(client).invoke(SPEC.lambda.functionArn, '{}', limit);
    expect(answer).toEqual({ payload: '{"errorType":"E"}', failed: true });
    expect(lambda.commandCalls(InvokeCommand).map(({ args }) => args[0].input)).toEqual([
      { FunctionName: SPEC.lambda.functionArn, InvocationType: 'RequestResponse', Payload: Buffer.from('{}') },
    ]);
    lambda.restore();
  });
});
