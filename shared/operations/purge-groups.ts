import type { Clock } from '../domain/clock.ts';
import type { DeadLetter } from '../domain/dead-letter.ts';
import type { DeletedGroup, GroupId } from '../domain/group.ts';
import { LATE_MAX_MS, PURGE_GROUP_ITEMS_PARALLEL, SWEEP_LEFTOVERS_MAX } from '../domain/limits.ts';
import type { Observe } from '../domain/observation.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { Page } from '../domain/topic.ts';
import type { GroupStores } from './group-ports.ts';
import { type LetterObjects, removeObjects } from './letter-payload.ts';
import type { MayGoOn, Task } from './take-turns.ts';
import { type UnsubscribePorts, unsubscribeTopic } from './unsubscribe-topic.ts';

export interface GroupPurgePorts {
  readonly groups: {
    listDeleted(limit: number): Promise<readonly DeletedGroup[]>;
    forget(groupId: string): Promise<void>;
  };
  readonly members: Pick<GroupStores['members'], 'all' | 'leave'>;
  readonly groupTopics: Pick<GroupStores['groupTopics'], 'all' | 'remove'>;
  readonly positions: Pick<GroupStores['positions'], 'remove'>;
  /** Subscriptions by topic: that of this group, if it was one, is none any more. */
  readonly subscribers: UnsubscribePorts['subscribers'];
  readonly topicItems: UnsubscribePorts['topicItems'];
  readonly deadLetters: {
    list(group: GroupId, query: { readonly limit: number }): Promise<Page<DeadLetter>>;
    delete(group: GroupId, letter: DeadLetter): Promise<boolean>;
  };
  readonly deadLetterObjects: Pick<LetterObjects, 'remove'>;
  readonly clock: Clock;
  readonly observe: Observe;
}

/**
 * What is due for deleted groups, as tasks; none while nothing is. What was on its way when the group was deleted has
 * landed by then, unless a process stood still for longer: what that one still writes belongs to no group any more, costs
 * its storage, and is never read.
 *
 * @throws {Throttled | Unavailable}
 */
export async function dueGroupPurges(ports: GroupPurgePorts): Promise<Task[]> {
  const now = ports.clock.now();
  const due = (await ports.groups.listDeleted(SWEEP_LEFTOVERS_MAX)).filter(({ at }) => at + LATE_MAX_MS <= now);
  return due.map((group) => (mayGoOn) => purge(ports, group, mayGoOn));
}

/**
 * Removes all that is left of a group: members, positions, dead letters with their payloads, what told of its topics,
 * and the note that it was deleted, last. Every step can be repeated, so a run that ends early is taken up by the next.
 * Assignments go by their own expiry, within a week.
 */
async function purge(ports: GroupPurgePorts, group: DeletedGroup, mayGoOn: MayGoOn): Promise<void> {
  const members = await ports.members.all(group);
  const leave = ({ key, memberId }: (typeof members)[number]) => ports.members.leave(group, key, memberId);
  if (!(await removeAll(members, leave, mayGoOn))) return;
  for (const topic of await ports.groupTopics.all(group)) {
    const { topicId, partitions } = topic;
    const positions = Array.from({ length: partitions }, (_, partition) => ({ group, topicId, partition }));
    if (!(await removeAll(positions, (position) => ports.positions.remove(position), mayGoOn))) return;
    // What DELETE did not come to.
    await unsubscribeTopic(ports, group, topic);
    // It tells which positions there may be, so it goes after them.
    await ports.groupTopics.remove(group, topicId);
  }
  for (;;) {
    const letters = await ports.deadLetters.list(group, { limit: PURGE_GROUP_ITEMS_PARALLEL });
    if (letters.items.length === 0) break;
    if (!(await removeAll(letters.items, (letter) => removeLetter(ports, group, letter), mayGoOn))) return;
  }
  if (!(await mayGoOn(1))) return;
  await ports.groups.forget(group.id);
  ports.observe({ kind: 'group_purged', groupId: group.id });
}

async function removeLetter(ports: GroupPurgePorts, group: GroupId, letter: DeadLetter): Promise<void> {
  await removeObjects(ports.deadLetterObjects, group, letter);
  await ports.deadLetters.delete(group, letter);
}

/** @returns false when it had to end before all were removed */
async function removeAll<T>(
  items: readonly T[],
  remove: (item: T) => Promise<unknown>,
  mayGoOn: MayGoOn,
): Promise<boolean> {
  for (let i = 0; i < items.length; i += PURGE_GROUP_ITEMS_PARALLEL) {
    const some = items.slice(i, i + PURGE_GROUP_ITEMS_PARALLEL);
    if (!(await mayGoOn(some.length))) return false;
    await actOnAll(some, remove);
  }
  return true;
}
