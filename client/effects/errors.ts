import { VertebraError } from '../errors.ts';
import type { RecordDelivery } from './delivery.ts';

const nameOf = ({ topic, partition, offset }: RecordDelivery) =>
  `record ${offset} of partition ${partition} of '${topic}'`;
const dataOf = ({ group, topic, partition, offset, epoch }: RecordDelivery) => ({
  group,
  topic,
  partition,
  offset,
  epoch,
});

/**
 * Another delivery has the partition by now, or this one was given up. Nothing was written: whoever has it processes the
 * record. Let it end the handler.
 */
export class DeliveryFenced extends VertebraError {
  constructor(delivery: RecordDelivery) {
    super('fenced', `${nameOf(delivery)} is no longer this delivery's`, { data: dataOf(delivery) });
  }
}

/**
 * An earlier delivery of the record has begun this effect and not ended it, and may still be at it. Nothing was done. A consumer
 * waits for as long as that may take, and counts no attempt.
 */
export class EffectInProgress extends VertebraError {
  constructor(
    delivery: RecordDelivery,
    /** ms after which another delivery may begin it. */
    readonly retryAfterMs: number,
  ) {
    super('effect_in_progress', `The effect of ${nameOf(delivery)} has begun and may go on`, {
      retryable: true,
      data: { ...dataOf(delivery), retryAfterMs },
    });
  }
}

/**
 * An earlier delivery of the record has begun this effect, and nobody knows whether it came about. Somebody has to look: let it fail,
 * so that the record becomes a dead letter, then `resolveEffect`.
 */
export class EffectUnfinished extends VertebraError {
  constructor(delivery: RecordDelivery, startedAt: number) {
    super('effect_unfinished', `The effect of ${nameOf(delivery)} was begun and never told to be done`, {
      data: { ...dataOf(delivery), startedAt },
    });
  }
}
