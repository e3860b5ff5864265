import type { GroupId, GroupTopic } from '../domain/group.ts';
import { LIST_LIMIT_DEFAULT } from '../domain/limits.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { Position, PositionId } from '../domain/position.ts';
import type { Subscription } from '../domain/subscription.ts';
import type { Page } from '../domain/topic.ts';
import type { Findings } from './findings.ts';
import type { PartitionEnds } from './partition-ends.ts';

export interface GroupExaminationPorts {
  readonly groups: { list(limit: number, after?: string): Promise<Page<GroupId>> };
  readonly groupTopics: { all(group: GroupId): Promise<GroupTopic[]> };
  readonly positions: { read(position: PositionId, strong: boolean): Promise<Position | undefined> };
  readonly deadLetters: { count(group: GroupId): Promise<{ readonly count: number; readonly more: boolean }> };
  readonly subscriptions: {
    list(limit: number, after?: string): Promise<Page<GroupId>>;
    read(name: string, strong: boolean): Promise<Subscription | undefined>;
  };
}

/** Looks at what every group has committed, and at its dead letters. */
export async function examineGroups(
  ports: GroupExaminationPorts,
  ends: PartitionEnds,
  findings: Findings,
): Promise<void> {
  await eachPage(
    'groups',
    (after) => ports.groups.list(LIST_LIMIT_DEFAULT, after),
    findings,
    async (group) => {
      findings.looked('groups');
      for (const topic of await ports.groupTopics.all(group))
        await examinePositions(ports, group, topic, ends, findings);
      const { count, more } = await ports.deadLetters.count(group);
      if (count === 0) return;
      const detail = `it has ${more ? 'more than ' : ''}${count} dead letters`;
      findings.add({ code: 'dead_letters', subject: `group ${group.name}`, detail, data: { count } });
    },
  );
}

/** @returns whether there are any; undefined when one could not look */
export async function examineSubscriptions(
  { subscriptions }: GroupExaminationPorts,
  findings: Findings,
): Promise<boolean | undefined> {
  const isWhole = await eachPage(
    'subscriptions',
    (after) => subscriptions.list(LIST_LIMIT_DEFAULT, after),
    findings,
    async ({ name }) => {
      findings.looked('subscriptions');
      const is = await subscriptions.read(name, false);
      if (is?.state !== 'halted') return;
      const detail = `it is halted${is.reason === undefined ? '' : `: ${is.reason}`}`;
      findings.add({ code: 'subscription_halted', subject: `subscription ${name}`, detail });
    },
  );
  return isWhole || findings.countOf('subscriptions') > 0 ? findings.countOf('subscriptions') > 0 : undefined;
}

async function examinePositions(
  ports: GroupExaminationPorts,
  group: GroupId,
  { topicId, name, partitions }: GroupTopic,
  ends: PartitionEnds,
  findings: Findings,
): Promise<void> {
  const numbers = Array.from({ length: partitions }, (_, partition) => partition);
  await actOnAll(numbers, async (partition) => {
    const position = await ports.positions.read({ group, topicId, partition }, false);
    if (position === undefined) return;
    findings.looked('positions');
    const { committed } = position;
    const most = await ends.endBelow(name, { topicId, partition }, committed);
    if (most === undefined) return;
    const subject = `position of ${group.name} in ${name}-${partition}`;
    const detail = `it has committed ${committed}, the log ends at ${most}`;
    findings.add({ code: 'position_beyond_log', subject, detail, data: { committed, end: most } });
  });
}

/** @returns whether all could be listed */
async function eachPage(
  what: string,
  list: (after?: string) => Promise<Page<GroupId>>,
  findings: Findings,
  visit: (group: GroupId) => Promise<void>,
): Promise<boolean> {
  let isWhole = false;
  await findings.attempt(what, async () => {
    for (let after: string | undefined; ; ) {
      const { items, next } = await list(after);
      for (const group of items) await findings.attempt(`group ${group.name}`, () => visit(group));
      if (next === undefined) break;
      after = next;
    }
    isWhole = true;
  });
  return isWhole;
}
