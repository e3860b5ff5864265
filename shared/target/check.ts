import type { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { DescribeEventBusCommand } from '@aws-sdk/client-eventbridge';
import { GetFunctionConfigurationCommand, InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import { GetQueueAttributesCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { Unavailable } from '../domain/errors.ts';
import { FUNCTION_TIMEOUT_MS_MAX } from '../domain/limits.ts';
import { TargetForbidden } from '../domain/subscription-errors.ts';
import { TargetNotAllowed } from '../domain/target-errors.ts';
import type { TargetSpec } from '../domain/target-spec.ts';
import type { UrlRules } from '../domain/target-url.ts';
import { refusalOf } from './aws-errors.ts';
import { checkTarget } from './resolve.ts';

/** What a target says of itself. */
export interface TargetFacts {
  /** How long a call to it takes at most. */
  readonly timeoutMs?: number;
}

/** How each kind of target is looked at before it is subscribed. @throws {TargetNotAllowed | TargetForbidden | Unavailable} */
export interface TargetChecks {
  readonly rules: UrlRules;
  lambda(functionArn: string): Promise<TargetFacts>;
  sqs(queueUrl: string): Promise<void>;
  eventBridge(eventBusName: string): Promise<void>;
}

/** @throws {TargetNotAllowed | TargetForbidden | Unavailable} */
export async function checkSpec(target: TargetSpec, checks: TargetChecks): Promise<TargetFacts> {
  if ('lambda' in target) return checks.lambda(target.lambda.functionArn);
  if ('http' in target) await checkTarget(target.http.url, checks.rules);
  else if ('sqs' in target) await checks.sqs(target.sqs.queueUrl);
  else await checks.eventBridge(target.eventBridge.eventBusName);
  return {};
}

/** Where the backbone is deployed, and what of it nothing may be pushed to. */
export interface Home {
  readonly region: string;
  readonly accountId: string;
  /** ARN of the role by which records are pushed: whom a target lets in. */
  readonly role: string;
  /** How the names of the backbone's own functions and queues begin. */
  readonly ownNames: readonly string[];
}

export interface AwsClients {
  readonly lambda: Pick<LambdaClient, 'send'>;
  readonly sqs: Pick<SQSClient, 'send'>;
  readonly eventBridge: Pick<EventBridgeClient, 'send'>;
}

const FUNCTION_ARN = /^arn:[\w-]+:lambda:([\w-]+):(\d{12}):function:([\w-]{1,64})(?::[\w$-]{1,128})?$/;
const QUEUE_URL = /^https:\/\/sqs\.([\w-]+)\.amazonaws\.com(?:\.cn)?\/(\d{12})\/([\w-]{1,80}(?:\.fifo)?)$/;
const BUS = /^(?:arn:[\w-]+:events:([\w-]+):(\d{12}):event-bus\/)?([\w./-]{1,256})$/;

/** The checks of a deployed backbone, made by the role that will push. */
export function awsChecks({ lambda, sqs, eventBridge }: AwsClients, home: Home, rules: UrlRules): TargetChecks {
  return {
    rules,
    async lambda(functionArn) {
      const name = ownName(FUNCTION_ARN.exec(functionArn), 'a function by its ARN', home);
      const statement = (verb: string) =>
        `aws lambda add-permission --region ${home.region} --function-name ${name} --statement-id vertebra-${verb} --action lambda:${verb} --principal ${home.role}`;
      const command = `${statement('InvokeFunction')} && ${statement('GetFunctionConfiguration')}`;
      return letIn(command, async () => {
        const { Timeout = 0 } = await lambda.send(new GetFunctionConfigurationCommand({ FunctionName: functionArn }));
        await lambda.send(new InvokeCommand({ FunctionName: functionArn, InvocationType: 'DryRun' }));
        const timeoutMs = Timeout * 1_000;
        if (timeoutMs <= FUNCTION_TIMEOUT_MS_MAX) return { timeoutMs };
        throw new TargetNotAllowed(
          `its timeout is ${Timeout} s, and may be ${FUNCTION_TIMEOUT_MS_MAX / 1_000} s at most`,
        );
      });
    },
    async sqs(queueUrl) {
      const name = ownName(QUEUE_URL.exec(queueUrl), 'a queue by its URL', home);
      const arn = `arn:aws:sqs:${home.region}:${home.accountId}:${name}`;
      const policy = policyFor(home, arn, ['sqs:SendMessage', 'sqs:GetQueueAttributes']);
      const attributes = JSON.stringify({ Policy: policy });
      const command = `aws sqs set-queue-attributes --region ${home.region} --queue-url ${queueUrl} --attributes '${attributes}'`;
      await letIn(command, () =>
        sqs.send(new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['QueueArn'] })),
      );
    },
    async eventBridge(eventBusName) {
      const found = BUS.exec(eventBusName);
      const name = ownName(
        found && [found[0], found[1] ?? home.region, found[2] ?? home.accountId, found[3]!],
        'a bus',
        home,
      );
      const arn = `arn:aws:events:${home.region}:${home.accountId}:event-bus/${name}`;
      const policy = policyFor(home, arn, ['events:PutEvents', 'events:DescribeEventBus']);
      const command = `aws events put-permission --region ${home.region} --event-bus-name ${name} --policy '${policy}'`;
      await letIn(command, () => eventBridge.send(new DescribeEventBusCommand({ Name: eventBusName })));
    },
  };
}

function policyFor({ role }: Home, resource: string, actions: readonly string[]): string {
  const statement = { Sid: 'vertebra', Effect: 'Allow', Principal: { AWS: role }, Action: actions, Resource: resource };
  return JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
}

/** @param found the text, its region, account and name; null: it is none of its kind */
function ownName(found: readonly string[] | null, kind: string, home: Home): string {
  if (found === null) throw new TargetNotAllowed(`it does not name ${kind}`);
  const [, region, accountId, name] = found as [string, string, string, string];
  if (region !== home.region) throw new TargetNotAllowed(`it is in region ${region}, the backbone in ${home.region}`);
  if (accountId !== home.accountId)
    throw new TargetNotAllowed(`it is in account ${accountId}, which is not the backbone's`);
  if (home.ownNames.some((own) => name.startsWith(own))) throw new TargetNotAllowed(`${name} is the backbone's own`);
  return name;
}

/** @param command what lets the backbone in */
async function letIn<T>(command: string, look: () => Promise<T>): Promise<T> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof TargetNotAllowed) throw error;
    const refusal = refusalOf(error);
    const { name, message } = refusal.error;
    if (/AccessDenied|NotAuthorized/.test(name)) throw new TargetForbidden(message || 'access is denied', command);
    if (refusal.kind !== 'away') throw new TargetNotAllowed(`${name}: ${message}`);
    throw new Unavailable('The target could not be looked at; send it again', 1_000, { cause: error });
  }
}
