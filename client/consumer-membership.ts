import { REDRIVEN_REPORTS_MAX } from '../shared/domain/redrive-limits.ts';
import type {
  Assigned,
  CommitOutcome,
  Commits,
  GroupAnswer,
  Owned,
  OwnedOffset,
  PollRequest,
  RedrivenReport,
} from './consumer-calls.ts';
import type { TopicPartition, TopicPartitionOffset } from './consumer-errors.ts';
import { HeldPartition, keyOf } from './consumer-partition.ts';
import type { FetchedRecord } from './messages.ts';

/** What was sent, so that the answer can be told apart from what has changed meanwhile. */
export interface Sent extends Commits {
  /** The partitions whose positions were named, each with its `moves` at that time. */
  readonly named: ReadonlyMap<HeldPartition, number>;
  /** A heartbeat's answer moves no position. */
  readonly reads: boolean;
  readonly reset?: boolean;
}

export interface OutOfRange {
  readonly partition: HeldPartition;
  readonly logStartOffset: number;
}

/** What an answer changed. */
export interface Changes {
  readonly assigned: HeldPartition[];
  readonly revoked: HeldPartition[];
  readonly lost: HeldPartition[];
  readonly committed: TopicPartitionOffset[];
  readonly refused: (TopicPartitionOffset & { readonly error: Error })[];
  readonly outOfRange: OutOfRange[];
  /** Redriven records that were done, and given to another meanwhile. */
  readonly overtaken: { readonly id: string; readonly error: Error }[];
  /** Positions that the backbone moved because it was asked to. */
  readonly jumped: { readonly partition: HeldPartition; readonly from: number; readonly to: number }[];
}

/** What this member holds, by what it was told. The backbone's word counts: an answer is the whole truth of its moment. */
export class Membership {
  memberId: string;
  readonly #held = new Map<string, HeldPartition>();
  /** Wanted back, though this member knows nothing of them: an answer that told so was lost. */
  #strays: readonly Owned[] = [];
  /** Redriven records that are done, by id, with the epoch under which they came: it outlives what is held. */
  readonly #done = new Map<string, number>();

  /** @param memberId what is proposed until the first answer */
  constructor(memberId: string) {
    this.memberId = memberId;
  }

