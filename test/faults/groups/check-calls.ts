import { type GroupViolation, isAnswer, type MemberAnswer, type MemberCall, textOf } from './history.ts';
import type { IndexedGroups } from './index.ts';
import type { Tenure } from './tenures.ts';

/** For how long a copy of an item may be shown that has changed. */
const STALE_MS = 1_000;

type Answered = MemberCall & { readonly answer: MemberAnswer };

/** What members were told holds: commits are kept, records are those of the log, from where each goes on. */
export function checkCalls(index: IndexedGroups): GroupViolation[] {
  const answered = index.calls.filter(isAnswer);
  return [
    ...answered.flatMap((call) => checkCommitsTold(index, call)),
    ...answered.flatMap((call) => (call.kind === 'poll' ? checkGiven(index, call) : [])),
    ...checkRepeats(answered),
  ];
}

const tell = ({ caller, begin, end }: MemberCall) => `${caller} at ${begin}..${end ?? ''}`;

/** G1: an accepted commit stood at that epoch, of that session; a refused one was not its own any more. */
function checkCommitsTold(index: IndexedGroups, call: Answered): GroupViolation[] {
  const { memberId, commits } = call.answer;
  const end = call.end ?? Number.POSITIVE_INFINITY;
  const found: GroupViolation[] = [];
  for (const [i, { offset, error, ...place }] of commits.entries()) {
    const asked = call.commit[i];
    if (asked === undefined || (error !== undefined && error !== 'fenced')) continue;
    const tenure = index.tenureOf(memberId, asked.epoch, place);
    const what = `${tell(call)}: ${textOf(place)}@${offset} at epoch ${asked.epoch}`;
    const isKept = tenure?.committed.some((one) => one.offset === offset && one.at <= end) ?? false;
    if (error === undefined && !isKept) found.push({ kind: 'commit not kept', what });
    if (error === undefined || tenure === undefined || call.end === undefined) continue;
    const isMine = tenure.from <= call.begin && (tenure.end?.at ?? end) >= end && (tenure.releasedAt ?? end) >= end;
    if (isMine && !isDeleted(index, tenure, end)) found.push({ kind: 'fenced without reason', what });
  }
  return found;
}

function isDeleted({ deletedAt, deletedTopics }: IndexedGroups, { groupId, topicId }: Tenure, by: number): boolean {
  return [deletedAt.get(groupId), deletedTopics.get(topicId)].some((at = Number.POSITIVE_INFINITY) => at <= by);
}

/** Each partition's records are those of the log from where the member went on up to where it is told to go on. */
function checkGiven(index: IndexedGroups, call: Answered): GroupViolation[] {
  const { memberId, assigned, records } = call.answer;
  const found: GroupViolation[] = [];
  const echoes = new Map(call.positions.map((one) => [textOf(one), one]));
  for (const { epoch, offset, error, ...place } of assigned) {
    const given = records.filter((one) => textOf(one) === textOf(place));
    const tenure = index.tenureOf(memberId, epoch, place);
    const what = `${tell(call)}: ${textOf(place)} at epoch ${epoch} up to ${offset}, [${given.map((one) => `${one.record}@${one.offset}`)}]`;
    if (tenure === undefined) {
      found.push({ kind: 'given without owning', what });
      continue;
    }
    if (error !== undefined) continue;
    const echo = echoes.get(textOf(place));
    const starts = startsOf(tenure, echo, memberId, call.end);
    if (!starts.some((start) => isSame(given, between(index, tenure, start, offset)))) {
      found.push({ kind: 'given wrong records', what: `${what} from one of ${starts}` });
    }
    const { end } = tenure;
    const isOver = end?.how === 'taken' && end.by !== memberId && call.begin > end.at + STALE_MS;
    if (isOver && given.length > 0)
      found.push({ kind: 'given after it was taken', what: `${what}, by ${end.by} at ${end.at}` });
  }
  const named = new Set(assigned.map(textOf));
  const strays = records.filter((one) => !named.has(textOf(one)));
  if (strays.length > 0) found.push({ kind: 'given without owning', what: `${tell(call)}: ${strays.map(textOf)}` });
  return found;
}

/** Where reading may have begun: where the member said, or, when it took it, at what was committed. */
function startsOf(
  tenure: Tenure,
  echo: { readonly epoch: number; readonly offset: number } | undefined,
  memberId: string,
  end = Number.POSITIVE_INFINITY,
): number[] {
  if (echo?.epoch === tenure.epoch) return [echo.offset];
  const { previous, committed } = tenure;
  const isAnew = echo !== undefined && previous?.owner === memberId && previous.epoch === echo.epoch;
  const reached = committed.filter(({ at }) => at <= end).map(({ offset }) => offset);
  return isAnew ? [echo.offset, ...reached] : reached;
}

function between({ logs }: IndexedGroups, { topicId, partition }: Tenure, from: number, to: number) {
  const slots = logs.get(`${topicId}.${partition}`) ?? [];
  return slots
    .filter((slot) => slot.last >= from && slot.base < to)
    .flatMap((slot) => slot.records.map((record, i) => ({ record, offset: slot.base + i })))
    .filter(({ offset }) => offset >= from && offset < to);
}

function isSame(
  given: readonly { readonly record: string; readonly offset: number }[],
  stored: readonly { readonly record: string; readonly offset: number }[],
): boolean {
  if (given.length !== stored.length) return false;
  return given.every(({ record, offset }, i) => stored[i]!.record === record && stored[i]!.offset === offset);
}

/** An answer that got lost is given again where the same is asked: what is more in either comes after. */
function checkRepeats(answered: readonly Answered[]): GroupViolation[] {
  const found: GroupViolation[] = [];
  const lost = new Map<string, Answered>();
  for (const call of answered) {
    if (call.kind !== 'poll') continue;
    const before = lost.get(call.caller);
    if (call.lost) lost.set(call.caller, call);
    else lost.delete(call.caller);
    if (before === undefined || JSON.stringify(before.positions) !== JSON.stringify(call.positions)) continue;
    const epochs = new Map(before.answer.assigned.map((one) => [textOf(one), one.epoch]));
    for (const { epoch, ...place } of call.answer.assigned) {
      const isEchoed = call.positions.some((one) => textOf(one) === textOf(place) && one.epoch === epoch);
      if (!isEchoed || epochs.get(textOf(place)) !== epoch) continue;
      const of = ({ answer }: Answered) => answer.records.filter((one) => textOf(one) === textOf(place));
      const [first, second] = [of(before), of(call)];
      const length = Math.min(first.length, second.length);
      if (isSame(first.slice(0, length), second.slice(0, length))) continue;
      found.push({ kind: 'repeat differs', what: `${tell(call)}: ${textOf(place)}, after ${tell(before)}` });
    }
  }
  return found;
}
