import type { GroupId } from '../domain/group.ts';
import { GroupNotFound } from '../domain/group-errors.ts';
import { TRANSACTION_ACTIONS_MAX } from '../domain/limits.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { Position } from '../domain/position.ts';
import type { PartitionId } from '../domain/topic.ts';
import type { GroupPorts } from './group-ports.ts';
import { insisting } from './store-failed.ts';

export type Start = PartitionId & Position;

/** Positions of one transaction; the group is its other part. */
const STARTS_PER_CALL = TRANSACTION_ACTIONS_MAX - 1;
/** Times that some of a transaction's positions are found to be there before the call gives up on the others. */
const TRIES_MAX = 4;

/**
 * Makes positions where there are none, as many in a transaction as it takes: each checks that the group is still this
 * incarnation, and such transactions conflict with each other.
 *
 * @returns for each whether it was made; where not, there was one already, which may be the caller's own
 * @throws {GroupNotFound | Throttled | Unavailable | WriteFailed} some may be made
 */
export async function createPositions(
  ports: Pick<GroupPorts, 'groups' | 'positions' | 'sleep' | 'random'>,
  group: GroupId,
  starts: readonly Start[],
): Promise<boolean[]> {
  const made = new Set<Start>();
  for (let from = 0; from < starts.length; from += STARTS_PER_CALL) {
    let missing = starts.slice(from, from + STARTS_PER_CALL);
    for (let tries = 0; tries < TRIES_MAX && missing.length > 0; tries++) {
      const wanted = missing;
      if (await insisting(ports, () => ports.positions.createAll(group, wanted))) {
        for (const start of wanted) made.add(start);
        break;
      }
      const found = await actOnAll(wanted, ({ topicId, partition }) =>
        ports.positions.read({ group, topicId, partition }),
      );
      missing = wanted.filter((_, i) => found[i] === undefined);
      const isGone = missing.length === wanted.length && (await ports.groups.read(group.name, true))?.id !== group.id;
      if (isGone) throw new GroupNotFound(group.name);
    }
  }
  return starts.map((start) => made.has(start));
}
