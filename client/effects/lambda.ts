import { InvalidOptions } from '../errors.ts';
import type { Delivered, RecordDelivery } from './delivery.ts';

/** A record of the event, as AWS's Kafka event source has it. */
export interface LambdaRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** Base64. */
  readonly key?: string | null;
  /** Base64. */
  readonly value?: string | null;
  readonly headers?: readonly Readonly<Record<string, readonly number[]>>[];
}

/** The event that a subscription hands to a function. */
export interface LambdaEvent<R extends LambdaRecord = LambdaRecord> {
  readonly records: Readonly<Record<string, readonly R[]>>;
  readonly vertebra?: {
    readonly group: string;
    readonly groupId: string;
    readonly topicId: string;
    readonly epoch: number;
    /** ms, −1: for ever. */
    readonly retentionMs: number;
    readonly redriven?: boolean;
    /** The records are of a key that is parked. */
    readonly lane?: string;
  };
}

/** A record of an event, with what `processOnce` has to know of it. */
export interface DeliveredRecord<R extends LambdaRecord = LambdaRecord> extends Delivered {
  readonly record: R;
  readonly delivery: RecordDelivery;
}

/**
 * The records of an event, in their order, each with its delivery.
 * @throws {InvalidOptions} when the event does not come from a subscription
 */
export function deliveriesOf<R extends LambdaRecord>(event: LambdaEvent<R>): DeliveredRecord<R>[] {
  const { records, vertebra } = event;
  if (vertebra === undefined || records === undefined) {
    throw new InvalidOptions('The event does not come from a subscription: it has no `vertebra`');
  }
  const { group, groupId, topicId, epoch, retentionMs, redriven = false, lane } = vertebra;
  const ids = { groupId, topicId, retentionMs };
  return Object.values(records)
    .flat()
    .map((record) => {
      const { topic, partition, offset } = record;
      const of = { group, topic, partition, offset, epoch, isRedriven: redriven, ...(lane !== undefined && { lane }) };
      return { record, delivery: { ...of, identify: async () => ids } };
    });
}
