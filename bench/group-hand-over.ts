import { JOINS_GATHERED_MS } from '../shared/domain/limits.ts';
import { GroupBench, type GroupCost } from './groups.ts';
import type { Law } from './section.ts';

const TOPIC = 'orders';

export interface HandOver {
  /** Partitions that moved. */
  readonly moved: number;
  readonly join: GroupCost;
  readonly release: GroupCost;
  readonly take: GroupCost;
  readonly law: Law;
}

/** One member has everything; another joins, and has half of it after one poll of each. */
export async function handOver(partitions: number): Promise<HandOver> {
  const bench = await GroupBench.open('moving', TOPIC, partitions);
  try {
    const container = bench.container();
    const join = { topics: [TOPIC], sessionTimeoutMs: 30_000 };
    const { memberId, assigned } = (await bench.call(container, 'poll', join)).answer;
    bench.now += JOINS_GATHERED_MS; // the clock stands still: nobody may have to wait for it
    const second = await bench.call(container, 'poll', join);
    bench.now += 1_000;
    const told = (await bench.call(container, 'poll', { memberId, positions: assigned })).answer;
    const release = told.revoked.map(({ topic, partition, epoch }) => ({ topic, partition, epoch }));
    const commit = release.map((entry) => ({ ...entry, offset: 0 }));
    const given = await bench.call(container, 'poll', { memberId, positions: told.assigned, commit, release });
    const taken = await bench.call(container, 'poll', { memberId: second.answer.memberId });
    const moved = taken.answer.assigned.length;
    const broken: string[] = [];
    if (moved !== Math.floor(partitions / 2)) broken.push(`${moved} of ${partitions} partitions moved`);
    for (const [what, { writeUnits }] of [
      ['given back', given.cost],
      ['taken', taken.cost],
    ] as const) {
      if (writeUnits !== moved) broken.push(`${moved} partitions ${what} with ${writeUnits} write units`);
    }
    const law =
      'a partition that moves costs one write unit where it is committed and released, and one where it is taken';
    return { moved, join: second.cost, release: given.cost, take: taken.cost, law: { law, broken } };
  } finally {
    await bench.close();
  }
}
