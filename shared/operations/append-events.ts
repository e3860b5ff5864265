import { BackboneError, Unavailable } from '../domain/errors.ts';
import { settleAll } from '../domain/parallel.ts';
import { appendBatches } from './append-batches.ts';
import type { AppendRequest } from './partition-append.ts';
import type { RequestPorts } from './reserve-append.ts';

/** An append of one event, once. */
export interface EventAppend extends AppendRequest {
  /** Events of one chain keep their order. */
  readonly chain: string;
}

export type EventOutcome =
  | { readonly partition: number; readonly baseOffset: number; readonly takenAt: number; readonly duplicate: boolean }
  | { readonly error: BackboneError };

/**
 * Appends events, each once, whoever else sends it: the claims of several cannot be made together, so each is an append of its
 * own. Chains go on side by side; within one an event waits for the one before it, and is not tried when that may still be sent again.
 *
 * @returns one for each, in the order given; at least one stored
 * @throws {BackboneError} when none was
 */
export async function appendEvents(ports: RequestPorts, events: readonly EventAppend[]): Promise<EventOutcome[]> {
  const chains = new Map<string, number[]>();
  for (const [index, { chain }] of events.entries()) chains.set(chain, [...(chains.get(chain) ?? []), index]);
  const outcomes: EventOutcome[] = new Array(events.length);
  const results = await settleAll([...chains.values()], async (indexes) => {
    let waitsFor: BackboneError | undefined;
    for (const index of indexes) {
      const outcome = waitsFor === undefined ? await append(ports, events[index]!) : { error: behind(waitsFor) };
      if ('error' in outcome && outcome.error.retryable) waitsFor ??= outcome.error;
      outcomes[index] = outcome;
    }
  });
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  const errors = outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error] : []));
  // What may still be stored is to be sent again, whatever the others are refused for.
  if (errors.length === events.length) throw errors.find(({ retryable }) => retryable) ?? errors[0]!;
  return outcomes;
}

async function append(ports: RequestPorts, event: EventAppend): Promise<EventOutcome> {
  try {
    const { outcomes, placement, duplicate } = await appendBatches(ports, event);
    const [outcome] = outcomes;
    if (outcome === undefined) throw new Error('an append of one event has no outcome');
    if ('error' in outcome) return outcome;
    return { partition: outcome.partition, baseOffset: outcome.baseOffset, takenAt: placement.takenAt, duplicate };
  } catch (error) {
    if (!(error instanceof BackboneError)) throw error;
    return { error };
  }
}

function behind(cause: BackboneError): Unavailable {
  return new Unavailable('An event of the same key before it was not stored, so it was not tried', 1_000, { cause });
}
