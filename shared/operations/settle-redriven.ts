import type { Clock } from '../domain/clock.ts';
import { type DeadLetter, landedAgain, parseDeadLetterId } from '../domain/dead-letter.ts';
import type { Group, GroupId } from '../domain/group.ts';
import { Fenced } from '../domain/group-errors.ts';
import type { Observe } from '../domain/observation.ts';
import { actOnAll } from '../domain/parallel.ts';
import { REDRIVES_FAILED_MAX, REDRIVES_RECALLED_MAX } from '../domain/redrive-limits.ts';
import type { RedrivenOutcome, RedrivenReport } from './group-requests.ts';
import { removeObjects } from './letter-payload.ts';
import type { RedrivenPorts } from './redriven-ports.ts';

type Ports = RedrivenPorts & { readonly clock: Clock; readonly observe: Observe };
type MarkedGroup = GroupId & Pick<Group, 'redrives'>;

/**
 * Ends the redrives that a member says are done. What guards them is to whom each was given last: as long as no other has
 * it, whoever handled it may say so, also when its ownership is over. Repeating it is a success.
 *
 * @returns how each ended that was said to be done: `Fenced` when it was given to another
 * @throws {Throttled | Unavailable | WriteFailed} some may be done; repeating them all is a success
 */
export async function settleRedriven(
  ports: Ports,
  group: MarkedGroup,
  reports: readonly RedrivenReport[],
): Promise<RedrivenOutcome[]> {
  const done = reports.filter((report) => report.done);
  return actOnAll(done, async ({ id, epoch }) => {
    const letter = parseDeadLetterId(id);
    const kept = letter && (await ports.deadLetters.read(group, letter));
    if (kept === undefined || (await settle(ports, group, kept, epoch)) !== 'fenced') return { id };
    return { id, error: new Fenced(kept.topic, kept.partition, epoch) };
  });
}

/** @returns `ended`: before, one way or the other */
async function settle(
  ports: Ports,
  group: MarkedGroup,
  letter: DeadLetter,
  epoch: number,
): Promise<'done' | 'ended' | 'fenced'> {
  if (await ports.redrives.end(group, letter, { epoch })) {
    await removeObjects(ports.deadLetterObjects, group, letter);
    if (group.redrives?.failed) await ports.groupRedrives.succeed(group);
    return 'done';
  }
  return (await ports.redrives.read(group, letter)) === undefined ? 'ended' : 'fenced';
}

/**
 * A commit of the offset behind a redriven record, by whoever it was given to, says that it is done: it is what a member
 * sends that commits record by record and knows nothing of redrives. Only where that lies behind what is committed: what is
 * committed already may be committed again by a call that is repeated, because its answer, and the record with it, was lost.
 *
 * @returns false: it is none @throws as `settleRedriven`
 */
export async function settledByCommit(
  ports: Ports,
  group: MarkedGroup,
  committed: Pick<DeadLetter, 'topicId' | 'partition'> & { readonly offset: number },
  epoch: number,
): Promise<boolean> {
  if (group.redrives?.at === undefined || committed.offset === 0) return false;
  const letter = await ports.deadLetters.read(group, { ...committed, offset: committed.offset - 1 });
  return letter?.redriveAt !== undefined && (await settle(ports, group, letter, epoch)) === 'done';
}

/** A redrive that failed, by whoever it was given to. */
export interface FailedRedrive {
  readonly letter: DeadLetter;
  readonly epoch: number;
  readonly error: DeadLetter['error'];
  /** Times that it was tried. */
  readonly attempts: number;
}

/**
 * Makes a redriven record a dead letter again, with its history. When too many fail in a row, the others are taken back.
 *
 * @returns false: it has ended before, or was given to another @throws {Throttled | Unavailable | WriteFailed} repeat it
 */
export async function landRedriven(
  ports: Ports,
  group: GroupId,
  { letter, epoch, error, attempts }: FailedRedrive,
): Promise<boolean> {
  const landed = landedAgain(letter, error, ports.clock.now(), attempts);
  // Told first: what has landed is not looked at again.
  await ports.deadLetterQueue.tell(group, landed);
  if (!(await ports.redrives.land(group, landed, { epoch }))) return false;
  ports.observe({ kind: 'dead_letters', count: 1 });
  // One may be counted twice, where its answer was lost.
  if ((await ports.groupRedrives.fail(group)) >= REDRIVES_FAILED_MAX) {
    await ports.groupRedrives.stop(group, ports.clock.now());
    await recallSome(ports, group);
  }
  return true;
}

/** Takes some redrives back. @returns false: there were none @throws {Throttled | Unavailable | WriteFailed} */
export async function recallSome(ports: Pick<Ports, 'redrives'>, group: GroupId): Promise<boolean> {
  const some = await ports.redrives.list(group, REDRIVES_RECALLED_MAX);
  await actOnAll(some, (redrive) => ports.redrives.recall(group, redrive));
  return some.length > 0;
}

/** What a member that failed says of a record that is committed past already: of a redriven one, if it was given to it. */
export async function landReported(
  ports: Ports,
  group: GroupId,
  report: FailedRedrive & { readonly redriven?: number },
): Promise<void> {
  const { letter, epoch, redriven } = report;
  // One that is repeated: that redrive has ended.
  if (letter.redriveAt === undefined || (redriven ?? letter.redrives + 1) !== letter.redrives + 1) return;
  const given = (await ports.redrives.read(group, letter))?.given;
  if (given?.epoch === epoch) await landRedriven(ports, group, report);
  else if (redriven !== undefined) throw new Fenced(letter.topic, letter.partition, epoch);
}

/** What a member holds, by id: it is not to be given again. */
export function inHand(reports: readonly RedrivenReport[]): ReadonlySet<string> {
  return new Set(reports.filter(({ done }) => !done).map(({ id }) => id));
}
