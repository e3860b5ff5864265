import type { BackboneError } from '../domain/errors.ts';
import { AllFenced } from '../domain/group-errors.ts';
import { PARTITIONS_MAX, POLL_PARTITIONS_MAX } from '../domain/limits.ts';
import { keptSlot } from './dead-letter-slot.ts';
import { RecordPart, type Room, type SharedRoom } from './group-record-part.ts';
import type { HeldPartition, HeldPosition, NamedPartition } from './group-requests.ts';
import { type ApiAnswer, jsonAnswer } from './http-answer.ts';
import type { ValueForm } from './record-json.ts';
import { textOf } from './utf8.ts';

export interface CommitOutcome extends NamedPartition {
  readonly offset: number;
  readonly error?: BackboneError;
}

/** What a member is told beside records. */
export interface Told {
  readonly memberId: string;
  readonly assigned: readonly (HeldPosition & { readonly error?: BackboneError })[];
  readonly revoked: readonly HeldPartition[];
  readonly commits: readonly CommitOutcome[];
  readonly errors: readonly { readonly topic: string; readonly partition?: number; readonly error: BackboneError }[];
  readonly turn?: number;
  readonly redriven?: readonly { readonly id: string; readonly error?: BackboneError }[];
}

/** A record that comes back from the dead letters, and how often it has. */
export interface Redriven extends NamedPartition {
  readonly offset: number;
  readonly deadLetter: string;
  readonly redriven: number;
}

/** What a poll says of who it is, how much it wants, and about how many partitions. */
export interface Wanted {
  readonly memberId?: string;
  readonly instanceId?: string;
  readonly topics?: readonly string[];
  readonly positions: readonly NamedPartition[];
  readonly commit: readonly NamedPartition[];
  readonly maxRecords: number;
  /** Of the whole answer; one record comes whatever it says. */
  readonly maxBytes: number;
  readonly values: ValueForm;
}

/** One entry of `assigned` and a comma, without its topic's name. */
const POSITION_BYTES =
  JSON.stringify({
    ...{ topic: '', partition: PARTITIONS_MAX },
    ...{ epoch: Number.MAX_SAFE_INTEGER, offset: Number.MAX_SAFE_INTEGER },
  }).length + 1;
const ULID_CHARS = 26;
/** What goes wrong with a position takes no more. */
const ERROR_BYTES_MAX = 600;
/** The answer's own members; a name that is proposed is a ULID. */
const FRAME_BYTES = JSON.stringify({
  ...{ memberId: '0'.repeat(ULID_CHARS), assigned: [], revoked: [], commits: [], records: [], errors: [] },
  turn: PARTITIONS_MAX,
}).length;

/** The answer to a poll: it grows while partitions are read, each into a part of its own. */
export class PollAnswer {
  readonly #room: Room;
  readonly #values: ValueForm;
  readonly #shared: SharedRoom;
  readonly #parts: RecordPart[] = [];
  /** Each with one record that came back from the dead letters. */
  #redriven: RecordPart[] = [];

  constructor(wanted: Wanted) {
    const around = bytesAround(wanted);
    this.#room = { records: wanted.maxRecords, bytes: wanted.maxBytes - around };
    this.#values = wanted.values;
    const entries = wanted.positions.length + wanted.commit.length + POLL_PARTITIONS_MAX;
    this.#shared = { inflated: 0, count: 0, envelopeBytes: around + entries * ERROR_BYTES_MAX };
  }