  get held(): readonly HeldPartition[] {
    return [...this.#held.values()];
  }

  find(place: TopicPartition): HeldPartition | undefined {
    return this.#held.get(keyOf(place));
  }

  /**
   * What is to be said of commits and releases next. Each commit costs a write, so those of partitions with records in
   * hand can wait.
   * @param which `drained`: of partitions that have nothing in hand
   */
  commits(which: 'none' | 'drained' | 'all'): Commits {
    const commit: OwnedOffset[] = [];
    const release = [...this.#strays];
    for (const held of this.#held.values()) {
      const { topic, partition, epoch, uncommitted } = held;
      const isMeant = which === 'all' || (which === 'drained' && (!held.inHand || held.revoked));
      if (isMeant && uncommitted !== undefined) commit.push({ topic, partition, offset: uncommitted, epoch });
      if (held.releasing) release.push({ topic, partition, epoch });
    }
    return { commit, release, redriven: this.#redriven() };
  }

  /** All that is in hand, and all that is done: what is named is not given again. */
  #redriven(): RedrivenReport[] {
    for (const held of this.#held.values()) this.#noteDone(held);
    const done = [...this.#done].map(([id, epoch]) => ({ id, epoch, done: true as const }));
    const inHand = this.held.flatMap(({ redriven, epoch }) => redriven.map((one) => ({ id: one.redriven!.id, epoch })));
    return [...done, ...inHand].slice(0, REDRIVEN_REPORTS_MAX);
  }

  #noteDone(held: HeldPartition): void {
    for (const id of held.takeDone()) this.#done.set(id, held.epoch);
  }

  /** Where each partition goes on; what is not to be fetched is in `paused`. */
  positions(fetched: (held: HeldPartition) => boolean): Pick<PollRequest, 'positions' | 'paused'> {
    const staying = this.#staying();
    const paused = staying.filter((held) => !fetched(held));
    return {
      positions: staying.map(({ topic, partition, position, epoch }) => ({
        topic,
        partition,
        offset: position,
        epoch,
      })),
      paused: paused.map(({ topic, partition }) => ({ topic, partition })),
    };
  }

  /** Those whose positions are named, with their `moves`. */
  named(): ReadonlyMap<HeldPartition, number> {
    return new Map(this.#staying().map((held) => [held, held.moves]));
  }

  #staying(): HeldPartition[] {
    return this.held.filter(({ releasing }) => !releasing);
  }

  /** Brings what is held in line with an answer to what was sent. */
  apply(answer: GroupAnswer, sent: Sent): Changes {
    const changes = noChanges();
    this.memberId = answer.memberId || this.memberId;
    this.#settle(
      answer.commits.filter((outcome) => !this.#isOvertaken(outcome)),
      sent.commit,
      changes,
    );
    for (const { id, done } of sent.redriven) if (done) this.#done.delete(id);
    for (const { id, error } of answer.redriven) if (error) changes.overtaken.push({ id, error });
    this.#released(sent.release);
    this.#reconcile(answer, changes);
    this.#take(answer, sent, changes);
    return changes;
  }

  /** Another call of this member was faster than a commit that nobody asked for: a dead letter, or one of the user's. */
  #isOvertaken({ topic, partition, offset, error }: CommitOutcome): boolean {
    const answered = this.find({ topic, partition })?.answered ?? 0;
    return error?.code === 'commit_regressed' && offset < answered;
  }

  /** Takes the outcomes of commits to account. */
  #settle(outcomes: readonly CommitOutcome[], sent: readonly OwnedOffset[], changes: Changes): void {
    for (const { topic, partition, offset, error } of outcomes) {
      const entry = sent.find((one) => one.topic === topic && one.partition === partition);
      const held = this.#held.get(keyOf({ topic, partition }));
      if (entry === undefined || held?.epoch !== entry.epoch) continue;
      if (error?.code === 'fenced') {
        changes.lost.push(this.#lose(held, 'a commit was fenced'));
        changes.refused.push({ topic, partition, offset: entry.offset, error });
        continue;
      }
      held.answered = Math.max(held.answered, entry.offset);
      if (error) changes.refused.push({ topic, partition, offset: entry.offset, error });
      else changes.committed.push({ topic, partition, offset });
    }
  }

  /** For commits that were made by themselves. */
  settle(outcomes: readonly CommitOutcome[], sent: readonly OwnedOffset[]): Changes {
    const changes = noChanges();
    this.#settle(outcomes, sent, changes);
    return changes;
  }

  /** The membership is over, and with it everything that was held. @param memberId what is proposed next */
  startOver(memberId: string, why: string): HeldPartition[] {
    this.memberId = memberId;
    this.#strays = [];
    return this.held.map((held) => this.#lose(held, why));
  }

  /** What this member finds out by itself: the next answer tells whether it still has the partition. */
  lose(held: HeldPartition, why: string): void {
    if (this.#held.get(keyOf(held)) === held) this.#lose(held, why);
  }

  #lose(held: HeldPartition, why: string): HeldPartition {
    held.lose(why);
    this.#noteDone(held);
    this.#held.delete(keyOf(held));
    return held;
  }

  #released(release: readonly Owned[]): void {
    for (const entry of release) {
      const held = this.#held.get(keyOf(entry));
      if (held?.epoch !== entry.epoch) continue;
      this.#noteDone(held);
      this.#held.delete(keyOf(entry));
    }
  }

  #reconcile({ assigned, revoked }: GroupAnswer, changes: Changes): void {
    const current = new Map([...assigned, ...revoked].map((entry) => [keyOf(entry), entry.epoch]));
    for (const held of this.held) {
      const epoch = current.get(keyOf(held));
      if (epoch === held.epoch) continue;
      const why = epoch === undefined ? 'it was assigned to another member' : 'it was taken anew';
      changes.lost.push(this.#lose(held, why));
    }
    this.#strays = revoked.filter((entry) => !this.#held.has(keyOf(entry)));
    const wanted = new Set(revoked.map(keyOf));
    for (const held of this.held) {
      if (!wanted.has(keyOf(held)) || held.revoked) continue;
      held.revoked = true;
      held.giveBack();
      held.giveBackRedriven();
      changes.revoked.push(held);
    }
  }

  #take({ assigned, revoked, records, bytes }: GroupAnswer, sent: Sent, changes: Changes): void {
    const { named, reads, reset, release } = sent;
    const unwanted = new Set([...revoked, ...release].map(keyOf));
    const byPartition = new Map<string, FetchedRecord[]>();
    const ordinary = records.filter(({ redriven }) => redriven === undefined);
    for (const record of ordinary) byPartition.set(keyOf(record), [...(byPartition.get(keyOf(record)) ?? []), record]);
    for (const entry of assigned) {
      const key = keyOf(entry);
      let held = this.#held.get(key);
      const brought = byPartition.get(key) ?? [];
      if (held === undefined) {
        // Where what was lost meanwhile goes on is only told to who does not name it: this is our own word.
        if (unwanted.has(key) || isNamed(named, entry)) continue;
        held = new HeldPartition({ ...entry, offset: brought[0]?.offset ?? entry.offset });
        this.#held.set(key, held);
        changes.assigned.push(held);
      } else if (held.revoked || !reads) continue;
      held.takeRedriven(
        records.filter((one) => one.redriven && keyOf(one) === key && !this.#done.has(one.redriven.id)),
      );
      if (named.get(held) !== held.moves && !changes.assigned.includes(held)) continue;
      if (entry.error) noteOutOfRange(held, entry, changes);
      else
        advance(held, entry, brought, bytes * (brought.length / Math.max(1, records.length)), reset === true, changes);
    }
  }
}

const noChanges = (): Changes => ({
  ...{ assigned: [], revoked: [], lost: [], committed: [], refused: [] },
  ...{ outOfRange: [], jumped: [], overtaken: [] },
});

function isNamed(named: Sent['named'], { topic, partition, epoch }: Owned): boolean {
  return [...named.keys()].some((one) => one.epoch === epoch && one.topic === topic && one.partition === partition);
}

function noteOutOfRange(held: HeldPartition, { error }: Assigned, changes: Changes): void {
  const logStartOffset = error?.logStartOffset;
  if (error?.code !== 'offset_out_of_range' || logStartOffset === undefined) return;
  if (held.outOfRange !== logStartOffset) changes.outOfRange.push({ partition: held, logStartOffset });
  held.outOfRange = logStartOffset;
}

function advance(
  held: HeldPartition,
  entry: Assigned,
  brought: readonly FetchedRecord[],
  bytes: number,
  reset: boolean,
  changes: Changes,
): void {
  const from = held.position;
  const start = brought[0]?.offset ?? entry.offset;
  if (reset && (held.outOfRange !== null || start < from)) changes.jumped.push({ partition: held, from, to: start });
  held.outOfRange = null;
  if (held.inHand) return; // nothing was asked for
  if (start < from) held.jump(start);
  held.take(brought, entry.offset, bytes);
}
