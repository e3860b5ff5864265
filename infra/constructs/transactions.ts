import { Grant } from 'aws-cdk-lib/aws-iam';
import type { IFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { ENV } from '../../shared/env.ts';
import type { BackboneTopic } from './backbone-topic.ts';
import { allowKey } from './encryption.ts';
import type { LogStorage } from './log-storage.ts';
import { refuseName } from './names.ts';

/** A function whose environment can be added to. */
export type TransactingFunction = Pick<LambdaFunction, 'addEnvironment' | 'grantPrincipal' | 'stack'> & IFunction;

/**
 * How the partition keys of the backbone's own items begin, up to the first `#`: a group of such a name would own them, as far as a
 * policy can tell. `test/infra` holds them against the keys.
 */
export const OWN_KEYS: ReadonlySet<string> = new Set([
  ...['append-lag', 'append-quota', 'claim', 'grants', 'group', 'head'],
  ...['subscribers', 'subscription', 'touched', 'uploads'],
]);

/** Lets a function write, in transactions of its own, what the records of one group have done. */
export function allowProcessOnce(fn: TransactingFunction, storage: LogStorage, group: string): void {
  refuseName('group', group);
  if (OWN_KEYS.has(group)) {
    throw new Error(
      `A group named '${group}' cannot process once: its items begin as the backbone's own. Give it another name.`,
    );
  }
  Grant.addToPrincipal({
    grantee: fn,
    // the mark, or the state of an effect; the position; what stands in either
    actions: ['PutItem', 'UpdateItem', 'ConditionCheckItem', 'GetItem'].map((verb) => `dynamodb:${verb}`),
    resourceArns: [storage.state.tableArn],
    conditions: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [`${group}#*`] } },
  });
  allowKey(fn as LambdaFunction, storage.encryptionKey, ['dynamodb']);
  fn.addEnvironment(ENV.stateTable, storage.state.tableName);
}

/** Lets a function store prepared records of one topic, in transactions of its own. */
export function allowPrepared(fn: TransactingFunction, storage: LogStorage, topic: BackboneTopic): void {
  Grant.addToPrincipal({
    grantee: fn,
    actions: ['dynamodb:PutItem'],
    resourceArns: [storage.log.tableArn],
    conditions: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [`${topic.topicId}.*`] } },
  });
  allowKey(fn as LambdaFunction, storage.encryptionKey, ['dynamodb']);
  fn.addEnvironment(ENV.logTable, storage.log.tableName);
}
