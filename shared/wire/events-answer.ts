import type { BackboneError } from '../domain/errors.ts';
import type { EventRecord } from './cloud-event-input.ts';
import { type ApiAnswer, jsonAnswer } from './http-answer.ts';
import { entryError } from './produce-answer.ts';

type Outcome =
  | { readonly partition: number; readonly baseOffset: number; readonly takenAt: number; readonly duplicate: boolean }
  | { readonly error: BackboneError };

/** One entry per event, in the order sent; `duplicate` of the whole: all of them were. 207 when some were not stored. */
export function eventsAnswer(events: readonly EventRecord[], outcomes: readonly Outcome[]): ApiAnswer {
  const offsets = outcomes.map((outcome, i) => {
    if ('error' in outcome) return { error: entryError(outcome.error) };
    const { partition, baseOffset, takenAt, duplicate } = outcome;
    return { partition, offset: baseOffset, timestamp: events[i]!.record.timestamp ?? takenAt, duplicate };
  });
  const duplicate = outcomes.every((outcome) => !('error' in outcome) && outcome.duplicate);
  return jsonAnswer({ offsets, duplicate }, outcomes.some((outcome) => 'error' in outcome) ? 207 : 200);
}
