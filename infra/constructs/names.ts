import { Lazy, Stack, Token } from 'aws-cdk-lib';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { CfnQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { NAME_CHARS_MAX } from '../../shared/domain/limits.ts';

/**
 * Names of the functions and queues in a construct, as CloudFormation begins them, with commas between: whatever else is in
 * the stack may be pushed to, also where its id begins in the same way.
 */
export function ownNames(scope: Construct): string {
  const stack = Stack.of(scope);
  return Lazy.string({
    produce: () =>
      scope.node
        .findAll()
        .filter((child) => child instanceof CfnFunction || child instanceof CfnQueue)
        .map((child) => `${stack.stackName}-${stack.getLogicalId(child)}-`)
        .join(','),
  });
}

/**
 * Under which the functions of a backbone write their figures: another one in the same account and region has its own, in
 * the same stack, too.
 *
 * @param backbone whatever is, or is within, the backbone
 */
export function metricsNamespace(backbone: Construct): string {
  const stack = Stack.of(backbone);
  const ids = backbone.node.scopes.slice(stack.node.scopes.length).map(({ node }) => node.id);
  return [stack.stackName, ...ids].join('/');
}

/** Source: `shared/wire`, which refuses the same. @throws {Error} for what cannot be the name of one */
export function refuseName(kind: 'topic' | 'subscription' | 'group', name: string): void {
  if (Token.isUnresolved(name)) throw new Error(`The name of a ${kind} must be known at synthesis.`);
  if (NAME.test(name) && name !== '.' && name !== '..') return;
  throw new Error(
    `'${name}' cannot name a ${kind}: it takes 1 to ${NAME_CHARS_MAX} characters out of A-Z a-z 0-9 . _ - and neither '.' nor '..'.`,
  );
}

const NAME = new RegExp(`^[A-Za-z0-9._-]{1,${NAME_CHARS_MAX}}$`);
