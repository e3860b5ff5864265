import { type DeliveryBatch, deliveryError, partitionName, recordName, type Verdict } from '../domain/delivery.ts';

/*
 * {"batchItemFailures": [{"itemIdentifier": {"partition": "orders-3", "offset": 41}}]}, or "orders-3:41" in its place.
 * An answer of any other shape names no failure. Source: AWS Lambda, "Configuring error handling for Kafka".
 */

const DONE: Verdict = { kind: 'done' };

/**
 * What a target's answer says of the batch: the lowest named record failed and those before it are done. An answer that
 * names failures in a way not to be understood, or records that were not in the batch, fails all of it.
 *
 * @param answer parsed JSON, or undefined when there is none
 */
export function readBatchAnswer(answer: unknown, batch: DeliveryBatch): Verdict {
  if (typeof answer !== 'object' || answer === null || !('batchItemFailures' in answer)) return DONE;
  const failures: unknown = answer.batchItemFailures;
  if (failures === null) return DONE;
  if (!Array.isArray(failures)) return misunderstood('batchItemFailures is no list');
  if (failures.length === 0) return DONE;
  const names = new Map(batch.records.map(({ offset }) => [recordName(batch, offset), offset]));
  let lowest = Number.POSITIVE_INFINITY;
  for (const failure of failures) {
    const offset = names.get(nameIn(failure, batch) ?? '');
    if (offset === undefined) return misunderstood(`${JSON.stringify(failure)} names no record of the batch`);
    lowest = Math.min(lowest, offset);
  }
  return {
    kind: 'failed',
    at: lowest,
    error: deliveryError('BatchItemFailure', `the target named ${recordName(batch, lowest)} among the failed records`),
  };
}

function nameIn(failure: unknown, batch: DeliveryBatch): string | undefined {
  const identifier = memberOf(failure, 'itemIdentifier');
  if (typeof identifier === 'string') return identifier;
  const offset = memberOf(identifier, 'offset');
  if (memberOf(identifier, 'partition') !== partitionName(batch) || !Number.isSafeInteger(offset)) return undefined;
  return recordName(batch, offset as number);
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function misunderstood(why: string): Verdict {
  return { kind: 'failed', error: deliveryError('InvalidAnswer', why) };
}
