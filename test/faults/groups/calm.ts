import { produce } from '../producers.ts';
import { balanceOf } from './drain.ts';
import type { GroupRun } from './group-run.ts';
import { isAnswer } from './history.ts';
import type { Member } from './member.ts';

const MASS = 50;
const POLLS_TO_BALANCE = 3;
const VERSIONS_MAX = 3;
/** Ways of a few milliseconds, and pauses between looks. */
const CALL_MS_MAX = 2_000;

const GOOD = { stubborn: false, late: false, prompt: true } as const;

/** 50 members start within a second. They are assigned at most 3 times, and have their shares by their third poll. */
export async function massStart(run: GroupRun): Promise<void> {
  const { random } = run;
  for (let i = 0; i < 5; i++) await produce(run);
  const members = Array.from({ length: MASS }, () => run.newMember({ ...GOOD, sessionTimeoutMs: 30_000 }));
  await Promise.all(
    members.map(async (member) => {
      await run.sleep(random.between(0, 1_000));
      await member.step(20);
    }),
  );
  for (let polls = 1; polls < POLLS_TO_BALANCE; polls++) {
    await run.sleep(1_000);
    await Promise.all(members.map((member) => member.step(20)));
  }
  const versions = run.seen.assignments.length;
  if (versions > VERSIONS_MAX) run.faults.push({ kind: 'late', what: `${versions} assignments for ${MASS} joins` });
  const wrong = balanceOf(members, run.environment.partitions);
  if (wrong !== undefined) run.faults.push({ kind: 'unbalanced', what: `after ${POLLS_TO_BALANCE} polls: ${wrong}` });
}

/** More members than partitions; whoever ends is followed by one that stood by. */
export async function spares(run: GroupRun): Promise<void> {
  const { random, environment, world } = run;
  const session = random.pick(environment.sessionsMs);
  const pollEveryMs = 1_000;
  for (let i = 0; i < 3; i++) await produce(run);
  await run.sleep(2_000); // then every copy knows of it
  const start = () => run.newMember({ ...GOOD, sessionTimeoutMs: session, pollEveryMs });
  let members = Array.from({ length: environment.partitions + 2 }, start);
  for (const member of members) await joined(run, member);
  const pollAll = () => Promise.all(members.map((member) => member.step(20)));
  for (let rounds = 0; rounds < 4; rounds++) {
    await pollAll();
    await run.sleep(pollEveryMs);
  }
  for (let deaths = 0; deaths < 3; deaths++) {
    const holders = members.filter(({ held }) => held.length > 0);
    const victim = random.pick(holders);
    members = members.filter((member) => member !== victim);
    const partitions = victim.held.map(({ partition }) => partition);
    const isLeaving = random.chance(0.3);
    await victim.step(20);
    const from = world.now;
    if (isLeaving) await victim.leave();
    else victim.die();
    const until = from + (isLeaving ? 0 : (session * 4) / 3) + pollEveryMs + CALL_MS_MAX;
    const isTaken = () => partitions.every((p) => members.some(({ held }) => held.some((one) => one.partition === p)));
    while (!isTaken() && world.now <= until) {
      await run.sleep(random.between(pollEveryMs / 2, pollEveryMs));
      await pollAll();
    }
    if (!isTaken()) {
      run.faults.push({ kind: 'late', what: `nobody has [${partitions}] ${world.now - from} ms after ${victim.name}` });
    }
    members.push(start());
    await joined(run, members.at(-1)!);
  }
}

/** G4: whoever joins while a partition is free has it, with its records, in the same answer. */
async function joined(run: GroupRun, member: Member): Promise<void> {
  await member.step(20);
  const call = run.seen.calls.findLast(({ caller, kind }) => caller === member.name && kind === 'poll');
  const isFirst = run.members.filter(({ memberId }) => memberId !== undefined).length === 1;
  if (!isFirst || call === undefined || !isAnswer(call)) return;
  const { assigned, records } = call.answer;
  const all = Math.min(run.environment.partitions, 32);
  const stored = run.world.mirror.slots.reduce((sum, slot) => sum + slot.records.length, 0);
  if (assigned.length < all || records.length < Math.min(20, stored)) {
    run.faults.push({
      kind: 'late',
      what: `the first member was given ${assigned.length} partitions and ${records.length} of ${stored} records when it joined`,
    });
  }
}
