import { WriteFailed } from '../../shared/domain/write-failed.ts';
import { type SweepPorts, sweep } from '../../shared/operations/sweep.ts';
import { parseLogItemKey } from '../../shared/store/keys.ts';
import type { Violation } from './history.ts';
import type { Run } from './run.ts';

const MINUTE = 60_000;
const RUN_MS = 25_000;
/** A deleted topic is closed by one run and purged by another one, `LATE_MAX_MS` later; runs die, and lose their lease. */
const RUNS_MAX = 60;

/** One run of the sweep, on any host, as the schedule calls it every minute. */
export async function sweepOnce(run: Run): Promise<void> {
  const { world } = run;
  const host = run.anyHost();
  run.harm(host);
  const ports: SweepPorts = { ...host.backbone, ...host.sweep };
  const told = await world.call(host, () => sweep(ports, host.backbone.clock.now() + RUN_MS));
  if (told === 'nothing') return;
  for (const failure of 'error' in told ? [told.error] : told.answer) {
    // What the store did not confirm the next run does again.
    if (!(failure instanceof WriteFailed)) run.unexpected(failure);
  }
}

/** Sweeps until nothing is due any more. @returns what is left of topics that are gone */
export async function sweepAll(run: Run): Promise<Violation[]> {
  for (let runs = 0; runs < RUNS_MAX && (await leftovers(run)).length > 0; runs++) {
    await sweepOnce(run);
    await run.sleep(5 * MINUTE);
  }
  return (await leftovers(run)).map((what) => ({ kind: 'left over', what }));
}

/**
 * Names of items that belong to no live topic. Claims and watches of uploads go by their own expiry, and so do voids: a
 * reader that stood still for longer than a topic is kept may put some where everything has been purged.
 */
async function leftovers(run: Run): Promise<string[]> {
  const items = await run.world.items();
  const live = new Set(items.filter(({ item }) => item.pk?.S === 'topics').map(({ item }) => item.id!.S));
  return items.flatMap(({ table, item }) => {
    const pk = item.pk?.S ?? '';
    if (pk === 'leftovers') return [`leftover ${item.sk!.S}`];
    const head = /^head#(\w+)\./.exec(pk)?.[1];
    if (head !== undefined) return live.has(head) ? [] : [pk];
    if (table !== 'log' || item.void?.BOOL === true) return [];
    const { kind, topicId } = parseLogItemKey(item.log!.S!, Number(item.last!.N));
    return kind === 'upload' || live.has(topicId) ? [] : [`${item.log!.S} ${item.last!.N}`];
  });
}