  /** For the records of all partitions, beside those that came back. */
  get room(): Room {
    const bytes = this.#redriven.reduce((sum, part) => sum + part.bytes, 0);
    return { records: this.#room.records - this.#redriven.length, bytes: this.#room.bytes - bytes };
  }

  /**
   * Takes a record that came back: half of the room at most is for such ones, and for the first in any case.
   *
   * @param payload as `encodeKeptRecord` made it; undefined: it is gone
   * @param link makes the URL of an uploaded value
   * @returns what takes it out again; undefined: there is no room for it
   */
  async takeRedriven(
    { topic, partition, offset, deadLetter, redriven }: Redriven,
    payload: Uint8Array | undefined,
    link: (uploadId: string) => Promise<string>,
  ): Promise<(() => void) | undefined> {
    const isFirst = this.#redriven.length === 0;
    const { records, bytes } = this.#room;
    if (!isFirst && this.#redriven.length + 1 > records / 2) return undefined;
    const room = { records: 1, bytes: this.room.bytes - bytes / 2 };
    const part = new RecordPart({ topic, partition }, room, this.#values, this.#shared, { redriven, deadLetter });
    part.widen(room, isFirst);
    const { slot, uploadId } = keptSlot(payload, offset);
    const urls = uploadId === undefined ? undefined : new Map([[0, await link(uploadId)]]);
    part.take(slot, offset, urls);
    if (part.count === 0) return undefined;
    this.#redriven.push(part);
    return () => {
      this.#redriven = this.#redriven.filter((other) => other !== part);
      this.#shared.count -= 1;
    };
  }

  /** Opens the part of one partition, at most once. */
  open(of: NamedPartition, room: Room): RecordPart {
    const part = new RecordPart(of, room, this.#values, this.#shared);
    this.#parts.push(part);
    return part;
  }

  finish(told: Told): ApiAnswer {
    // Those that came back before the others of their partition: they are older.
    const records = [...this.#redriven, ...this.#parts].filter(({ count }) => count > 0).sort(byPartition);
    const before = Buffer.from(`${JSON.stringify(toldJson(told)).slice(0, -1)},"records":[`);
    const after = Buffer.from(`]${JSON.stringify(endJson(told)).replace('{', ',')}`);
    // Each record begins with a comma, the first of all with one too many.
    const parts = records.map((part, i) => part.written().subarray(i === 0 ? 1 : 0));
    return { status: 200, body: textOf(Buffer.concat([before, ...parts, after])) };
  }
}

/** The answer to a heartbeat: as a poll's, without records. */
export function heartbeatAnswer(told: Told): ApiAnswer {
  return jsonAnswer({ ...toldJson(told), ...endJson(told) });
}

/** @throws {AllFenced} when no commit was accepted because all are fenced */
export function commitsAnswer(outcomes: readonly CommitOutcome[]): ApiAnswer {
  const commits = outcomes.map(commitJson);
  if (outcomes.length > 0 && outcomes.every(({ error }) => error?.code === 'fenced')) throw new AllFenced(commits);
  return jsonAnswer({ commits });
}

/**
 * Most that may stand around the records when nothing is wrong with a position. How long the names of topics are that
 * the call does not name, nobody knows yet: as those that it does.
 */
function bytesAround({ memberId, instanceId = '', topics, positions, commit }: Wanted): number {
  const names = [...(topics ?? []), ...positions.map(({ topic }) => topic)];
  const longest = names.reduce((most, { length }) => Math.max(most, length), 0);
  const ofAll = (entries: readonly NamedPartition[]) =>
    entries.reduce((sum, { topic }) => sum + POSITION_BYTES + topic.length, 0);
  // What was committed may be revoked as well.
  const takes = POLL_PARTITIONS_MAX * (POSITION_BYTES + longest);
  return FRAME_BYTES + jsonBytes(memberId ?? instanceId) + ofAll(positions) + 2 * ofAll(commit) + takes;
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}

function toldJson({ memberId, assigned, revoked, commits }: Told) {
  return {
    memberId,
    assigned: assigned.map(({ topic, partition, epoch, offset, error }) => ({
      ...{ topic, partition, epoch, offset },
      ...(error && { error: entryError(error) }),
    })),
    revoked: revoked.map(({ topic, partition, epoch }) => ({ topic, partition, epoch })),
    commits: commits.map(commitJson),
  };
}

function endJson({ errors, turn, redriven }: Told) {
  return {
    errors: errors.map(({ topic, partition, error }) => ({
      topic,
      ...(partition !== undefined && { partition }),
      ...entryError(error),
    })),
    ...(turn !== undefined && { turn }),
    ...(redriven && {
      redriven: redriven.map(({ id, error }) => ({ id, ...(error && { error: entryError(error) }) })),
    }),
  };
}

function commitJson({ topic, partition, offset, error }: CommitOutcome) {
  return { topic, partition, offset, ...(error && { error: entryError(error) }) };
}

/** A refusal of one entry; of which one stands beside it. */
function entryError({ code, message, retryable, data }: BackboneError) {
  const { topic: _topic, partition: _partition, ...facts } = data;
  return { code, detail: code === 'internal' ? 'Something failed inside' : message, retryable, ...facts };
}

function byPartition(a: NamedPartition, b: NamedPartition): number {
  if (a.topic !== b.topic) return a.topic < b.topic ? -1 : 1;
  return a.partition - b.partition;
}
