import type { Clock } from '../domain/clock.ts';
import {
  BATCH_WRITE_MAX,
  BATCH_WRITE_PAUSE_MS_MAX,
  LATE_MAX_MS,
  PURGE_PAGE,
  PURGE_PARTITIONS_PARALLEL,
  SWEEP_LEFTOVERS_MAX,
} from '../domain/limits.ts';
import type { Observe } from '../domain/observation.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { Leftover, Page, PartitionId, Topic } from '../domain/topic.ts';
import type { Upload, UploadId } from '../domain/upload.ts';
import { WriteFailed } from '../domain/write-failed.ts';
import type { MayGoOn, Task } from './take-turns.ts';

type LogItems = 'slots' | 'intents';

export interface PurgePorts {
  readonly topicItems: {
    /** Strongly consistent. */
    read(name: string): Promise<Pick<Topic, 'id'> | undefined>;
  };
  readonly leftovers: {
    list(after?: string): Promise<Page<Leftover>>;
    markAbandoned(topicId: string): Promise<boolean>;
    withdraw(topicId: string): Promise<void>;
    markClosed(topicId: string, closedAt: number): Promise<void>;
    remove(topicId: string): Promise<void>;
  };
  readonly heads: {
    close(p: PartitionId): Promise<void>;
    markPurged(p: PartitionId, below: number | 'all'): Promise<void>;
    remove(p: PartitionId): Promise<void>;
  };
  readonly purge: {
    list(
      p: PartitionId,
      items: LogItems,
      after: number,
      limit: number,
    ): Promise<{ readonly lasts: readonly number[]; readonly more: boolean }>;
    /** @returns those that were not deleted */
    delete(p: PartitionId, items: LogItems, lasts: readonly number[]): Promise<readonly number[]>;
  };
  readonly uploads: {
    list(topicId: string, after?: string): Promise<Page<Upload>>;
    /** @returns those whose watches were not deleted */
    unwatch(uploads: readonly UploadId[]): Promise<UploadId[]>;
  };
  readonly clock: Clock;
  random(): number;
  sleep(ms: number): Promise<void>;
  readonly observe: Observe;
}

/** What is due for leftovers. */
export interface DuePurges {
  /** Leftovers whose heads may be open: appends are refused, and their time runs, only once these are done. */
  readonly closings: readonly Task[];
  /** Data to be removed: as much as was ever stored. */
  readonly purges: readonly Task[];
}

/** What is due for leftovers, as tasks; none while nothing is. @throws {Throttled | Unavailable} */
export async function duePurges(ports: PurgePorts): Promise<DuePurges> {
  const due: Leftover[] = [];
  let after: string | undefined;
  do {
    const page = await ports.leftovers.list(after);
    due.push(...page.items.filter((leftover) => isDue(leftover, ports.clock.now())));
    after = page.next;
  } while (after !== undefined);
  const open = due.filter(({ closedAt }) => closedAt === undefined);
  const closed = due.filter(({ closedAt }) => closedAt !== undefined);
  // Where there are more than one run works on, the next one begins elsewhere.
  const from = closed.length > SWEEP_LEFTOVERS_MAX ? Math.floor(ports.random() * closed.length) : 0;
  const chosen = [...closed.slice(from), ...closed.slice(0, from)].slice(0, SWEEP_LEFTOVERS_MAX);
  return {
    closings: open.slice(0, SWEEP_LEFTOVERS_MAX).map((leftover) => (mayGoOn) => closeHeads(ports, leftover, mayGoOn)),
    purges: chosen.map((leftover) => (mayGoOn) => purge(ports, leftover, mayGoOn)),
  };
}

/**
 * Data is purged once no write can land any more: `LATE_MAX_MS` after every head had been closed. An announcement is
 * left alone for as long, too: by then its maker has made the topic, or never will.
 */
function isDue({ state, at, closedAt }: Leftover, now: number): boolean {
  if (closedAt !== undefined) return closedAt + LATE_MAX_MS <= now;
  return state !== 'announced' || at + LATE_MAX_MS <= now;
}

async function closeHeads(ports: PurgePorts, leftover: Leftover, mayGoOn: MayGoOn): Promise<void> {
  if (leftover.state === 'announced') {
    // An attempt to announce it may have landed after it was made. None lands any more by now.
    if ((await ports.topicItems.read(leftover.name))?.id === leftover.id) return ports.leftovers.withdraw(leftover.id);
    if (!(await ports.leftovers.markAbandoned(leftover.id))) return;
  }
  if (!(await mayGoOn())) return;
  // Whoever deleted it, or made its heads, died over it.
  await actOnAll(partitionsOf(leftover), (partition) => ports.heads.close(partition));
  await ports.leftovers.markClosed(leftover.id, ports.clock.now());
}

