import type { Clock } from '../domain/clock.ts';
import type { BatchSlot } from '../domain/slot.ts';
import type { UploadId } from '../domain/upload.ts';
import type { Sink } from './look.ts';

export interface LinkPorts {
  readonly uploadUrls: {
    /** Without a call. */
    get(upload: UploadId, now: number): Promise<string>;
  };
  readonly clock: Clock;
}

/** An answer that shows uploads by URLs. */
export interface LinkingSink extends Required<Pick<Sink, 'isFull' | 'room'>> {
  /** Those whose URLs it needs, by place in the batch. */
  uploadsToLink(slot: BatchSlot, from: number): readonly [position: number, UploadId][];
  take(slot: BatchSlot, from: number, urls?: ReadonlyMap<number, string>): number;
}

/** Hands slots on to an answer, with a URL for each upload that it needs one of. */
export function linkUploads({ uploadUrls, clock }: LinkPorts, answer: LinkingSink): Sink {
  const linked = async (slot: BatchSlot, from: number): Promise<number> => {
    const urls = new Map<number, string>();
    for (const [position, upload] of answer.uploadsToLink(slot, from)) {
      urls.set(position, await uploadUrls.get(upload, clock.now()));
    }
    return answer.take(slot, from, urls);
  };
  return {
    isFull: () => answer.isFull(),
    room: () => answer.room(),
    take: (slot, from) => (slot.uploads === undefined ? answer.take(slot, from) : linked(slot, from)),
  };
}
