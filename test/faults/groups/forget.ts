import { sweepOnce } from '../sweeper.ts';
import type { GroupRun } from './group-run.ts';
import { GROUP } from './member.ts';

const MINUTE = 60_000;
/** A run of the sweep may meet groups that are not due yet, or lose its lease. */
const SWEEPS_MAX = 10;

/** Long after: of groups that were deleted nothing is left but assignments, which expire by themselves. */
export async function forget(run: GroupRun): Promise<void> {
  if (!run.seen.groups.some(({ after }) => after === undefined)) return;
  await run.sleep(20 * MINUTE);
  for (let sweeps = 0; sweeps < SWEEPS_MAX && (await leftOf(run)).length > 0; sweeps++) {
    await sweepOnce(run);
    await run.sleep(5 * MINUTE);
  }
  for (const what of await leftOf(run)) run.faults.push({ kind: 'left over', what });
}

async function leftOf(run: GroupRun): Promise<string[]> {
  const items = (await run.world.items()).map(({ item }) => ({ pk: item.pk?.S ?? '', item }));
  const live = items.find(({ pk }) => pk === `group#${GROUP}`)?.item.id?.S;
  return items.flatMap(({ pk, item }) => {
    if (pk === 'deleted-groups') return [`${pk} ${item.sk!.S}`];
    const [name, id, what] = pk.split('#');
    return name === GROUP && id !== live && what !== 'assignment' ? [`${pk} ${item.sk!.S}`] : [];
  });
}
