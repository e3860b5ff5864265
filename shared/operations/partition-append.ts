import type { Placement } from '../domain/claim.ts';
import { BackboneError } from '../domain/errors.ts';
import { PARALLEL_CALLS_MAX } from '../domain/limits.ts';
import { settleAll } from '../domain/parallel.ts';
import type { Batch } from '../domain/record.ts';
import type { Topic } from '../domain/topic.ts';
import type { Payload, UploadReference } from '../domain/upload.ts';
import type { AppendPorts } from './append-ports.ts';
import { SlotAppend } from './append-slot.ts';

export interface AppendRequest {
  /** Name of the topic. */
  readonly topic: string;
  /**
   * Lays the request out: the same placement always gives the same batches. What it refuses (a partition that the topic
   * does not have) is believed only of a fresh copy of the topic. @throws {BackboneError}
   *
   * @param payloads those of `uploads`, by upload id
   */
  build(placement: Placement, payloads: ReadonlyMap<string, Payload>): ReadonlyMap<number, Batch>;
  /** Records whose values are uploads; absent: none. */
  readonly uploads?: readonly UploadReference[];
  /** The principal that appends; absent: nobody asked who. */
  readonly caller?: string;
  /** Makes the append happen once. */
  readonly once?: {
    readonly key: string;
    /** SHA-256 of the canonical request, in hex. */
    readonly fingerprint: string;
  };
}

/** What became of one partition's batch. */
export type PartitionOutcome =
  | { readonly partition: number; readonly baseOffset: number; readonly appendedAt: number }
  | { readonly partition: number; readonly error: BackboneError };

export interface AppendResult {
  readonly placement: Placement;
  /** At least one of them stored. */
  readonly outcomes: readonly PartitionOutcome[];
  /** The request had been made before: these are the offsets of then. */
  readonly duplicate: boolean;
}

/** One partition of a request. */
export interface PartitionAppend {
  readonly partition: number;
  readonly batch: Batch;
  readonly slot: SlotAppend;
}

/** @param isSlow much is to be done between reservation and fill */
export function appendsOf(
  ports: AppendPorts,
  topic: Topic,
  batches: ReadonlyMap<number, Batch>,
  // The last of very many is reserved when the first has been waiting for its fill.
  isSlow = batches.size > PARALLEL_CALLS_MAX,
): PartitionAppend[] {
  const ascending = [...batches].toSorted(([a], [b]) => a - b);
  return ascending.map(([partition, batch]) => ({
    partition,
    batch,
    slot: new SlotAppend(ports, topic, partition, isSlow),
  }));
}

/** Does `act` for every partition, and tells what became of each. @throws what is no refusal: a bug or an outage */
export async function outcomesOf(
  appends: readonly PartitionAppend[],
  act: (append: PartitionAppend, index: number) => Promise<{ readonly base: number; readonly time: number }>,
): Promise<PartitionOutcome[]> {
  const results = await settleAll([...appends.entries()], ([index, append]) => act(append, index));
  return results.map((result, i): PartitionOutcome => {
    const { partition } = appends[i]!;
    if (result.status === 'fulfilled') {
      return { partition, baseOffset: result.value.base, appendedAt: result.value.time };
    }
    if (!(result.reason instanceof BackboneError)) throw result.reason;
    return { partition, error: result.reason };
  });
}
