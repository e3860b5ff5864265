import { BackboneError } from '../../../shared/domain/errors.ts';
import { commitOffsets } from '../../../shared/operations/commit-offsets.ts';
import { deleteGroup } from '../../../shared/operations/delete-group.ts';
import { resetGroup } from '../../../shared/operations/reset-group.ts';
import { putTopic } from '../../../shared/operations/topics.ts';
import { codeOf } from '../recorder.ts';
import type { GroupRun } from './group-run.ts';
import { GROUP } from './member.ts';
import { portsOf } from './ports.ts';

const CALL_MS = 20_000;

/** Sets where the group goes on: refused while a member lives. */
export async function reset(run: GroupRun): Promise<void> {
  const { random, world, seen } = run;
  const to = random.pick(['earliest', 'latest', { offset: random.between(0, 6) }] as const);
  seen.foreign.push({ group: GROUP, begin: world.now });
  const host = run.anyHost();
  run.harm(host);
  const told = await world.call(host, () => resetGroup(portsOf(host), { group: GROUP, topic: run.anyTopic(), to }));
  if (told === 'nothing' || 'answer' in told) return;
  const code = codeOf(told.error);
  if (code === 'group_active') world.coverage.count('reset refused');
  else if (code !== 'offset_out_of_range') run.refused(code);
}

/** Commits without an epoch: refused while a member lives. */
export async function commitFromOutside(run: GroupRun): Promise<void> {
  const { random, world, seen, environment } = run;
  seen.foreign.push({ group: GROUP, begin: world.now });
  const host = run.anyHost();
  run.harm(host);
  const partition = random.between(0, environment.partitions - 1);
  const offsets = [{ topic: run.anyTopic(), partition, offset: random.between(0, 8) }];
  const told = await world.call(host, () => {
    const ports = portsOf(host);
    return commitOffsets(ports, { group: GROUP, offsets }, ports.clock.now() + CALL_MS);
  });
  if (told === 'nothing') return;
  if ('error' in told) return run.refused(codeOf(told.error));
  if (told.answer[0]?.error?.code === 'fenced') world.coverage.count('commit without epoch refused');
}

/** Deletes the group: whoever polls it next makes another. */
export async function regroup(run: GroupRun): Promise<void> {
  const { world } = run;
  const host = run.anyHost();
  run.harm(host);
  const told = await world.call(host, () => deleteGroup(host.backbone, GROUP));
  if (told !== 'nothing' && 'error' in told) run.refused(codeOf(told.error));
}

/** One partition more. */
export async function grow(run: GroupRun): Promise<void> {
  const { world, environment } = run;
  const host = run.anyHost();
  const partitions = environment.partitions + run.random.between(1, 3);
  const told = await world.call(host, () => putTopic(host.backbone, run.anyTopic(), { partitions }));
  if (told !== 'nothing' && 'error' in told && !(told.error instanceof BackboneError)) run.unexpected(told.error);
}
