import { Unavailable } from '../domain/errors.ts';
import { nextEpoch } from '../domain/group.ts';
import type { LaneId, ParkedAct } from '../domain/lane.ts';
import type { Position } from '../domain/position.ts';
import { pushOf } from '../domain/push-retry.ts';
import type { Subscriber } from '../domain/wake-up.ts';
import type { SubscriptionPorts } from './subscription-ports.ts';
import { wakeLane } from './wake-lane.ts';

/** Times that a lane is changed anew because others change it at the same time. */
const TRIES_MAX = 8;

/**
 * Has the record that fails on a lane tried at once, or be a dead letter.
 *
 * @returns `was`: so it was before; `nothing`: no record is known to fail there, or not the one any more that did
 * @throws {Unavailable | Throttled | WriteFailed}
 */
export async function actOnLane(
  ports: Pick<SubscriptionPorts, 'positions' | 'lanes' | 'wakeQueue' | 'clock'>,
  to: Subscriber,
  id: LaneId,
  act: ParkedAct,
): Promise<'done' | 'was' | 'nothing'> {
  const first = await ports.positions.read(id);
  for (let tries = 0, seen = first; tries < TRIES_MAX; tries++, seen = await ports.positions.read(id)) {
    // What it fails at once it has gone on is not what was meant.
    if (first === undefined || seen?.committed !== first.committed) return 'nothing';
    const { failure } = pushOf(seen);
    if (failure === undefined) return act === 'resume' ? 'was' : 'nothing';
    // Of a batch that failed nobody knows which of its records it was.
    if (act === 'dead-letter' && failure.attempts === 0 && failure.span > 1) return 'nothing';
    const wasGivenUp = seen.about?.giveUp === seen.committed;
    if (act === 'dead-letter' && !wasGivenUp && !(await ports.lanes.giveUp(id, seen.committed))) continue;
    const now = ports.clock.now();
    // What is under way is not begun a second time.
    if (isServed(seen, now)) return act === 'resume' || wasGivenUp ? 'was' : 'done';
    const isGivenUp = wasGivenUp || act === 'dead-letter';
    const isDue = failure.retryAt <= now && (isGivenUp ? wasGivenUp : failure.attempts === 0);
    if (isDue) return 'was';
    // Its attempts are told with the dead letter; else they count from the start.
    const due = { ...failure, retryAt: now, absences: 0, attempts: isGivenUp ? failure.attempts : 0 };
    const { committed, push } = seen;
    const change = { committed, epoch: nextEpoch(seen.epoch, now), push: { ...push, failure: due } };
    if (!(await ports.positions.change(id, seen, change))) continue;
    await wakeLane(ports, to, id);
    return 'done';
  }
  throw new Unavailable(`A parked key of '${id.group.name}' is being changed by others all the time`);
}

/** Whether somebody is at it. */
export function isServed({ owner, until = 0 }: Position, now: number): boolean {
  return owner !== undefined && until >= now;
}
