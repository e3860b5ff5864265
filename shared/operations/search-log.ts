import type { Slot } from '../domain/slot.ts';
import type { PartitionId } from '../domain/topic.ts';
import type { WalkPorts } from './walk.ts';

/**
 * Binary search over a partition's slots: about log2(`to` − `from`) Queries of one slot each, one after the other.
 *
 * @param isBefore true for slots in front of the place that is looked for; where the log is not quite ordered by it,
 *   the answer lies among the slots that are out of order
 * @returns an offset from `from` to `to`: the one just behind a slot that is before, or `from`
 * @throws {Throttled | Unavailable}
 */
export async function searchLog(
  { log }: Pick<WalkPorts, 'log'>,
  partition: PartitionId,
  from: number,
  to: number,
  isBefore: (slot: Slot) => boolean,
): Promise<number> {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    const slot = (await log.read(partition, middle, { limit: 1, outline: true })).slots[0];
    if (slot !== undefined && slot.last < high && isBefore(slot)) low = slot.last + 1;
    else high = middle;
  }
  return low;
}
