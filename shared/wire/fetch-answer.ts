import type { Room } from '../domain/room.ts';
import type { BatchSlot } from '../domain/slot.ts';
import type { UploadId } from '../domain/upload.ts';
import { EventFetchAnswer } from './event-fetch-answer.ts';
import type { FetchRequest } from './fetch-request.ts';
import type { ApiAnswer } from './http-answer.ts';
import { JsonFetchAnswer } from './json-fetch-answer.ts';
import { CLOUD_EVENTS_BATCH_TYPE, JSON_TYPE, RECORD_BATCH_TYPE } from './media-type.ts';
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
  /** Uploads of a slot, by place in the batch, whose URLs it needs to take records from an offset on. */
  uploadsToLink(slot: BatchSlot, from: number): readonly [position: number, UploadId][];
  /**
   * Takes the records of a slot from an offset on. @returns the next offset: behind the slot, or less when it is full
   * @param urls of the uploads that it asked for, by place in the batch
   */
  take(slot: BatchSlot, from: number, urls?: ReadonlyMap<number, string>): number;
  /** Whether it has as many records as are asked for; that the next one is too large it finds out when it sees it. */
  isFull(): boolean;
  /** What it can still take: what is worth fetching ahead. */
  room(): Room;
  finish(findings: FetchFindings): ApiAnswer;
}

/** The answer that a fetch asks for: JSON records, events, or the stored batches as they are. */
export function openFetchAnswer(
  request: Pick<FetchRequest, 'topic' | 'partition' | 'as' | 'maxRecords' | 'maxBytes' | 'values'>,
): FetchAnswer {
  switch (request.as) {
    case RECORD_BATCH_TYPE:
      return new RawFetchAnswer(request);
    case CLOUD_EVENTS_BATCH_TYPE:
      return new EventFetchAnswer(request);
    case JSON_TYPE:
      return new JsonFetchAnswer(request);
  }
}
