import type { LetterChange, PushViolation, TargetCall } from './history.ts';
import type { LineHistory } from './index.ts';

/** How long a run may be away between its look for the first redrive and its call, which it renews its lease for. */
const LOOK_MS = 60_000;

/** How dead letters go back: each is delivered or lands again, by offset, to the one group that it failed at. */
export function checkRedrives(line: LineHistory): PushViolation[] {
  return [
    ...line.letterChanges.flatMap((change) => checkChange(line, change)),
    ...line.redrives.flatMap((call) => checkCall(line, call)),
  ];
}

function checkChange(line: LineHistory, change: LetterChange): PushViolation[] {
  const { at, offset, before, after } = change;
  if (before === undefined || at > line.deletedAt) return [];
  const told = `${offset} of ${line.name} ${line.topicId}.${line.partition} at ${at}`;
  const answers = (kinds: readonly string[]) =>
    line.redrives.filter(
      ({ told, toldAt = at + 1 }) => told !== undefined && toldAt <= at && kinds.includes(told.kind),
    );
  const own = (calls: readonly TargetCall[]) => calls.filter(({ records }) => records[0]!.offset === offset);
  if (after === undefined) {
    return own(answers(['done', 'part'])).length > 0 ? [] : [{ kind: 'redriven letter lost', what: told }];
  }
  const failed = answers(['failed', 'part', 'too_large']);
  if (after.redrives > before.redrives) {
    return own(failed).length >= after.redrives ? [] : [{ kind: 'landed without a failure', what: told }];
  }
  if (!before.isMarked || after.isMarked || failed.length >= line.subscription.haltAfterDeadLetters) return [];
  return [{ kind: 'redrives stopped for nothing', what: told }];
}

function checkCall(line: LineHistory, { records, sentAt, epoch }: TargetCall): PushViolation[] {
  const { offset } = records[0]!;
  const told = `${offset} to ${line.name} ${line.topicId}.${line.partition}, epoch ${epoch}, at ${sentAt}`;
  if (line.changes.findLast(({ at, after }) => at <= sentAt && after?.epoch === epoch) === undefined) {
    return [{ kind: 'called without owning', what: told }];
  }
  const letter = line.letters.get(offset);
  if (letter === undefined || letter.at > sentAt) return [{ kind: 'redriven to another', what: told }];
  const before = new Map<number, boolean>();
  for (const change of line.letterChanges) {
    if (change.offset >= offset || change.at > sentAt) continue;
    const isOld = change.at < sentAt - LOOK_MS;
    before.set(change.offset, change.after?.isMarked === true && (isOld || before.get(change.offset) === true));
  }
  const [earlier] = [...before].filter(([, isWaiting]) => isWaiting);
  if (earlier === undefined) return [];
  return [{ kind: 'redriven out of order', what: `${told}: ${earlier[0]} is to come` }];
}
