import { LIST_LIMIT_MAX } from '../domain/limits.ts';
import type { Leftover, Page, Topic } from '../domain/topic.ts';
import type { Findings } from './findings.ts';

export interface LogExaminationPorts {
  readonly topicItems: { list(limit: number, after?: string): Promise<Page<Topic>> };
  readonly leftovers: { list(after?: string): Promise<Page<Leftover>> };
  /** The partition keys of the Log table, one after another, in no order. `topicId`: of one that holds slots or intents. */
  readonly logKeys: { next(after?: string): Promise<{ readonly key: string; readonly topicId?: string } | undefined> };
}

/** Finds logs of topics that the State table does not know. One Query for each partition. */
export async function examineLogs(ports: LogExaminationPorts, looksMax: number, findings: Findings): Promise<void> {
  await findings.attempt('logs', async () => {
    const unknown = new Map<string, number>();
    const known = await topicIds(ports);
    for (let after: string | undefined; ; ) {
      const found = await ports.logKeys.next(after);
      if (found === undefined) break;
      after = found.key;
      findings.looked('logs');
      const { topicId } = found;
      if (topicId !== undefined && !known.has(topicId)) unknown.set(topicId, (unknown.get(topicId) ?? 0) + 1);
      if (findings.countOf('logs') >= looksMax) {
        findings.leave('logs', `only the first ${looksMax} keys of the Log table were gone through`);
        break;
      }
    }
    if (unknown.size === 0) return;
    // Made, or deleted, while this was looking.
    const now = await topicIds(ports);
    for (const [topicId, keys] of unknown) {
      if (now.has(topicId)) continue;
      findings.add({ code: 'log_orphaned', subject: `topic id ${topicId}`, detail: `${keys} logs`, data: { keys } });
    }
  });
}

/** Of all incarnations that are known: live, being made, or being purged. */
async function topicIds({ topicItems, leftovers }: LogExaminationPorts): Promise<Set<string>> {
  const ids = new Set<string>();
  const gather = async (list: (after?: string) => Promise<Page<{ readonly id: string }>>) => {
    for (let after: string | undefined; ; ) {
      const { items, next } = await list(after);
      for (const { id } of items) ids.add(id);
      if (next === undefined) return;
      after = next;
    }
  };
  // In this order: a topic that is made or deleted meanwhile is in one of them.
  await gather((after) => leftovers.list(after));
  await gather((after) => topicItems.list(LIST_LIMIT_MAX, after));
  await gather((after) => leftovers.list(after));
  return ids;
}
