import type { ProvisionEvent } from './provision-request.ts';

/** What became of a request. */
export type ProvisionOutcome = { readonly physicalId: string } & (
  | { readonly failed: string }
  /** What other resources of the stack may refer to. */
  | { readonly attributes: Readonly<Record<string, string | number>> }
);

/** Source: AWS, CloudFormation, "Custom resource response objects": 4 KB in all; the texts beside it take less than 2. */
const REASON_CHARS_MAX = 1_500;

/** What CloudFormation is answered with. */
export function provisionAnswer(event: ProvisionEvent, outcome: ProvisionOutcome): string {
  const { StackId, RequestId, LogicalResourceId } = event;
  const common = { StackId, RequestId, LogicalResourceId, PhysicalResourceId: outcome.physicalId };
  return JSON.stringify(
    'failed' in outcome
      ? { ...common, Status: 'FAILED', Reason: outcome.failed.slice(0, REASON_CHARS_MAX) }
      : { ...common, Status: 'SUCCESS', Data: outcome.attributes },
  );
}
