import type { Clock } from '../domain/clock.ts';
import { DOCTOR_REPAIR_TRIES_MAX } from '../domain/doctor-limits.ts';
import type { Finding } from '../domain/finding.ts';
import { compareHead } from '../domain/head-beside-log.ts';
import { LIST_LIMIT_DEFAULT } from '../domain/limits.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { Reserved, Slot } from '../domain/slot.ts';
import type { Page, PartitionId, Topic } from '../domain/topic.ts';
import type { Findings } from './findings.ts';
import type { HeadView } from './walk.ts';

export interface PartitionPorts {
  readonly topicItems: { list(limit: number, after?: string): Promise<Page<Topic>> };
  readonly heads: {
    read(partition: PartitionId): Promise<(HeadView & { readonly closed: boolean }) | undefined>;
    moveBehind(partition: PartitionId, seen: number, to: number, register: readonly Reserved[]): Promise<boolean>;
  };
  readonly log: { readLast(partition: PartitionId): Promise<Slot | undefined> };
  readonly clock: Clock;
}

/** Where a partition's log really ends. */
export interface PartitionEnd {
  /** Next offset to be reserved. */
  readonly next: number;
  /** First offset that the log lacks though it was stored once; absent: it lacks none. */
  readonly lostFrom?: number;
}

/** Compares every partition's head with its log. @param repair whether heads that were left behind are moved */
export async function examinePartitions(ports: PartitionPorts, repair: boolean, findings: Findings): Promise<void> {
  await findings.attempt('topics', async () => {
    for (let after: string | undefined; ; ) {
      const { items, next } = await ports.topicItems.list(LIST_LIMIT_DEFAULT, after);
      for (const topic of items) await examineTopic(ports, topic, repair, findings);
      if (next === undefined) return;
      after = next;
    }
  });
}

async function examineTopic(ports: PartitionPorts, topic: Topic, repair: boolean, findings: Findings): Promise<void> {
  findings.looked('topics');
  const partitions = Array.from({ length: topic.partitions }, (_, partition) => partition);
  await actOnAll(partitions, (partition) =>
    findings.attempt(`partition ${topic.name}-${partition}`, async () => {
      const { found } = await examinePartition(ports, topic, partition, repair);
      findings.looked('partitions');
      findings.add(...found);
    }),
  );
}

/** Looks at one partition. @returns `end`: absent when it has no head */
export async function examinePartition(
  ports: PartitionPorts,
  topic: Topic,
  partition: number,
  repair: boolean,
): Promise<{ readonly found: Finding[]; readonly end?: PartitionEnd }> {
  const id = { topicId: topic.id, partition };
  const subject = `partition ${topic.name}-${partition}`;
  for (let tries = 1; ; tries++) {
    const head = await ports.heads.read(id);
    // After the head: what is appended meanwhile is behind it, and no sign of anything.
    const last = head && (await ports.log.readLast(id));
    if (head === undefined) return { found: [{ code: 'head_missing', subject, detail: 'it has no head' }] };
    const end = { next: head.next };
    if (head.closed) return { found: [{ code: 'head_closed', subject, detail: 'its head is closed' }], end };
    const fit = compareHead(topic, head, last, ports.clock.now());
    if (fit.kind === 'fits') return { found: [], end };
    if (fit.kind === 'abandoned') {
      const detail = `${fit.offsets} offsets were reserved and never stored`;
      return { found: [{ code: 'append_abandoned', subject, detail, data: { offsets: fit.offsets } }], end };
    }
    if (fit.kind === 'log_behind') {
      const detail = `the log ends at ${fit.end}, the head is at ${head.next}: what was between is not there`;
      const data = { from: fit.end, to: head.next };
      return { found: [{ code: 'log_behind_head', subject, detail, data }], end: { ...end, lostFrom: fit.end } };
    }
    // An append may have come between the two looks: the head alone tells.
    const again = await ports.heads.read(id);
    if (again !== undefined && again.next !== head.next && tries < DOCTOR_REPAIR_TRIES_MAX) continue;
    const data = { from: head.next, to: fit.to };
    const detail = `the head is at ${head.next}, the log ends at ${fit.to}`;
    const finding = { code: 'head_behind_log', subject, data } as const;
    if (!repair) return { found: [{ ...finding, detail, repair: 'possible' }], end };
    if (await ports.heads.moveBehind(id, head.next, fit.to, fit.register)) {
      const moved = `the head was at ${head.next}, the log ends at ${fit.to}: it was moved there`;
      return { found: [{ ...finding, detail: moved, repair: 'done' }], end: { next: fit.to } };
    }
    if (tries >= DOCTOR_REPAIR_TRIES_MAX) {
      const busy = `${detail}; it is being appended to: stop all traffic first`;
      return { found: [{ ...finding, detail: busy, repair: 'possible' }], end };
    }
  }
}
