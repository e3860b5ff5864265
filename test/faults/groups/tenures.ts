import type { GroupHistory, GroupViolation, PositionChange } from './history.ts';

/** What one position was from one epoch to the next, as the table has held it. */
export interface Tenure {
  readonly groupId: string;
  readonly topicId: string;
  readonly partition: number;
  readonly epoch: number;
  /** The session that took it; absent: it was set from outside. */
  readonly owner: string | undefined;
  readonly from: number;
  /** The tenure before it on the same position. */
  readonly previous: Tenure | undefined;
  /** What was committed, and from when on; the first is what it began with. */
  readonly committed: { readonly at: number; readonly offset: number }[];
  releasedAt?: number;
  end?: { readonly at: number; readonly how: 'taken' | 'foreign' | 'removed'; readonly by: string | undefined };
}

/** The tenures of all positions, in the order of time, and what no position may do. */
export function tenuresOf({ positions }: GroupHistory): { tenures: Tenure[]; violations: GroupViolation[] } {
  const tenures: Tenure[] = [];
  const violations: GroupViolation[] = [];
  const current = new Map<string, Tenure>();
  for (const change of positions) {
    const { at, groupId, topicId, partition, before, after } = change;
    const key = `${groupId} ${topicId}.${partition}`;
    const running = current.get(key);
    const say = (kind: GroupViolation['kind'], what = '') =>
      violations.push({ kind, what: `${key} at ${at}: ${tell(change)}${what}` });
    if (after === undefined) {
      if (running !== undefined) running.end = { at, how: 'removed', by: undefined };
      current.delete(key);
      continue;
    }
    if (running === undefined || before === undefined || after.epoch !== before.epoch) {
      if (before !== undefined && after.epoch < before.epoch) say('epoch went back');
      if (running !== undefined) {
        running.end = { at, how: after.owner === undefined ? 'foreign' : 'taken', by: after.owner };
      }
      if (after.owner !== undefined && before !== undefined && after.committed !== before.committed) {
        say('taken with another offset');
      }
      const { epoch, owner, committed } = after;
      const tenure = { groupId, topicId, partition, epoch, owner, from: at, previous: running };
      const whole = { ...tenure, committed: [{ at, offset: committed }] };
      tenures.push(whole);
      current.set(key, whole);
      continue;
    }
    if (after.owner !== before.owner) {
      if (after.owner !== undefined) say('one epoch, two owners');
      else running.releasedAt = at;
    }
    if (after.committed < before.committed) say('commit went back');
    if (after.committed !== before.committed) running.committed.push({ at, offset: after.committed });
  }
  return { tenures, violations };
}

function tell({ before, after }: PositionChange): string {
  const text = (one: PositionChange['after']) =>
    one === undefined ? 'nothing' : `${one.committed} at epoch ${one.epoch} of ${one.owner ?? 'nobody'}`;
  return `from ${text(before)} to ${text(after)}`;
}
