import { TransactionCanceledException, type TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import { type DynamoDB, WriteAttempts } from './dynamo.ts';

/** Passing reasons count only when there is no other: a condition that failed fails again. */
const PASSING: ReadonlySet<string> = new Set([
  'TransactionConflict',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
]);

/** What became of a transaction whose conditions may fail. */
export interface Transacted {
  /** False: some condition did not hold, nothing of this attempt was written. */
  readonly isDone: boolean;
  /** An earlier attempt got no answer: it may be what the conditions met. */
  readonly anyUnanswered: boolean;
}

/** Sends a transaction. @throws {WriteFailed} */
export async function transact(dynamodb: DynamoDB, command: TransactWriteItemsCommand): Promise<Transacted> {
  const attempts = new WriteAttempts(command);
  try {
    await attempts.outcome(dynamodb.send(command));
    return { isDone: true, anyUnanswered: false };
  } catch (error) {
    if (!(error instanceof TransactionCanceledException)) throw error;
    const codes = (error.CancellationReasons ?? []).map(({ Code }) => Code).filter((code) => code !== 'None');
    if (codes.includes('ConditionalCheckFailed')) return { isDone: false, anyUnanswered: attempts.anyUnanswered };
    throw codes.every((code) => PASSING.has(code ?? '')) ? WriteAttempts.conflicted(error) : error;
  }
}
