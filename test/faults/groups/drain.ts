import { putTopic } from '../../../shared/operations/topics.ts';
import { ALL_LANDED_MS, type GroupRun } from './group-run.ts';
import type { Member } from './member.ts';

/** A hand-over by those who keep to the contract takes two polls of each, one after the other. */
const ROUNDS_TO_BALANCE = 8;
const ROUNDS_MAX = 30;
const ROUND_MS = 1_000;
const ROOM = 500;

/** All calm: a few members that keep to the contract share all partitions, soon, and handle and commit all there is. */
export async function drain(run: GroupRun): Promise<void> {
  const { world, random } = run;
  await run.sleep(ALL_LANDED_MS);
  for (const host of [...world.hosts]) world.crash(host);
  world.calm();
  const { topicId, partitions } = await orders(run);
  // Some of those who were there before are still there: their sessions are over.
  const alive = run.members.filter(({ isOver }) => !isOver);
  const before = alive
    .filter((one, i) => alive.findIndex(({ memberId }) => memberId === one.memberId) === i)
    .slice(0, 2);
  for (const member of before) member.die();
  const good = (i: number) => ({ stubborn: false, late: false, instanceId: `last-${i}` });
  const members = before.map(({ memory }, i) => run.newMember(good(i), memory));
  for (let i = random.between(1, 2); i > 0; i--) members.push(run.newMember(good(before.length + i)));
  for (let round = 1; ; round++) {
    await Promise.all(members.map((member) => member.step(ROOM)));
    const isBalanced = balanceOf(members, partitions);
    const behind = behindOf(run, topicId, partitions);
    const isFenced = members.some(({ fenced }) => fenced > 0);
    if (isBalanced === undefined && behind === undefined && !isFenced) return;
    if (round >= ROUNDS_TO_BALANCE && isBalanced !== undefined) {
      run.faults.push({ kind: 'unbalanced', what: `after ${round} polls of each: ${isBalanced}` });
      return;
    }
    if (round >= ROUNDS_MAX) {
      run.faults.push({ kind: 'no end', what: `after ${round} polls of each: ${behind ?? 'commits are fenced'}` });
      return;
    }
    await run.sleep(ROUND_MS);
  }
}

async function orders(run: GroupRun): Promise<{ topicId: string; partitions: number }> {
  const host = run.startHost();
  for (;;) {
    const told = await run.world.call(host, () => putTopic(host.backbone, 'orders', {}));
    if (told !== 'nothing' && 'answer' in told) {
      const { id, partitions } = told.answer.topic;
      return { topicId: id, partitions };
    }
    await run.sleep(ROUND_MS);
  }
}

/** @returns what is wrong with who holds what; undefined: nothing */
export function balanceOf(members: readonly Member[], partitions: number): string | undefined {
  const held = members.map((member) => member.held.map(({ partition }) => partition));
  const all = held.flat().toSorted((a, b) => a - b);
  const counts = held.map(({ length }) => length);
  const isWhole = all.length === partitions && all.every((partition, i) => partition === i);
  if (isWhole && Math.max(...counts) - Math.min(...counts) <= 1) return undefined;
  return `${partitions} partitions are held as ${held.map((list) => `[${list}]`).join(' ')}`;
}

/** @returns which partition is not handled up to its end; undefined: none */
export function behindOf(run: GroupRun, topicId: string, partitions: number): string | undefined {
  for (let partition = 0; partition < partitions; partition++) {
    const end = Math.max(0, ...run.world.mirror.held(topicId, partition).map(({ last }) => last + 1));
    const at = run.seen.positions.findLast((change) => change.topicId === topicId && change.partition === partition);
    const committed = at?.after?.committed ?? 0;
    if (committed < end) return `partition ${partition} is committed to ${committed} of ${end}`;
  }
  return undefined;
}
