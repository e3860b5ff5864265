import type { BatchSlot } from '../domain/slot.ts';
import type { FetchRequest } from './fetch-request.ts';
import type { ApiAnswer } from './http-answer.ts';
import { JsonFetchAnswer } from './json-fetch-answer.ts';
import { RawFetchAnswer } from './raw-fetch-answer.ts';

/** What a read found out beside the records. */
export interface FetchFindings {
  readonly topicId: string;
  readonly nextOffset: number;
  readonly logStartOffset: number;
  readonly highWatermark: number;
}

/** An answer that grows while slots are read. */
export interface FetchAnswer {
  /** Records in it. */
  readonly count: number;
  /** Takes the records of a slot from an offset on. @returns the next offset: behind the slot, or less when it is full */
  take(slot: BatchSlot, from: number): number;
  /** Whether it has as many records as are asked for; that the next one is too large it finds out when it sees it. */
  isFull(): boolean;
  finish(findings: FetchFindings): ApiAnswer;
}

/** The answer that a fetch asks for: JSON records, or the stored batches as they are. */
export function openFetchAnswer(
  request: Pick<FetchRequest, 'raw' | 'maxRecords' | 'maxBytes' | 'values'>,
): FetchAnswer {
  return request.raw ? new RawFetchAnswer(request) : new JsonFetchAnswer(request);
}
