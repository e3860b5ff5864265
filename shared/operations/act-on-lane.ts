import { Unavailable } from '../domain/errors.ts';
import { nextEpoch } from '../domain/group.ts';
import { isGivenUp, type LaneId, type ParkedAct } from '../domain/lane.ts';
import { isServed } from '../domain/position.ts';
import { pushOf } from '../domain/push-retry.ts';
import type { Subscriber } from '../domain/wake-up.ts';
import type { DeliverPorts } from './deliver-ports.ts';
import { wakeLane } from './wake-lane.ts';

/** Times that a lane is changed anew because others change it at the same time. */
const TRIES_MAX = 8;

/**
 * Has the record that fails on a lane tried at once, or be a dead letter; a lane that is on its way goes on.
 *
 * @returns `was`: so it was before; `nothing`: no record is known to fail there, or not the one any more that did
 * @throws {Unavailable | Throttled | WriteFailed}
 */
export async function actOnLane(
  ports: Pick<DeliverPorts, 'positions' | 'wakeQueue' | 'clock'> & {
    readonly lanes: Pick<DeliverPorts['lanes'], 'giveUp'>;
  },
  to: Subscriber,
  id: LaneId,
  act: ParkedAct,
): Promise<'done' | 'was' | 'nothing'> {
  const first = await ports.positions.read(id);
  let done: 'done' | 'was' = 'was';
  for (let tries = 0, seen = first; tries < TRIES_MAX; tries++, seen = await ports.positions.read(id)) {
    // What it fails at once it has gone on is not what was meant.
    if (first === undefined || seen?.committed !== first.committed) return done === 'was' ? 'nothing' : done;
    const { failure } = pushOf(seen);
    const isToFail = isGivenUp(seen);
    if (act === 'dead-letter' && !isToFail) {
      // Of a batch that failed nobody knows which of its records it was.
      const isKnown = failure !== undefined && (failure.attempts > 0 || failure.end === seen.committed + 1);
      if (!isKnown) return done === 'was' ? 'nothing' : done;
      // What else there is to do is judged by how the lane is after that.
      if (await ports.lanes.giveUp(id, seen.committed)) done = 'done';
      continue;
    }
    const now = ports.clock.now();
    const isDue = failure === undefined || isToFail || (failure.retryAt <= now && failure.attempts === 0);
    // What is under way is not begun a second time: whoever is at it looks whether it was given up.
    if (!isDue && !isServed(seen, now)) {
      const due = { ...failure, retryAt: now, absences: 0, attempts: 0 };
      const { committed, push } = seen;
      const change = { committed, epoch: nextEpoch(seen.epoch, now), push: { ...push, failure: due } };
      if (!(await ports.positions.change(id, seen, change))) continue;
      done = 'done';
    }
    // In any case: who told it so before may have died, and who is at it may be about to let it go.
    await wakeLane(ports, to, id);
    return done;
  }
  throw new Unavailable(`A parked key of '${id.group.name}' is being changed by others all the time`);
}
