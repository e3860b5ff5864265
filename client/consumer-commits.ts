import { ApiError } from './api-error.ts';
import type { GroupCalls, OwnedOffset } from './consumer-calls.ts';
import { described, PartitionNotHeld, type TopicPartitionOffset } from './consumer-errors.ts';
import { isMembershipOver } from './consumer-loop.ts';
import type { Changes, Membership } from './consumer-membership.ts';
import type { HeldPartition } from './consumer-partition.ts';
import { Aborted } from './errors.ts';
import type { FetchedRecord } from './messages.ts';

/** What became of a record that failed for good. */
export type Burial = { readonly id: string } | 'lost' | 'passed';

export interface CommitsHost {
  /** Outcomes of commits were taken to account. */
  noticed(changes: Changes): void;
  /** The backbone says that the partition is another's. */
  lost(held: HeldPartition): void;
  crash(error: Error): void;
}

/** Commits and dead letters that cannot wait for the next poll. */
export class GroupCommits {
  readonly #calls: GroupCalls;
  readonly #membership: Membership;
  readonly #host: CommitsHost;

  constructor(calls: GroupCalls, membership: Membership, host: CommitsHost) {
    this.#calls = calls;
    this.#membership = membership;
    this.#host = host;
  }

  /** @throws {PartitionNotHeld} before anything is sent; else what the first refusal says, the others are committed */
  async commit(
    offsets: readonly (TopicPartitionOffset & { readonly metadata?: string })[],
    signal?: AbortSignal,
  ): Promise<void> {
    const entries = offsets.map(({ topic, partition, offset, metadata }) => {
      const held = this.#membership.find({ topic, partition });
      if (held === undefined) throw new PartitionNotHeld({ topic, partition });
      return { topic, partition, offset, epoch: held.epoch, ...(metadata !== undefined && { metadata }) };
    });
    if (entries.length === 0) return;
    const { refused } = await this.#send(entries, signal);
    if (refused[0]) throw refused[0].error;
  }

  /** @returns false when what is to be handled is no longer this member's */
  async before(held: HeldPartition, offset: number): Promise<boolean> {
    if (offset <= held.answered) return true; // a seek went back: the user wants to see it again
    try {
      const { topic, partition, epoch } = held;
      await this.#send([{ topic, partition, offset, epoch }], held.signal);
      return !held.lost;
    } catch (error) {
      this.#refused(held, error);
      return false;
    }
  }

  /**
   * @returns where it is kept; `lost` when the partition is no longer this member's; `passed` when its offset is committed
   *   already, so that the backbone does not keep it
   */
  async deadLetter(held: HeldPartition, record: FetchedRecord, error: unknown, attempts: number): Promise<Burial> {
    const { offset, redriven } = record;
    try {
      const { topic, partition, epoch } = held;
      const { memberId } = this.#membership;
      const about = { memberId, topic, partition, offset, epoch, attempts, error: described(error) };
      const letter = { ...about, ...(redriven && { redriven: redriven.times }) };
      return await this.#calls.deadLetter(letter, held.signal);
    } catch (failure) {
      const code = failure instanceof ApiError ? failure.code : undefined;
      // Of a redriven record alone: whether the partition is, too, the next answer tells.
      if (code === 'commit_regressed' || (redriven && code === 'fenced')) return 'passed';
      this.#refused(held, failure);
      return 'lost';
    }
  }

  async #send(entries: readonly OwnedOffset[], signal?: AbortSignal): Promise<Changes> {
    const outcomes = await this.#calls.commit(this.#membership.memberId, entries, signal);
    const changes = this.#membership.settle(outcomes, entries);
    this.#host.noticed(changes);
    return changes;
  }

  /** Whether the partition is lost for good, the next answer tells. */
  #refused(held: HeldPartition, error: unknown): void {
    if (error instanceof Aborted) return;
    if (isMembershipOver(error)) {
      this.#membership.lose(held, error.message);
      this.#host.lost(held);
    } else this.#host.crash(error instanceof Error ? error : new Error(String(error)));
  }
}
