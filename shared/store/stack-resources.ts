import { type CloudFormationClient, ListStackResourcesCommand } from '@aws-sdk/client-cloudformation';
import type { StackResource } from '../domain/backbone-parts.ts';
import { CannotLook } from '../domain/finding.ts';
import { lookFor } from './looks.ts';

/** All that a stack has made. @throws {CannotLook} one may not, or there is no such stack */
export async function stackResources(
  cloudFormation: Pick<CloudFormationClient, 'send'>,
  StackName: string,
): Promise<StackResource[]> {
  const resources: StackResource[] = [];
  for (let NextToken: string | undefined; ; ) {
    const command = new ListStackResourcesCommand({ StackName, ...(NextToken && { NextToken }) });
    const page = await lookFor(
      cloudFormation.send(command).catch((error: unknown) => {
        // What CloudFormation says of a stack that is not there.
        if (error instanceof Error && error.name === 'ValidationError')
          throw new CannotLook(error.message, { cause: error });
        throw error;
      }),
    );
    for (const { LogicalResourceId, PhysicalResourceId, ResourceType } of page?.StackResourceSummaries ?? []) {
      resources.push({
        logicalId: LogicalResourceId!,
        type: ResourceType!,
        ...(PhysicalResourceId && { physicalId: PhysicalResourceId }),
      });
    }
    NextToken = page?.NextToken;
    if (NextToken === undefined) return resources;
  }
}
