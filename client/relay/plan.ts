import { RECORDS_PER_REQUEST_MAX } from '../../shared/domain/limits.ts';
import type { EncodedRecord } from '../producer-record.ts';
import { CLAIM_BYTES } from './limits.ts';

/**
 * One request of a lane: the rows that it stores in one partition, in order. It is kept in the lane before it is sent, so that
 * whoever repeats it sends the same under the same key.
 */
export interface PlannedRequest {
  /** Idempotency key. */
  readonly key: string;
  readonly topic: string;
  readonly partition: number;
  /** Ids. */
  readonly rows: readonly string[];
}

/** A row that is to be sent, and where. */
export interface PlacedRow {
  readonly id: string;
  readonly topic: string;
  readonly partition: number;
  readonly record: EncodedRecord;
}

/**
 * Parts rows, in their order, into requests; those for one partition are in order, too.
 * @param token names the claim, and with it its keys: a table that was emptied counts from 1 again
 */
export function planOf(rows: readonly PlacedRow[], token: string): PlannedRequest[] {
  const plan: { key: string; topic: string; partition: number; rows: string[]; bytes: number }[] = [];
  const last = new Map<string, (typeof plan)[number]>();
  for (const { id, topic, partition, record } of rows) {
    const place = `${topic}/${partition}`;
    let request = last.get(place);
    const isFull =
      request !== undefined &&
      (request.rows.length >= RECORDS_PER_REQUEST_MAX || request.bytes + record.frameBytes > CLAIM_BYTES);
    if (request === undefined || isFull) {
      request = { key: `outbox-${token}-${id}`, topic, partition, rows: [], bytes: 0 };
      last.set(place, request);
      plan.push(request);
    }
    request.rows.push(id);
    request.bytes += record.frameBytes;
  }
  return plan.map(({ bytes: _, ...request }) => request);
}

/** The requests of a plan that go one after the other: by topic and partition. */
export function inSequence(plan: readonly PlannedRequest[]): PlannedRequest[][] {
  const sequences = new Map<string, PlannedRequest[]>();
  for (const request of plan) {
    const place = `${request.topic}/${request.partition}`;
    const sequence = sequences.get(place) ?? [];
    sequences.set(place, sequence);
    sequence.push(request);
  }
  return [...sequences.values()];
}
