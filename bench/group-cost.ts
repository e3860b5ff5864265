import { handOver } from './group-hand-over.ts';
import { type Answer, type Assigned, GroupBench, type GroupCost, medianCost } from './groups.ts';
import { type Law, type Progress, type Section, tableOf } from './section.ts';

interface Row extends Omit<GroupCost, 'assignmentUnits'> {
  readonly call: string;
  readonly calls: number;
  readonly assignmentUnits: number | undefined;
}

const HEADS = {
  call: 'a call',
  calls: 'calls',
  readUnits: 'read units',
  writeUnits: 'write units',
  assignmentUnits: 'of them the assignment',
  requests: 'requests',
};

const TOPIC = 'orders';
const SESSION_MS = 30_000;
/** Partitions that one poll looks at. */
const LOOKED_AT = 32;

/** Partitions of which half move to a second member. */
const HANDED_OVER = 16;

export interface GroupCase {
  readonly members: number;
  readonly partitions: number;
  /** Members whose polls are measured. */
  readonly polling: number;
}

const LARGEST: GroupCase = { members: 1_000, partitions: 1_024, polling: 40 };

/** What the calls of a large group's members consume, as the engine reports it. */
export async function measureGroups(progress: Progress, { members, partitions, polling } = LARGEST): Promise<Section> {
  const rows: Row[] = [];
  const laws = new GroupLaws();
  const note = (call: string, costs: readonly GroupCost[]): GroupCost => {
    const { assignmentUnits, ...cost } = medianCost(costs);
    rows.push({
      call,
      calls: costs.length,
      ...cost,
      assignmentUnits: assignmentUnits > 2 ? assignmentUnits : undefined,
    });
    return { ...cost, assignmentUnits };
  };
  const many = await GroupBench.open('many', TOPIC, partitions);
  try {
    progress(`${members} members on ${partitions} partitions`);
    const ids = await many.store(members - 1, TOPIC);
    const container = many.container();
    const joined = await many.call(container, 'poll', { topics: [TOPIC], sessionTimeoutMs: SESSION_MS });
    note('the last join, which assigns everything', [joined.cost]);
    const group = new Members(many, ids.slice(0, polling));
    note('first poll: takes its partitions', await group.poll(container));
    laws.steady('a member of many', await group.poll(container), group.held());
    note('steady poll, nothing there', await group.poll(container));

    progress('records and commits');
    const { topicId } = await group.fill(container);
    note('poll that brings records', await group.poll(container));
    const commits = await group.poll(container, true);
    note('poll that commits what it was given', commits);
    laws.commits('by the container that read', commits, group.held(), 0);
    const other = many.container();
    await group.poll(other);
    await group.fill(container);
    await group.poll(container);
    await group.settle(topicId);
    const alone = await group.commit(other);
    note('commit by itself, of an offset that is settled, elsewhere', alone);
    laws.commitsAlone(alone);

    progress('sessions and rebalances');
    many.now += SESSION_MS / 3;
    const beats = await group.poll(container);
    note('poll after a third of the session', beats);
    laws.beats(beats);
    const leaving = await many.call(container, 'leave', { memberId: ids.at(-1) });
    const left = note('leave, which assigns its partitions anew', [leaving.cost]);
    laws.rebalance(left, members);
  } finally {
    await many.close();
  }
  progress('a hand-over');
  const moving = await handOver(HANDED_OVER);
  note(`join of a second member of ${HANDED_OVER} partitions`, [moving.join]);
  note(`poll that commits and releases ${moving.moved}`, [moving.release]);
  note(`poll that takes ${moving.moved}`, [moving.take]);
  const wide = await GroupBench.open('wide', TOPIC, partitions);
  try {
    progress(`one member of ${partitions} partitions`);
    const container = wide.container();
    const one = await wide.call(container, 'poll', { topics: [TOPIC], sessionTimeoutMs: 1_800_000 });
    const group = new Members(wide, [one.answer.memberId]);
    for (let polls = 0; polls < Math.ceil(partitions / LOOKED_AT); polls++) await group.poll(container);
    const costs = await group.poll(container);
    laws.steady('one member of all partitions', costs, group.held());
    note(`steady poll of a member that holds ${partitions}`, costs);
  } finally {
    await wide.close();
  }
  return {
    title: `consumer groups: ${members} members on ${partitions} partitions, as the engine reports it`,
    tables: [tableOf('median of the calls, through the functions', HEADS, rows)],
    laws: [...laws.all, moving.law],
    notes: [
      'A group of which no member polls is read and written by nobody: it costs its items alone.',
      'A container’s first call of a topic, and every 10 s one, reads the topic as well: here the clock stands still between calls.',
    ],
  };
}

