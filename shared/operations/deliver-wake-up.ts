import { TopicNotFound } from '../domain/errors.ts';
import { nextEpoch } from '../domain/group.ts';
import { GroupNotFound } from '../domain/group-errors.ts';
import { dueAtOf } from '../domain/lane.ts';
import { CLOCK_MARGIN_MS, SETTLE_AFTER_MS, WAKE_HOPS_MAX, WAKE_PAUSE_S } from '../domain/limits.ts';
import { isServed, type Position, type PositionId } from '../domain/position.ts';
import type { Subscription } from '../domain/subscription.ts';
import type { Topic } from '../domain/topic.ts';
import { type Subscriber, sentOn, type WakeUp } from '../domain/wake-up.ts';
import { createPositions } from './create-positions.ts';
import type { DeliverPorts } from './deliver-ports.ts';
import { DeliveryRun } from './delivery-run.ts';
import { findTopic } from './group-topics.ts';
import { LaneRun } from './lane-run.ts';
import { RedriveRun } from './redrive-run.ts';

export interface DeliverCall {
  /** It was received before, and nobody knows what became of it: it is not dropped for what others may be at. */
  readonly isReturned: boolean;
  /** Epoch ms at which whoever runs this is ended. */
  readonly deadline: number;
}

/** A wake-up of one subscription. */
type Own = WakeUp & { readonly to: Subscriber };

/** Times that one wake-up looks at a position that changes under its eyes. */
const LOOKS_MAX = 5;
/** When an unsettled slot is looked at again: by then it is filled, or may be settled. */
const UNSETTLED_WAIT_MS = SETTLE_AFTER_MS + 1_000;

/**
 * Delivers what a wake-up may have come for: it serves one of the topic's subscriptions, and sends the others on. What
 * somebody else is at, or is past, is dropped without a write: whoever is at it looks once more when it is done.
 *
 * @throws {Throttled | Unavailable | WriteFailed} it has to come back, and be told to be returned
 */
export async function deliverWakeUp(ports: DeliverPorts, wakeUp: WakeUp, call: DeliverCall): Promise<void> {
  // Whether somebody was sent it, and is past it, nobody knows: each has to look.
  const { last: _, epoch: __, ...whole } = wakeUp;
  const heard = call.isReturned ? whole : wakeUp;
  if (wakeUp.to !== undefined) return deliverOwn(ports, { ...heard, to: wakeUp.to }, call);
  await deliverToOne(ports, heard, call);
}

/**
 * Sends a wake-up back that was handed aside and came to nothing: no queue brings it again.
 *
 * @throws {WriteFailed}
 */
export async function sendBack({ wakeQueue }: Pick<DeliverPorts, 'wakeQueue'>, wakeUp: WakeUp): Promise<void> {
  await wakeQueue.wake([sentOn(wakeUp)], WAKE_PAUSE_S * 1_000);
}

/**
 * Serves the subscription that is first, and sends the others on. Which one was first the last time is known here: it is
 * served while that is asked again, for what is delivered to whom is judged by what is stored of each.
 */
async function deliverToOne(ports: DeliverPorts, wakeUp: WakeUp, call: DeliverCall): Promise<void> {
  const { subscribers, served, wakeQueue } = ports;
  const guess = served.get(wakeUp.topicId);
  const serve = (to: Subscriber) => deliverOwn(ports, { ...wakeUp, to }, call);
  const sendOn = async (): Promise<Subscriber | undefined> => {
    const all = await subscribers.of(wakeUp.topicId);
    const one = all.find(({ group }) => group.id === guess?.group.id) ?? all[0];
    served.set(wakeUp.topicId, one);
    const others = all.filter((to) => to !== one);
    if (others.length > 0) await wakeQueue.wake(others.map((to) => ({ ...wakeUp, to })));
    return one;
  };
  if (guess === undefined) {
    const one = await sendOn();
    return one && serve(one);
  }
  const [found, done] = await Promise.allSettled([sendOn(), serve(guess)]);
  if (found.status === 'rejected') throw found.reason;
  if (done.status === 'rejected') throw done.reason;
  if (found.value !== undefined && found.value.group.id !== guess.group.id) await serve(found.value);
}

