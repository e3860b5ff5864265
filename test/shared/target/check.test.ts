import { DescribeEventBusCommand, EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { GetFunctionConfigurationCommand, InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import type { TargetSpec } from '../../../shared/domain/target-spec.ts';
import { awsChecks, checkSpec } from '../../../shared/target/check.ts';
import { answerCheck, RemoteCheck } from '../../../shared/target/remote-check.ts';

const HOME = {
  region: 'eu-central-1',
  accountId: '123456789012',
  role: 'arn:aws:iam::123456789012:role/push',
  ownNames: ['Vertebra-'],
};
const clients = {
  lambda: new LambdaClient({ region: HOME.region }),
  sqs: new SQSClient({ region: HOME.region }),
  eventBridge: new EventBridgeClient({ region: HOME.region }),
};
const lambda = mockClient(clients.lambda);
const sqs = mockClient(clients.sqs);
const eventBridge = mockClient(clients.eventBridge);
const checks = awsChecks(clients, HOME, { loopback: false, ownHosts: [] });
const check = (target: TargetSpec) => checkSpec(target, checks);

const fn = (arn = 'arn:aws:lambda:eu-central-1:123456789012:function:invoices') => ({ lambda: { functionArn: arn } });
const queue = (url = 'https://sqs.eu-central-1.amazonaws.com/123456789012/invoices') => ({ sqs: { queueUrl: url } });
const bus = (name = 'invoices') => ({ eventBridge: { eventBusName: name } });
const denied = Object.assign(new Error('not authorized'), { name: 'AccessDeniedException' });

beforeEach(() => {
  for (const mock of [lambda, sqs, eventBridge]) mock.reset();
  lambda.on(GetFunctionConfigurationCommand).resolves({ Timeout: 30 });
});

describe('a target', () => {
  it('that is there and lets in is taken, a function with its own timeout, and nothing is run or sent', async () => {
    expect(await check(fn())).toEqual({ timeoutMs: 30_000 });
    expect(await check(queue())).toEqual({});
    expect(await check(bus())).toEqual({});
    expect(await check(bus('arn:aws:events:eu-central-1:123456789012:event-bus/invoices'))).toEqual({});
    expect(lambda.commandCalls(InvokeCommand).map(({ args }) => args[0].input.InvocationType)).toEqual(['DryRun']);
  });

  it.each([
    ['a function elsewhere', fn('arn:aws:lambda:us-east-1:123456789012:function:a'), 'us-east-1'],
    ["somebody else's function", fn('arn:aws:lambda:eu-central-1:999999999999:function:a'), '999999999999'],
    ["the backbone's own function", fn('arn:aws:lambda:eu-central-1:123456789012:function:Vertebra-Produce'), 'own'],
    ['no function', fn('invoices'), 'ARN'],
    ['a module', fn('file:./handler.mjs'), 'ARN'],
    ['a queue in another region', queue('https://sqs.us-east-1.amazonaws.com/123456789012/a'), 'us-east-1'],
    ["the backbone's own queue", queue('https://sqs.eu-central-1.amazonaws.com/123456789012/Vertebra-Wake'), 'own'],
    ['no queue', queue('https://example.com/123456789012/a'), 'URL'],
    ['a bus elsewhere', bus('arn:aws:events:us-east-1:123456789012:event-bus/a'), 'us-east-1'],
    ['no bus', bus('a b'), 'bus'],
  ] as const)('that is %s is not allowed, and nobody is asked', async (_, target, word) => {
    await expect(check(target)).rejects.toMatchObject({
      code: 'target_not_allowed',
      message: expect.stringContaining(word),
    });
    for (const mock of [lambda, sqs, eventBridge]) expect(mock.calls()).toEqual([]);
  });

  it('that does not let in is forbidden, with the command by which it does', async () => {
    lambda.on(InvokeCommand).rejects(denied);
    sqs.on(GetQueueAttributesCommand).rejects(denied);
    eventBridge.on(DescribeEventBusCommand).rejects(denied);
    for (const [target, word] of [
      [fn(), 'aws lambda add-permission'],
      [queue(), 'aws sqs set-queue-attributes'],
      [bus(), 'aws events put-permission'],
    ] as const) {
      const refusal = await check(target).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ code: 'target_forbidden', data: { command: expect.stringContaining(word) } });
      expect((refusal as { data: { command: string } }).data.command).toContain(HOME.role);
    }
  });

  it('that is not there, or takes too long, is not allowed', async () => {
    lambda.on(GetFunctionConfigurationCommand).resolves({ Timeout: 841 });
    await expect(check(fn())).rejects.toMatchObject({
      code: 'target_not_allowed',
      message: expect.stringContaining('841'),
    });
    const missing = Object.assign(new Error('Function not found'), { name: 'ResourceNotFoundException' });
    lambda.on(GetFunctionConfigurationCommand).rejects(missing);
    await expect(check(fn())).rejects.toMatchObject({
      code: 'target_not_allowed',
      message: expect.stringContaining('not found'),
    });
  });

  it('that cannot be looked at now is to be tried again', async () => {
    lambda
      .on(GetFunctionConfigurationCommand)
      .rejects(Object.assign(new Error('slow down'), { name: 'TooManyRequestsException' }));
    await expect(check(fn())).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('a look from afar', () => {
  const there = new LambdaClient({ region: HOME.region });
  const remote = mockClient(there);
  const ask = (target: TargetSpec) => new RemoteCheck(there, 'check').check(target);
  beforeEach(() => {
    remote.reset();
    remote.on(InvokeCommand).callsFake(async ({ Payload }: { Payload: string }) => {
      const answer = JSON.stringify(await answerCheck(JSON.parse(Payload), checks));
      return { Payload: { transformToString: () => answer } };
    });
  });

  it('says the same, refusals in their own words and with their data', async () => {
    expect(await ask(fn())).toEqual({ timeoutMs: 30_000 });
    sqs.on(GetQueueAttributesCommand).rejects(denied);
    await expect(ask(queue())).rejects.toMatchObject({
      code: 'target_forbidden',
      data: { command: expect.any(String) },
    });
    await expect(ask(bus('a b'))).rejects.toMatchObject({ code: 'target_not_allowed', retryable: false });
  });

  it('that fails is to be tried again', async () => {
    remote.on(InvokeCommand).resolves({ FunctionError: 'Unhandled' });
    await expect(ask(fn())).rejects.toMatchObject({ code: 'unavailable' });
    remote.on(InvokeCommand).rejects(new Error('gone'));
    await expect(ask(fn())).rejects.toMatchObject({ code: 'unavailable' });
  });
});