/** Some members, where each goes on, and the answers they got last. */
class Members {
  readonly #bench: GroupBench;
  readonly #ids: readonly string[];
  readonly #answers = new Map<string, Answer>();

  constructor(bench: GroupBench, ids: readonly string[]) {
    this.#bench = bench;
    this.#ids = ids;
  }

  held(): number[] {
    return this.#ids.map((id) => this.#assigned(id).length);
  }

  #assigned(id: string): readonly Assigned[] {
    return this.#answers.get(id)?.assigned ?? [];
  }

  async poll(container: Parameters<GroupBench['call']>[0], commit = false): Promise<GroupCost[]> {
    const costs: GroupCost[] = [];
    for (const memberId of this.#ids) {
      const positions = this.#assigned(memberId);
      const body = { memberId, positions, ...(commit && { commit: positions.slice(0, 1) }) };
      const { answer, cost } = await this.#bench.call(container, 'poll', body);
      this.#answers.set(memberId, answer);
      costs.push(cost);
    }
    return costs;
  }

  /** Each member’s first partition gets a record. */
  async fill(container: Parameters<GroupBench['call']>[0]): Promise<{ readonly topicId: string }> {
    const places = this.#ids.flatMap((id) => this.#assigned(id).slice(0, 1));
    for (const { partition } of places) await this.#bench.append(container, TOPIC, partition);
    return { topicId: (await this.#bench.tables.topicItems.read(TOPIC))!.id };
  }

  /** What each has read counts as settled, as a reader’s walk would store it. */
  async settle(topicId: string): Promise<void> {
    for (const id of this.#ids) {
      const [first] = this.#assigned(id);
      if (first === undefined) continue;
      await this.#bench.tables.heads.advance({ topicId, partition: first.partition }, { from: 0, to: first.offset });
    }
  }

  async commit(container: Parameters<GroupBench['call']>[0]): Promise<GroupCost[]> {
    const costs: GroupCost[] = [];
    for (const memberId of this.#ids) {
      const offsets = this.#assigned(memberId).slice(0, 1);
      costs.push((await this.#bench.call(container, 'commits', { memberId, offsets })).cost);
    }
    return costs;
  }
}

/** What the design promises of groups, and where it was not met. */
class GroupLaws {
  readonly #steady: string[] = [];
  readonly #commits: string[] = [];
  readonly #beats: string[] = [];
  readonly #rebalances: string[] = [];

  get all(): Law[] {
    return [
      {
        law: `a steady poll costs 1 read unit, and half a unit for each of at most ${LOOKED_AT} partitions; no write`,
        broken: this.#steady,
      },
      { law: 'a commit costs 1 write unit, and at most 1 read unit', broken: this.#commits },
      { law: 'a session is written once in a third of it', broken: this.#beats },
      {
        law: 'a rebalance writes one assignment of at most 50 units, and no more than 5 units beside it',
        broken: this.#rebalances,
      },
    ];
  }

  steady(what: string, costs: readonly GroupCost[], held: readonly number[]): void {
    for (const [i, { readUnits, writeUnits }] of costs.entries()) {
      const wanted = 1 + Math.min(held[i]!, LOOKED_AT) / 2;
      if (readUnits > wanted || writeUnits > 0) {
        this.#steady.push(`${what}: ${readUnits} read units, not ${wanted}, and ${writeUnits} write units`);
      }
    }
  }

  commits(what: string, costs: readonly GroupCost[], held: readonly number[], reads: number): void {
    for (const [i, { readUnits, writeUnits }] of costs.entries()) {
      const wanted = 1 + Math.min(held[i]!, LOOKED_AT) / 2 + reads;
      if (writeUnits !== 1 || readUnits > wanted) {
        this.#commits.push(`${what}: ${writeUnits} write units, ${readUnits} read units, not ${wanted}`);
      }
    }
  }

  commitsAlone(costs: readonly GroupCost[]): void {
    for (const { readUnits, writeUnits } of costs) {
      if (writeUnits !== 1 || readUnits > 1) {
        this.#commits.push(`by itself: ${writeUnits} write units, ${readUnits} read units`);
      }
    }
  }

  beats(costs: readonly GroupCost[]): void {
    for (const { writeUnits } of costs) if (writeUnits !== 1) this.#beats.push(`${writeUnits} write units`);
  }

  rebalance({ writeUnits, assignmentUnits }: GroupCost, members: number): void {
    if (assignmentUnits > 50 || writeUnits - assignmentUnits > 5) {
      this.#rebalances.push(
        `${members} members: ${assignmentUnits} units and ${writeUnits - assignmentUnits} beside it`,
      );
    }
  }
}
