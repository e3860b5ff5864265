import type { Group, Member } from '../domain/group.ts';
import type { Page } from '../domain/topic.ts';
import { type ApiAnswer, jsonAnswer } from './http-answer.ts';
import { toNextToken } from './next-token.ts';

interface ShownMember extends Member {
  readonly assigned: readonly { readonly topic: string; readonly partition: number; readonly epoch: number }[];
}

interface ShownOffset {
  readonly topic: string;
  readonly partition: number;
  readonly committed?: number;
  readonly highWatermark: number;
  readonly lag: number;
  /** Of a subscription: keys that are parked. */
  readonly parked?: number;
  readonly metadata?: string;
}

export function groupListAnswer({ items, next }: Page<Pick<Group, 'name' | 'id' | 'createdAt'>>): ApiAnswer {
  const groups = items.map(({ name: group, id, createdAt }) => ({ group, id, createdAt }));
  return jsonAnswer({ groups, ...(next !== undefined && { nextToken: toNextToken('groups', next) }) });
}

/** `committed` is null where the group has never had the partition. */
export function groupAnswer(description: {
  readonly group: Group;
  readonly members: readonly ShownMember[];
  readonly offsets: readonly ShownOffset[];
}): ApiAnswer {
  const { name, id, createdAt, redrives: { failed, stoppedAt } = {} } = description.group;
  return jsonAnswer({
    ...{ group: name, id, createdAt },
    ...((failed ?? stoppedAt) !== undefined && { redrives: { failed, stoppedAt } }),
    members: description.members.map(({ memberId, instanceId, lastSeenAt, ...member }) => ({
      memberId,
      ...(instanceId !== undefined && { instanceId }),
      ...{ joinedAt: member.joinedAt, lastSeenAt, sessionTimeoutMs: member.sessionTimeoutMs },
      ...{ topics: member.topics, assigned: member.assigned },
    })),
    offsets: description.offsets.map(
      ({ topic, partition, committed = null, highWatermark, lag, metadata, parked }) => ({
        ...{ topic, partition, committed, highWatermark, lag },
        ...(parked !== undefined && { parked }),
        ...(metadata !== undefined && { metadata }),
      }),
    ),
  });
}

export function resetAnswer(
  topic: string,
  offsets: readonly { readonly partition: number; readonly offset: number }[],
): ApiAnswer {
  return jsonAnswer({
    offsets: offsets.map(({ partition, offset }) => ({ topic, partition, offset, committed: offset })),
  });
}
