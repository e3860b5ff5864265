import type { Subscription } from '../../../shared/domain/subscription.ts';
import { hourOf } from '../../../shared/operations/doorbell.ts';
import { putTopic } from '../../../shared/operations/topics.ts';
import { sendOnce } from '../producers.ts';
import { resume, subscribe } from './administrators.ts';
import type { PushRun } from './push-run.ts';

const MINUTE = 60_000;
/** Until whatever was sent before has landed. */
const ALL_LANDED_MS = 17 * MINUTE;
/** Leases, messages that come back, back-offs below a second, and two runs of the sweep. */
const DRAIN_MS_MAX = 40 * MINUTE;
const LOOK_MS = 5_000;

/** All calm: targets take everything, whoever was stopped is resumed, and everything there is is delivered, by itself. */
export async function drain(run: PushRun): Promise<void> {
  const { world, service } = run;
  for (const target of run.targets.values()) target.mood = 'good';
  await run.sleep(ALL_LANDED_MS);
  for (const host of [...world.hosts]) world.crash(host);
  for (const target of run.targets.values()) target.end();
  world.calm();
  // Functions fail without a mood, so what stops their subscriptions may be under way.
  if (run.environment.once) await run.sleep(ALL_LANDED_MS);
  Object.assign(service.habits, { lost: 0, doubled: 0, late: 0, undone: 0 });
  const { id, partitions } = await orders(run);
  for (const [name, wish] of run.wishes) {
    const item = itemOf(run, name);
    const isWhole = item !== undefined && !run.unsubscribed.has(name);
    if (!isWhole) await subscribe(run, name, item === undefined ? wish : { topics: ['orders'] });
    if (itemOf(run, name)?.state !== 'active') await resume(run, name);
  }
  await nudge(run, id, partitions);
  const longest = Math.max(0, ...run.environment.backoffsMs.map(([, max]) => max));
  const until = world.now + DRAIN_MS_MAX + longest;
  while (behindOf(run, id, partitions) !== undefined && world.now < until) await run.sleep(LOOK_MS);
  const behind = behindOf(run, id, partitions);
  if (behind !== undefined) run.faults.push({ kind: 'no end', what: behind });
}

function itemOf({ seen }: PushRun, name: string): Subscription | undefined {
  return seen.subscriptions.findLast(({ before, after }) => (after ?? before)!.group.name === name)?.after;
}

async function orders(run: PushRun): Promise<{ id: string; partitions: number }> {
  const host = run.startHost();
  for (;;) {
    const told = await run.world.call(host, () => putTopic(host.backbone, 'orders', {}));
    if (told !== 'nothing' && 'answer' in told) return told.answer.topic;
    await run.sleep(1_000);
  }
}

/**
 * Markers are hints of a moment before a write: where that failed, and the messages got lost as well, nothing but the
 * next append tells of a record.
 */
async function nudge(run: PushRun, topicId: string, partitions: number): Promise<void> {
  if (run.environment.lost === 0) return;
  for (let partition = 0; partition < partitions; partition++) {
    const newest = run.world.mirror.held(topicId, partition).findLast(({ records }) => records.length > 0);
    const noted = run.seen.touched.get(`${topicId}.${partition}`) ?? 0;
    if (newest === undefined || noted >= hourOf(newest.at)) continue;
    const groups = [{ where: { partition }, records: [`${run.nextName()}/0.0`] }];
    await sendOnce(run, { topic: 'orders', groups }, run.anyHost());
  }
}

/** @returns which subscription is not at the end of which partition, or which key is still parked; undefined: none */
function behindOf(run: PushRun, topicId: string, partitions: number): string | undefined {
  const { mirror } = run.world;
  for (const name of run.targets.keys()) {
    const item = itemOf(run, name);
    if (item?.state !== 'active') return `${name} is ${item?.state ?? 'gone'}: ${item?.reason}`;
    for (let partition = 0; partition < partitions; partition++) {
      const stored = mirror.held(topicId, partition).filter(({ records }) => records.length > 0);
      const end = Math.max(0, ...stored.map(({ last }) => last + 1));
      const position = run.seen.positions.findLast(
        (one) =>
          one.lane === undefined &&
          one.groupId === item.group.id &&
          one.topicId === topicId &&
          one.partition === partition,
      )?.after;
      if (position?.parked !== undefined) return `${name} passes keys over in ${topicId}.${partition}`;
      if ((position?.committed ?? 0) < end)
        return `${name} is at ${position?.committed} of ${end} of ${topicId}.${partition}`;
    }
    const letters = new Map<string, boolean>();
    for (const { groupId, topicId: of, partition, offset, after } of run.seen.letterChanges) {
      if (groupId === item.group.id && of === topicId) letters.set(`${partition}.${offset}`, after?.isMarked ?? false);
    }
    const [on] = [...letters].filter(([, isMarked]) => isMarked);
    if (on !== undefined) return `${name} has not had the redriven ${on[0]}`;
  }
  // Of topics and subscriptions that are gone, too.
  const parked = run.seen.parked();
  return parked && `a parked key is left: ${parked}`;
}