/**
 * Removes all that is left of an incarnation: what is in its logs, its uploads, its heads, the leftover itself. Every step
 * can be repeated, so a run that ends early is taken up by the next. Claims go by their own expiry, within a day.
 */
async function purge(ports: PurgePorts, leftover: Leftover, mayGoOn: MayGoOn): Promise<void> {
  const partitions = partitionsOf(leftover);
  const empty = async (partition: PartitionId): Promise<boolean> =>
    // Intents first: one that went later would find its slot gone, and look for its topic.
    (await emptyLog(ports, partition, 'intents', mayGoOn)) && (await emptyLog(ports, partition, 'slots', mayGoOn));
  for (let i = 0; i < partitions.length; i += PURGE_PARTITIONS_PARALLEL) {
    const emptied = await actOnAll(partitions.slice(i, i + PURGE_PARTITIONS_PARALLEL), empty);
    if (emptied.includes(false)) return;
  }
  if (!(await unwatchUploads(ports, leftover.id, mayGoOn))) return;
  if (!(await mayGoOn(partitions.length))) return;
  await actOnAll(partitions, (partition) => ports.heads.remove(partition));
  await ports.leftovers.remove(leftover.id);
  ports.observe({ kind: 'topic_purged', topicId: leftover.id });
}

/** @returns false when it had to end before all were deleted */
async function emptyLog(
  ports: PurgePorts,
  partition: PartitionId,
  items: LogItems,
  mayGoOn: MayGoOn,
): Promise<boolean> {
  let after = -1;
  for (;;) {
    if (!(await mayGoOn())) return false;
    const { lasts, more } = await ports.purge.list(partition, items, after, PURGE_PAGE);
    const deleteSome = (some: readonly number[]) => ports.purge.delete(partition, items, some);
    for (let i = 0; i < lasts.length; i += BATCH_WRITE_MAX) {
      if (!(await deleteAll(ports, lasts.slice(i, i + BATCH_WRITE_MAX), deleteSome, mayGoOn))) return false;
    }
    after = lasts.at(-1) ?? after;
    if (items === 'slots' && lasts.length > 0) {
      ports.observe({ kind: 'slots_purged', log: `${partition.topicId}.${partition.partition}`, count: lasts.length });
      await ports.heads.markPurged(partition, more ? after + 1 : 'all');
    }
    if (!more) return true;
  }
}

/**
 * Has all uploads looked after, now that no record has them any more. Those that could still be taken are left to their
 * own watches: by then no URL is good for putting anything there.
 *
 * @returns false when it had to end before all were done
 */
async function unwatchUploads(ports: PurgePorts, topicId: string, mayGoOn: MayGoOn): Promise<boolean> {
  let after: string | undefined;
  do {
    if (!(await mayGoOn())) return false;
    const { items, next } = await ports.uploads.list(topicId, after);
    const old = items.filter(({ expiresAt }) => expiresAt <= ports.clock.now());
    const unwatch = (some: readonly UploadId[]) => ports.uploads.unwatch(some);
    for (let i = 0; i < old.length; i += BATCH_WRITE_MAX) {
      if (!(await deleteAll(ports, old.slice(i, i + BATCH_WRITE_MAX), unwatch, mayGoOn))) return false;
    }
    after = next;
  } while (after !== undefined);
  return true;
}

/** Deletes until nothing is left over, with pauses that grow and differ. @returns false when it had to end before */
async function deleteAll<T>(
  ports: PurgePorts,
  all: readonly T[],
  deleteSome: (some: readonly T[]) => Promise<readonly T[]>,
  mayGoOn: MayGoOn,
): Promise<boolean> {
  let left = all;
  for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, BATCH_WRITE_PAUSE_MS_MAX)) {
    if (!(await mayGoOn(left.length))) return false;
    try {
      left = await deleteSome(left);
    } catch (error) {
      if (!(error instanceof WriteFailed)) throw error; // else: deleted or not, they are deleted again
    }
    if (left.length === 0) return true;
    await ports.sleep(ports.random() * pauseMs);
  }
}

function partitionsOf({ id, partitions }: Leftover): PartitionId[] {
  return Array.from({ length: partitions }, (_, partition) => ({ topicId: id, partition }));
}
