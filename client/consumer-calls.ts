import { JSON_TYPE } from '../shared/wire/media-type.ts';
import { type ApiError, type EntryProblem, entryError } from './api-error.ts';
import type { Connection } from './connection.ts';
import type { TopicPartition, TopicPartitionOffset } from './consumer-errors.ts';
import { GZIP_ABOVE_CHARS } from './consumer-limits.ts';
import { fetchedRecords, type WireRecord } from './fetched-records.ts';
import type { FetchedRecord } from './messages.ts';
import type { RetryPolicy } from './retry.ts';
import { type Answer, type Call, pathOf } from './transport.ts';

export interface Owned extends TopicPartition {
  readonly epoch: number;
}

export interface OwnedOffset extends Owned {
  readonly offset: number;
  readonly metadata?: string;
}

/** That the member has a redriven record in hand, or is done with it. */
export interface RedrivenReport {
  readonly id: string;
  /** Of the partition, as it was when the record came. */
  readonly epoch: number;
  readonly done?: true;
}

export interface Commits {
  readonly commit: readonly OwnedOffset[];
  readonly release: readonly Owned[];
  readonly redriven: readonly RedrivenReport[];
}

export interface PollRequest extends Commits {
  /** Of a member; `new:<ulid>` joins, and repeated it is the same member. */
  readonly memberId: string;
  readonly instanceId?: string;
  readonly topics: readonly string[];
  readonly positions: readonly OwnedOffset[];
  readonly paused: readonly TopicPartition[];
  readonly maxRecords: number;
  readonly maxBytes: number;
  readonly waitMs: number;
  readonly sessionTimeoutMs: number;
  readonly autoOffsetReset: 'earliest' | 'latest' | 'none';
  readonly reset?: 'earliest' | 'latest';
  /** As the last answer told it: which of many partitions are looked at next. */
  readonly turn?: number;
}

export interface Assigned extends OwnedOffset {
  readonly error?: EntryProblem & { readonly logStartOffset?: number };
}

export type CommitOutcome = TopicPartitionOffset & { readonly error?: ApiError };

export interface GroupAnswer {
  readonly memberId: string;
  readonly assigned: readonly Assigned[];
  readonly revoked: readonly Owned[];
  readonly commits: readonly CommitOutcome[];
  readonly records: readonly FetchedRecord[];
  readonly errors: readonly { readonly topic: string; readonly partition?: number; readonly error: ApiError }[];
  readonly turn?: number;
  /** What became of redriven records that the member was done with. */
  readonly redriven: readonly { readonly id: string; readonly error?: ApiError }[];
  /** Of the answer's body. */
  readonly bytes: number;
}

export interface DeadLetter extends OwnedOffset {
  readonly memberId: string;
  readonly error: { readonly name: string; readonly message: string };
  readonly attempts: number;
  /** Of one that came back from the dead letters: how often. */
  readonly redriven?: number;
}

interface WireAnswer {
  readonly memberId?: string;
  readonly turn?: number;
  readonly assigned?: readonly Assigned[];
  readonly revoked?: readonly Owned[];
  readonly commits?: readonly (TopicPartitionOffset & { readonly error?: EntryProblem })[];
  readonly records?: readonly WireRecord[];
  readonly redriven?: readonly { readonly id: string; readonly error?: EntryProblem }[];
  readonly errors?: readonly (EntryProblem & {
    readonly topic: string;
    readonly partition?: number;
    error?: EntryProblem;
  })[];
}

interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

/** The calls that members of one group make. */
export class GroupCalls {
  readonly #connection: Connection;
  readonly #groupId: string;
  readonly #retry: RetryPolicy;

  constructor(connection: Connection, groupId: string, retry: RetryPolicy) {
    this.#connection = connection;
    this.#groupId = groupId;
    this.#retry = retry;
  }

  /** One attempt. */
  async poll(request: PollRequest, options: CallOptions): Promise<GroupAnswer> {
    return groupAnswer(await this.#connection.transport.call(this.#post('poll', request, options)));
  }

  /** One attempt: a poll that neither takes nor reads. Of what is not named in `positions` it says nothing. */
  async heartbeat(
    memberId: string,
    said: Commits & Pick<PollRequest, 'positions'>,
    options: CallOptions,
  ): Promise<GroupAnswer> {
    return groupAnswer(await this.#connection.transport.call(this.#post('heartbeat', { memberId, ...said }, options)));
  }

  /** Repeated while that may help. @returns one outcome per offset */
  async commit(
    memberId: string,
    offsets: readonly OwnedOffset[],
    signal?: AbortSignal,
  ): Promise<readonly CommitOutcome[]> {
    const answer = await this.#repeated(this.#post('commits', { memberId, offsets }, { signal })).catch(allFenced);
    return outcomesOf('json' in answer ? answer.json<WireAnswer>().commits : answer.commits);
  }

  /** Repeated while that may help: stores the record as a dead letter, then commits past it. */
  async deadLetter(letter: DeadLetter, signal?: AbortSignal): Promise<{ readonly id: string }> {
    return (await this.#repeated(this.#post('dead-letters', letter, { signal }))).json();
  }

  /** The last commits and releases, then the leave; each repeated for a while. @returns the commits' outcomes */
  async farewell(
    memberId: string,
    commits: Commits,
    { leave, withinMs }: { readonly leave: boolean; readonly withinMs: number },
  ): Promise<readonly CommitOutcome[]> {
    const call = (act: string, body: object) =>
      this.#connection.call(this.#post(act, { memberId, ...body }, { timeoutMs: withinMs }), {
        ...this.#retry,
        withinMs,
      });
    const needed = Object.values<readonly unknown[]>({ ...commits }).some((said) => said.length > 0);
    const outcomes = needed ? groupAnswer(await call('heartbeat', commits)).commits : [];
    if (leave) await call('leave', {});
    return outcomes;
  }

  #repeated(call: Call): Promise<Answer> {
    return this.#connection.call(call, this.#retry);
  }

  #post(act: string, body: object, options: CallOptions): Call {
    const bytes = JSON.stringify(body);
    return {
      method: 'POST',
      path: pathOf('groups', this.#groupId, act),
      body: { type: JSON_TYPE, bytes, gzip: bytes.length > GZIP_ABOVE_CHARS },
      ...options,
    };
  }
}

/** A refusal of every entry is told like one of some. */
function allFenced(error: ApiError): { readonly commits: WireAnswer['commits'] } {
  if (error.code === 'fenced' && Array.isArray(error.data?.commits)) return { commits: error.data.commits };
  throw error;
}

function groupAnswer(answer: Answer): GroupAnswer {
  const said = answer.json<WireAnswer>();
  const { memberId = '', turn, assigned = [], revoked = [], commits, records = [], errors = [], redriven = [] } = said;
  return {
    memberId,
    ...(turn !== undefined && { turn }),
    assigned,
    revoked,
    commits: outcomesOf(commits),
    records: fetchedRecords(records, answer.bytes, { topic: '', partition: 0 }),
    errors: errors.map(({ topic, partition, error, ...problem }) => ({
      topic,
      ...(partition !== undefined && { partition }),
      error: entryError(error ?? problem),
    })),
    redriven: redriven.map(({ id, error }) => ({ id, ...(error && { error: entryError(error) }) })),
    bytes: answer.bytes.length,
  };
}

function outcomesOf(commits: WireAnswer['commits'] = []): CommitOutcome[] {
  return commits.map(({ topic, partition, offset, error }) => ({
    topic,
    partition,
    offset,
    ...(error && { error: entryError(error) }),
  }));
}
