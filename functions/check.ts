import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { Context } from 'aws-lambda';
import { readCheckEnv } from '../shared/env.ts';
import { awsChecks } from '../shared/target/check.ts';
import { answerCheck, type CheckEvent } from '../shared/target/remote-check.ts';
import { CALLS } from './tables.ts';

const clients = {
  lambda: new LambdaClient(CALLS),
  sqs: new SQSClient(CALLS),
  eventBridge: new EventBridgeClient(CALLS),
};

/** Looks at a target by the rights with which deliveries will push to it: it runs in their role. */
export async function handler(
  event: CheckEvent,
  { invokedFunctionArn }: Pick<Context, 'invokedFunctionArn'>,
): Promise<Awaited<ReturnType<typeof answerCheck>>> {
  const { role, ownNames, ownHosts } = readCheckEnv();
  const [, , , region, accountId] = invokedFunctionArn.split(':') as [string, string, string, string, string];
  const home = { region, accountId, role, ownNames };
  return answerCheck(event, awsChecks(clients, home, { loopback: false, ownHosts }));
}
