import { type BatchSlot, baseOf } from '../../shared/domain/slot.ts';
import { commitOffsets } from '../../shared/operations/commit-offsets.ts';
import type {
  Assigned,
  CommitsRequest,
  HeartbeatRequest,
  NamedPartition,
  OwnedOffset,
  OwnedPartition,
  PartSink,
  PollRequest,
  PollResult,
  PollSink,
  Redriven,
  Room,
  Told,
} from '../../shared/operations/group-requests.ts';
import { heartbeatGroup } from '../../shared/operations/heartbeat-group.ts';
import { leaveGroup } from '../../shared/operations/leave-group.ts';
import { PlanCache } from '../../shared/operations/plan-cache.ts';
import { pollGroup } from '../../shared/operations/poll-group.ts';
import { ProvenOffsets } from '../../shared/operations/proven-offsets.ts';
import type { MemberPorts } from '../../shared/operations/redriven-ports.ts';
import { DeadLetterObjects } from '../../shared/store/dead-letter-objects.ts';
import { type Host, type LogBench, openLogBench } from './log-bench.ts';

/** One process that serves groups. */
export interface GroupHost extends Host {
  readonly ports: MemberPorts;
}

export interface GroupBench extends Omit<LogBench, 'host'> {
  /** Another process, which knows nothing yet. */
  host(skewMs?: number): GroupHost;
}

export async function openGroupBench(): Promise<GroupBench> {
  const bench = await openLogBench();
  const host = (skewMs?: number): GroupHost => {
    const opened = bench.host(skewMs);
    const sleep = async (ms: number) => bench.clock.pass(Math.ceil(ms));
    const letters = {
      deadLetterObjects: new DeadLetterObjects(bench.tables.s3, bench.tables.bucket),
      deadLetterQueue: { tell: async () => {} },
    };
    const remembers = { plans: new PlanCache(), proven: new ProvenOffsets() };
    return { ...opened, ports: { ...opened.backbone, ...remembers, ...letters, sleep } };
  };
  return { ...bench, host };
}

/** Records as `partition:offset`; each counts for as many bytes as its batch has. */
export class ListSink implements PollSink {
  readonly records: string[] = [];
  readonly room: Room;

  constructor(room: Partial<Room> = {}) {
    this.room = { records: 500, bytes: 1_000_000, ...room };
  }

  open({ topic, partition }: NamedPartition, room: Room): PartSink {
    return new ListPart(this.records, `${topic === 't' ? '' : `${topic}:`}${partition}`, room);
  }

  /** As `redriven partition:offset n`. */
  async takeRedriven({ partition, offset, redriven }: Redriven): Promise<() => void> {
    const text = `redriven ${partition}:${offset} ${redriven}`;
    this.records.push(text);
    return () => void this.records.splice(this.records.indexOf(text), 1);
  }
}

class ListPart implements PartSink {
  count = 0;
  bytes = 0;
  #orFirst = false;
  readonly #records: string[];
  readonly #name: string;
  #room: Room;

  constructor(records: string[], name: string, room: Room) {
    this.#records = records;
    this.#name = name;
    this.#room = room;
  }

  widen(room: Room, orFirst = false): void {
    this.#room = room;
    this.#orFirst = orFirst;
  }

  isFull(): boolean {
    return this.count >= this.#room.records;
  }

