import type { BackboneError } from '../domain/errors.ts';
import { type ApiAnswer, jsonAnswer } from './http-answer.ts';
import type { PartitionShare } from './produce-batches.ts';

/** What became of one partition's records. */
type Outcome =
  | { readonly partition: number; readonly baseOffset: number }
  | { readonly partition: number; readonly error: BackboneError };

/**
 * One entry per record, in the order sent: its offset, or why its partition did not store it. 200 when all are stored,
 * 207 when some are.
 * @param now epoch ms, the timestamp of records that brought none
 */
export function produceAnswer(
  shares: ReadonlyMap<number, PartitionShare>,
  outcomes: readonly Outcome[],
  now: number,
): ApiAnswer {
  const offsets: string[] = [];
  for (const outcome of outcomes) {
    const { records, indexes } = shares.get(outcome.partition)!;
    const { partition } = outcome;
    const refusal = 'error' in outcome ? JSON.stringify({ partition, error: entryError(outcome.error) }) : '';
    for (const [i, record] of records.entries()) {
      offsets[indexes[i]!] =
        'error' in outcome
          ? refusal
          : `{"partition":${partition},"offset":${outcome.baseOffset + i},"timestamp":${record.timestamp ?? now}}`;
    }
  }
  // Put together by hand in half of the time that JSON.stringify takes for as many objects.
  const body = `{"offsets":[${offsets.join(',')}],"duplicate":false}`;
  return { status: outcomes.some((outcome) => 'error' in outcome) ? 207 : 200, body };
}

function entryError({ code, message, retryable, data }: BackboneError) {
  return { ...data, code, detail: message, retryable };
}

/** The answer to a stored batch: where it begins. @throws what kept it from being stored */
export function rawProduceAnswer([outcome]: readonly Outcome[], count: number): ApiAnswer {
  if (outcome === undefined) throw new Error('an append of one batch has no outcome');
  if ('error' in outcome) throw outcome.error;
  return jsonAnswer({ partition: outcome.partition, baseOffset: outcome.baseOffset, count, duplicate: false });
}
