import { deadLetterIdText } from '../domain/dead-letter.ts';
import { InvalidRequest, TopicNotFound } from '../domain/errors.ts';
import { CommitRegressed, Fenced } from '../domain/group-errors.ts';
import type { BatchSlot } from '../domain/slot.ts';
import { findMember } from './find-member.ts';
import { type KeepPorts, keepDeadLetter } from './keep-dead-letter.ts';
import { readBatches } from './read-batches.ts';
import type { MemberPorts } from './redriven-ports.ts';
import { landReported } from './settle-redriven.ts';
import { storeFailed } from './store-failed.ts';

export type DeadLetterPorts = MemberPorts & KeepPorts;

export interface DeadLetterReport {
  readonly group: string;
  readonly memberId: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly epoch: number;
  readonly error: { readonly name: string; readonly message: string };
  readonly attempts: number;
  /** Of a record that was given back: as the poll told it. Absent: of any, what fits. */
  readonly redriven?: number;
  /** Epoch ms by which to answer. */
  readonly deadline: number;
}

/**
 * Keeps a record that a member could not handle, with why, tells of it, then commits past it: in this order, so that
 * none is passed without being kept. A report may be repeated; what is kept already stays as it is. A record that was given
 * back is a dead letter again, with its history.
 *
 * @param take takes the record out of its slot, to be kept on its own
 * @throws {GroupNotFound | MemberNotFound | InstanceFenced | TopicNotFound | Fenced | CommitRegressed | OffsetOutOfRange |
 *   InvalidRequest | Throttled}; {Unavailable} it may be kept already: repeat it
 */
export async function deadLetter(
  ports: DeadLetterPorts,
  report: DeadLetterReport,
  take: (slot: BatchSlot, offset: number) => Uint8Array,
): Promise<{ readonly id: string; readonly committed: number }> {
  const { partition, offset, epoch, memberId: owner } = report;
  const { group } = await findMember(ports, report.group, owner);
  const topic = await ports.topics.fresh(report.topic);
  if (partition >= topic.partitions) {
    throw new InvalidRequest(`'partition' must be one of 0 to ${topic.partitions - 1} of '${topic.name}'`, {
      field: 'partition',
      partitions: topic.partitions,
    });
  }
  const position = { group, topicId: topic.id, partition };
  const id = { topicId: topic.id, partition, offset };
  const held = await ports.positions.read(position, true);
  if (held?.owner !== owner || held.epoch !== epoch) throw new Fenced(topic.name, partition, epoch);
  if (held.committed > offset) {
    const letter = await ports.deadLetters.read(group, id);
    if (letter === undefined) throw new CommitRegressed(offset, held.committed);
    await landReported(ports, group, { ...report, letter }).catch(storeFailed);
    return { id: deadLetterIdText(id), committed: held.committed };
  }
  // Where it was given back from, the group has gone back to since.
  if (report.redriven !== undefined) throw new Fenced(topic.name, partition, epoch);
  const payload = await readRecord(ports, report, topic.id, take);
  const { error, attempts } = report;
  const firstFailedAt = ports.clock.now();
  const letter = { ...id, topic: report.topic, error, attempts, firstFailedAt };
  await keepDeadLetter(ports, group, letter, payload).catch(storeFailed);
  const committed = await ports.positions.commit(position, { owner, epoch }, offset + 1, {}).catch(storeFailed);
  if (committed === 'done') return { id: deadLetterIdText(id), committed: offset + 1 };
  // Another call of this session was faster; else somebody took the position meanwhile.
  if (committed?.owner !== owner || committed.epoch !== epoch) throw new Fenced(topic.name, partition, epoch);
  return { id: deadLetterIdText(id), committed: committed.committed };
}

async function readRecord(
  ports: DeadLetterPorts,
  { topic, partition, offset, deadline }: DeadLetterReport,
  topicId: string,
  take: (slot: BatchSlot, offset: number) => Uint8Array,
): Promise<Uint8Array> {
  let found: Uint8Array | undefined;
  const request = { topic, partition, offset, waitMs: 0, slotsMax: 1, deadline };
  const read = await readBatches(ports, request, {
    isFull: () => found !== undefined,
    take(slot, from) {
      found = from === offset ? take(slot, offset) : undefined;
      return from === offset ? offset + 1 : from;
    },
  });
  if (read.topicId !== topicId) throw new TopicNotFound(topic);
  if (found !== undefined) return found;
  throw new InvalidRequest(`'offset' must be that of a record: there is none at ${offset} of partition ${partition}`, {
    field: 'offset',
  });
}
