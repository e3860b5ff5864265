import type { Clock } from '../domain/clock.ts';
import type { VoidOrder } from '../domain/gap.ts';
import { OBJECTS_PER_DELETE_MAX, VOID_LIFE_MS_MIN } from '../domain/limits.ts';
import type { Observe } from '../domain/observation.ts';
import { settleAll } from '../domain/parallel.ts';
import type { Removal, SlotRemoval } from '../domain/removal.ts';
import type { Slot } from '../domain/slot.ts';
import type { PartitionId } from '../domain/topic.ts';
import { type FollowUploadPorts, followUpload } from './follow-upload.ts';

export interface RemovalPorts extends FollowUploadPorts {
  readonly log: {
    find(p: PartitionId, last: number): Promise<Slot | undefined>;
    /** @returns who was there first */
    putVoid(p: PartitionId, order: VoidOrder, now: number, retentionMs: number): Promise<Slot | undefined>;
  };
  readonly heads: {
    read(
      p: PartitionId,
    ): Promise<{ readonly closed: boolean; readonly logStart: number; readonly settled: number } | undefined>;
  };
  readonly spill: {
    /** Removes payloads, where there are any. @returns those that could not be removed */
    remove(slots: readonly SlotRemoval[]): Promise<SlotRemoval[]>;
  };
  readonly clock: Clock;
  readonly observe: Observe;
}

export interface FollowedRemovals {
  /** To be followed again: doing so twice does no harm. */
  readonly unfinished: readonly Removal[];
  /** Why. */
  readonly failures: readonly unknown[];
}

/**
 * Removes the payloads that no slot names any more: those of slots that are gone, and those that were put for a slot that
 * was never filled; and looks after uploads. A slot without a payload is not told from others: to remove nothing is free.
 *
 * @param stopAt epoch ms: what has not begun by then is left unfinished
 */
export async function followRemovals(
  ports: RemovalPorts,
  removals: readonly Removal[],
  stopAt: number,
): Promise<FollowedRemovals> {
  const unfinished: Removal[] = [];
  const failures: unknown[] = [];
  const orphans: SlotRemoval[] = [];
  const judged = await settleAll(removals, async (removal) => {
    if (ports.clock.now() >= stopAt) return 'unfinished';
    if (removal.kind === 'upload') await followUpload(ports, removal);
    else if (removal.kind === 'slot' || (await hasNoBatch(ports, removal))) return { orphan: removal };
    return 'followed';
  });
  for (const [i, result] of judged.entries()) {
    if (result.status === 'rejected') failures.push(result.reason);
    if (result.status === 'rejected' || result.value === 'unfinished') unfinished.push(removals[i]!);
    else if (result.value !== 'followed') orphans.push(result.value.orphan);
  }
  for (let i = 0; i < orphans.length; i += OBJECTS_PER_DELETE_MAX) {
    const some = orphans.slice(i, i + OBJECTS_PER_DELETE_MAX);
    try {
      unfinished.push(...(ports.clock.now() < stopAt ? await ports.spill.remove(some) : some));
    } catch (error) {
      failures.push(error);
      unfinished.push(...some);
    }
  }
  if (unfinished.length > 0) ports.observe({ kind: 'removals_deferred', count: unfinished.length });
  return { unfinished, failures };
}

/**
 * Whether the slot of an intent holds no batch and never will. One that might still be filled is settled first, by a
 * void, so that no batch ever names an object that was removed. An intent that has expired was put a day ago, so nothing
 * can be filled there any more, and a void would do harm: where records have expired, it would look as if there had been
 * none, and a reader that comes too late would not be told.
 */
async function hasNoBatch(ports: RemovalPorts, { topicId, partition, last, expired }: SlotRemoval): Promise<boolean> {
  const id = { topicId, partition };
  const slot = await ports.log.find(id, last);
  if (slot !== undefined) return slot.kind === 'void';
  if (expired) return true;
  const head = await ports.heads.read(id);
  if (head === undefined || head.closed) return true; // the topic is deleted: no append is acknowledged there
  if (last < Math.max(head.logStart, head.settled)) return true; // it held a batch, or a void, and has expired
  const now = ports.clock.now();
  // Of an intent that was deleted nothing is known, nor is the topic's retention at hand: this void need only outlive
  // what could still land.
  const found = await ports.log.putVoid(id, { last, count: 1, previous: [], reservedBy: now }, now, VOID_LIFE_MS_MIN);
  if (found === undefined) ports.observe({ kind: 'slots_voided', log: `${topicId}.${partition}`, count: 1 });
  return found?.kind !== 'batch';
}
