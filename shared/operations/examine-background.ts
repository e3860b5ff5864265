import type { Clock } from '../domain/clock.ts';
import { PURGE_OVERDUE_MS, SWEEP_STALLED_MS } from '../domain/doctor-limits.ts';
import type { DeletedGroup } from '../domain/group.ts';
import { LIST_LIMIT_MAX } from '../domain/limits.ts';
import type { Leftover, Page } from '../domain/topic.ts';
import type { Findings } from './findings.ts';

export interface BackgroundPorts {
  readonly leftovers: { list(after?: string): Promise<Page<Leftover>> };
  readonly groups: { listDeleted(limit: number): Promise<readonly DeletedGroup[]> };
  readonly lease: { heldUntil(): Promise<number | undefined> };
  readonly clock: Clock;
}

/** What is left of what was deleted, and whether the sweep that should remove it runs. */
export async function examineBackground(ports: BackgroundPorts, findings: Findings): Promise<void> {
  const now = ports.clock.now();
  await findings.attempt('the lease of the sweep', async () => {
    const until = await ports.lease.heldUntil();
    if (until === undefined || now - until < SWEEP_STALLED_MS) return;
    const detail = `its last run ended unfinished ${minutes(now - until)} ago, and none has begun since`;
    findings.add({ code: 'sweep_stalled', subject: 'sweep', detail, data: { until } });
  });
  let running = 0;
  let oldestAt = now;
  const tell = (subject: string, at: number) => {
    findings.looked('purges');
    if (now - at <= PURGE_OVERDUE_MS) {
      running += 1;
      oldestAt = Math.min(oldestAt, at);
      return;
    }
    const detail = `deleted ${minutes(now - at)} ago, and still being removed`;
    findings.add({ code: 'purge_overdue', subject, detail, data: { at } });
  };
  await findings.attempt('deleted topics', async () => {
    for (let after: string | undefined; ; ) {
      const { items, next } = await ports.leftovers.list(after);
      for (const { name, id, at } of items) tell(`topic ${name} (${id})`, at);
      if (next === undefined) return;
      after = next;
    }
  });
  await findings.attempt('deleted groups', async () => {
    for (const { name, id, at } of await ports.groups.listDeleted(LIST_LIMIT_MAX)) tell(`group ${name} (${id})`, at);
  });
  if (running === 0) return;
  const detail = `${running} topics and groups are being removed, the first since ${minutes(now - oldestAt)}`;
  findings.add({ code: 'purge_running', subject: 'purges', detail, data: { count: running } });
}

function minutes(ms: number): string {
  const all = Math.round(ms / 60_000);
  return all < 120 ? `${all} min` : `${Math.round(all / 60)} h`;
}
