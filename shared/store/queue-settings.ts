import { GetQueueAttributesCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { QueueFacts } from '../domain/deployed-facts.ts';
import { lookFor } from './looks.ts';

/** How queues are set up, and how much is in them. */
export class QueueSettings {
  readonly #sqs: Pick<SQSClient, 'send'>;

  constructor(sqs: Pick<SQSClient, 'send'>) {
    this.#sqs = sqs;
  }

  /** @returns undefined when there is none at this URL @throws {CannotLook} */
  async read(QueueUrl: string): Promise<QueueFacts | undefined> {
    const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] });
    const attributes = (await lookFor(this.#sqs.send(command)))?.Attributes;
    if (attributes === undefined) return undefined;
    const redrive = attributes.RedrivePolicy === undefined ? undefined : JSON.parse(attributes.RedrivePolicy);
    return {
      arn: attributes.QueueArn ?? '',
      visibilityTimeoutMs: 1_000 * Number(attributes.VisibilityTimeout ?? 0),
      delayMs: 1_000 * Number(attributes.DelaySeconds ?? 0),
      messages: Number(attributes.ApproximateNumberOfMessages ?? 0),
      ...policyOf(attributes),
      ...(redrive && {
        deadLetters: { arn: String(redrive.deadLetterTargetArn), receivesMax: Number(redrive.maxReceiveCount) },
      }),
    };
  }
}

interface Statement {
  readonly Effect: string;
  readonly Principal?: string | { readonly AWS?: string | readonly string[] };
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** What a queue's policy says. An engine that tells nothing of encryption has no policies either: SQS always does. */
function policyOf({
  Policy,
  SqsManagedSseEnabled,
}: Record<string, string>): Pick<QueueFacts, 'isOpen' | 'requiresTls'> {
  const statements: Statement[] = Policy ? [JSON.parse(Policy).Statement].flat() : [];
  const isOpen = statements.some(
    ({ Effect, Principal, Condition }) => Effect === 'Allow' && Condition === undefined && isEverybody(Principal),
  );
  const requiresTls = statements.some(
    ({ Effect, Principal, Condition }) =>
      Effect === 'Deny' && isEverybody(Principal) && String(Condition?.Bool?.['aws:SecureTransport']) === 'false',
  );
  return { isOpen, ...((Policy || SqsManagedSseEnabled !== undefined) && { requiresTls }) };
}

function isEverybody(principal: Statement['Principal']): boolean {
  return principal === '*' || (typeof principal === 'object' && [principal.AWS].flat().includes('*'));
}