  room() {
    return { records: this.#room.records - this.count, bytes: this.#room.bytes - this.bytes, partly: true };
  }

  uploadsToLink(): [] {
    return [];
  }

  take(slot: BatchSlot, from: number): number {
    let offset = Math.max(from, baseOf(slot));
    for (; offset <= slot.last && !this.isFull(); offset++) {
      const fits = this.bytes + slot.batch.length <= this.#room.bytes;
      if (!fits && !(this.#orFirst && this.count === 0)) break;
      this.count += 1;
      this.bytes += slot.batch.length;
      this.#records.push(`${this.#name}:${offset}`);
    }
    return offset;
  }
}

export interface Polled extends PollResult {
  readonly records: readonly string[];
}

/** A poll that asks for nothing special. */
export function pollRequest(host: GroupHost, request: Partial<PollRequest> = {}): PollRequest {
  return {
    group: 'g',
    ...(request.memberId === undefined && { topics: ['t'], sessionTimeoutMs: 30_000 }),
    ...{ positions: [], commit: [], release: [], paused: [], autoOffsetReset: 'earliest', waitMs: 0 },
    deadline: host.ports.clock.now() + 20_000,
    ...request,
  };
}

export async function poll(host: GroupHost, request: Partial<PollRequest> = {}, room?: Partial<Room>): Promise<Polled> {
  const sink = new ListSink(room);
  const result = await pollGroup(host.ports, pollRequest(host, request), sink);
  return { ...result, records: sink.records };
}

export async function commits(host: GroupHost, request: Partial<CommitsRequest>): Promise<string[]> {
  const deadline = host.ports.clock.now() + 20_000;
  const outcomes = await commitOffsets(host.ports, { group: 'g', offsets: [], ...request }, deadline);
  return outcomes.map(({ partition, offset, error }) => `${partition}:${offset} ${error?.code ?? 'done'}`);
}

/** What every answer tells, in short. */
export function brief({ assigned, revoked, commits, errors }: Told) {
  const text = ({ topic, partition }: { topic: string; partition?: number }) =>
    `${topic === 't' ? '' : `${topic}:`}${partition ?? ''}`;
  return {
    assigned: assigned.map((entry) => `${text(entry)}@${entry.offset}${entry.error ? ` ${entry.error.code}` : ''}`),
    revoked: revoked.map(text),
    commits: commits.map((entry) => `${text(entry)}@${entry.offset} ${entry.error?.code ?? 'done'}`),
    errors: errors.map((entry) => `${text(entry)} ${entry.error.code}`),
  };
}

/** A member that behaves: it goes on where it was told, and remembers what it is. */
export class Consumer {
  host: GroupHost;
  readonly group: string;
  readonly join: Partial<PollRequest>;
  memberId: string | undefined;
  held: readonly Assigned[] = [];
  revoked: OwnedPartition[] = [];
  readonly records: string[] = [];
  /** Where it was in each partition that it ever had. */
  readonly #places = new Map<string, OwnedOffset>();

  constructor(host: GroupHost, join: Partial<PollRequest> = {}, group = 'g') {
    this.host = host;
    this.join = join;
    this.group = group;
  }

  get partitions(): string[] {
    return this.held.map(({ topic, partition }) => `${topic === 't' ? '' : `${topic}:`}${partition}`);
  }

  get positions(): OwnedOffset[] {
    return this.held.map(({ topic, partition, epoch, offset }) => ({ topic, partition, epoch, offset }));
  }

  async poll(request: Partial<PollRequest> = {}, room?: Partial<Room>): Promise<Polled> {
    const who = this.memberId === undefined ? this.join : { memberId: this.memberId };
    const whole = { group: this.group, positions: [...this.positions, ...this.revokedPositions()], ...who, ...request };
    const answer = await poll(this.host, whole, room);
    this.memberId = answer.memberId;
    this.held = answer.assigned;
    for (const { topic, partition, epoch, offset } of answer.assigned) {
      this.#places.set(`${topic}#${partition}`, { topic, partition, epoch, offset });
    }
    this.revoked = [...answer.revoked];
    this.records.push(...answer.records);
    return answer;
  }

  /** What is to be given back is finished: how far it got is committed, and it is released, in one call. */
  async giveBack(): Promise<Polled> {
    const release = this.revoked;
    this.revoked = [];
    const commit = release.flatMap((entry) => {
      const place = this.#places.get(`${entry.topic}#${entry.partition}`);
      return place?.epoch === entry.epoch ? [place] : [];
    });
    return this.poll({ release, commit });
  }

  async beat(request: Partial<HeartbeatRequest> = {}): Promise<Told> {
    const deadline = this.host.ports.clock.now() + 20_000;
    const report = { positions: this.positions, commit: [], release: [] };
    return heartbeatGroup(this.host.ports, {
      group: this.group,
      memberId: this.memberId!,
      deadline,
      ...report,
      ...request,
    });
  }

  async leave(): Promise<void> {
    await leaveGroup(this.host.ports, this.group, this.memberId!);
  }

  /** Echoed until it is released. */
  revokedPositions(): OwnedOffset[] {
    return this.revoked.map((entry) => ({ ...entry, offset: 0 }));
  }
}
