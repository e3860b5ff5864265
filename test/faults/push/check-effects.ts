import type { Effect, PushViolation } from './history.ts';
import type { LineHistory } from './index.ts';

/** What targets that process each record once have done: once, by whoever had the record, and for all that was given back. */
export function checkEffects(line: LineHistory): PushViolation[] {
  if (!line.isOnce) return [];
  const done = new Set<number>();
  const found = line.effects.flatMap((effect): PushViolation[] => {
    const what = nameOf(line, effect);
    const isRepeated = done.has(effect.offset);
    done.add(effect.offset);
    return [
      ...(isRepeated ? [{ kind: 'effect twice', what } as const] : []),
      ...(isOfOwner(line, effect) ? [] : [{ kind: 'effect of one who was given up', what } as const]),
    ];
  });
  for (const { at, offset, before, after } of line.letterChanges) {
    if (before === undefined || after !== undefined || at > line.deletedAt) continue;
    const isDone = line.effects.some((effect) => effect.offset === offset && effect.at <= at);
    if (!isDone) found.push({ kind: 'effect missing', what: nameOf(line, { at, offset }) });
  }
  return found;
}

/** A call under the position's epoch had the record: to be settled yet, or back from the dead letters. */
function isOfOwner({ calls, redrives }: LineHistory, { at, offset, position }: Effect): boolean {
  if (position?.owner === undefined) return false;
  const { epoch, committed } = position;
  const has = (call: LineHistory['calls'][number]) =>
    call.epoch === epoch && call.sentAt <= at && call.records.some((record) => record.offset === offset);
  return (committed <= offset && calls.some(has)) || redrives.some(has);
}

function nameOf({ name, topicId, partition }: LineHistory, { at, offset }: Pick<Effect, 'at' | 'offset'>): string {
  return `${offset} of ${name} ${topicId}.${partition} at ${at}`;
}