async function deliverOwn(
  ports: DeliverPorts,
  wakeUp: Own,
  { deadline }: Pick<DeliverCall, 'deadline'>,
): Promise<void> {
  const { to, topicId, partition } = wakeUp;
  const { lane } = wakeUp;
  const id = { group: to.group, topicId, partition, ...(lane !== undefined && { lane }) };
  let seen: number | undefined;
  for (let looks = 0; looks < LOOKS_MAX; looks++) {
    const found = await find(ports, id, to);
    if (found === undefined) return;
    const { position, subscription } = found;
    const waitMs = waitOf(position, ports.clock.now());
    if (waitMs > 0 && isLeftToOthers(wakeUp, seen ?? wakeUp.epoch, position)) return;
    if (wakeUp.last !== undefined && position.committed > wakeUp.last) return;
    seen = position.epoch;
    if (waitMs > CLOCK_MARGIN_MS) return sendOn(ports, wakeUp, waitMs, seen);
    if (waitMs > 0) {
      await ports.sleep(waitMs);
      continue;
    }
    if (ports.aside !== undefined && (lane !== undefined || position.push?.isSlow)) return handAside(ports, wakeUp);
    if (wakeUp.isRedrive) {
      const end = await new RedriveRun(ports, { subscription, id, to, position, deadline }).run();
      if (end.kind === 'stopped') return;
      if (end.kind === 'aside') return handAside(ports, wakeUp);
      if (end.kind === 'taken') continue;
      if (end.kind === 'later') await sendOn(ports, wakeUp, end.waitMs);
      // What came while it was at it was dropped: whoever lets go looks.
      const { isRedrive: _, ...look } = wakeUp;
      return deliverOwn(ports, look, { deadline });
    }
    const topic = await topicOf(ports, to.topic, topicId);
    if (topic === undefined) return;
    const of = { subscription, topic, id, to, position, deadline };
    const end =
      lane === undefined
        ? await new DeliveryRun(ports, of).run(wakeUp.last !== undefined && wakeUp.last >= position.committed)
        : await new LaneRun(ports, { ...of, id: { ...id, lane } }).run();
    if (end.kind === 'idle') return;
    if (end.kind === 'unsettled') return sendOn(ports, wakeUp, UNSETTLED_WAIT_MS);
    if (end.kind === 'later') return sendOn(ports, wakeUp, end.waitMs);
    if (end.kind === 'aside') return handAside(ports, { ...sentOn(wakeUp), to });
  }
  // Others are at it; should they not look once more, this one does.
  await sendOn(ports, wakeUp, CLOCK_MARGIN_MS);
}

/**
 * Whether a position that waits may be left to whoever made it wait. One that came for a record may: whoever is at it looks
 * once more. So may one that saw it in another epoch: who took it since was woken, too, and his wake-up is not done before.
 */
function isLeftToOthers({ last, isRedrive }: Own, seen: number | undefined, { epoch }: Position): boolean {
  if (last !== undefined) return true;
  // Whoever is at it may look for what is behind alone.
  return !isRedrive && seen !== undefined && seen !== epoch;
}

/** @returns undefined when there is nobody to deliver to */
async function find(
  ports: DeliverPorts,
  id: PositionId,
  to: Subscriber,
): Promise<{ readonly subscription: Subscription; readonly position: Position } | undefined> {
  const [subscription, position] = await Promise.all([
    ports.subscriptions.read(id.group.name),
    ports.positions.read(id, true),
  ]);
  if (subscription?.group.id !== id.group.id || subscription.state !== 'active') return undefined;
  if (!subscription.topics.includes(to.topic)) return undefined;
  if (position !== undefined) return { subscription, position };
  if (id.lane !== undefined) return undefined;
  // One that it knew is made with the subscription.
  if (id.partition < to.known) return undefined;
  const made = await makeAdded(ports, id, to.topic);
  return made && { subscription, position: made };
}

/** A partition that was added since starts at its first record (G5). @returns undefined when topic or group is gone */
async function makeAdded(ports: DeliverPorts, id: PositionId, topicName: string): Promise<Position | undefined> {
  const { group, topicId, partition } = id;
  const topic = await findTopic(ports.topics, topicName, true);
  if (topic?.id !== topicId) return undefined;
  // Whoever shows, seeks, resumes or purges finds the position by it.
  await ports.groupTopics.note(group, topic);
  try {
    await createPositions(ports, group, [{ topicId, partition, epoch: nextEpoch(0, ports.clock.now()), committed: 0 }]);
  } catch (error) {
    if (error instanceof GroupNotFound) return undefined;
    throw error;
  }
  return ports.positions.read(id, true);
}

/** How long it is not to be delivered to: somebody is at it, or it failed. */
function waitOf(position: Position, now: number): number {
  if (isServed(position, now)) return position.until! - now + 1;
  return Math.max(0, dueAtOf(position) - now);
}

/** @returns undefined when this incarnation is gone */
async function topicOf(ports: DeliverPorts, name: string, topicId: string): Promise<Topic | undefined> {
  try {
    const copy = await ports.topics.get(name);
    const topic = copy.id === topicId ? copy : await ports.topics.fresh(name);
    return topic.id === topicId ? topic : undefined;
  } catch (error) {
    if (error instanceof TopicNotFound) return undefined;
    throw error;
  }
}

async function handAside(ports: DeliverPorts, wakeUp: Own): Promise<void> {
  if (wakeUp.hop >= WAKE_HOPS_MAX) return sendOn(ports, wakeUp, 0);
  await ports.aside?.(wakeUp);
}

async function sendOn(ports: DeliverPorts, wakeUp: Own, delayMs: number, epoch?: number): Promise<void> {
  const { to, topicId, partition, hop, isRedrive, lane } = wakeUp;
  if (hop < WAKE_HOPS_MAX) {
    return ports.wakeQueue.wake([{ ...sentOn(wakeUp), ...(epoch !== undefined && { epoch }) }], delayMs);
  }
  // A lane has its mark for as long as it is there.
  if (lane !== undefined) return;
  const dueAt = ports.clock.now() + delayMs;
  await ports.pending.put({ to, topicId, partition, dueAt, ...(isRedrive && { isRedrive }) });
}
