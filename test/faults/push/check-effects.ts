import type { Position } from '../../../shared/domain/position.ts';
import type { Effect, PushViolation, TargetCall } from './history.ts';
import type { LineHistory } from './index.ts';

/** What targets that process each record once have done: once, by whoever had the record, and for all that was given back. */
export function checkEffects(line: LineHistory): PushViolation[] {
  if (!line.isOnce || line.lane !== undefined) return [];
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

/** A call under the position's epoch, or its parked key's, had the record: to be settled yet, or back from the dead letters. */
function isOfOwner({ allCalls, redrives }: LineHistory, { at, offset, position, lanes }: Effect): boolean {
  const has = (owned: Position | undefined) => (call: TargetCall) =>
    owned?.owner !== undefined &&
    call.epoch === owned.epoch &&
    call.sentAt <= at &&
    call.records.some((record) => record.offset === offset);
  const isToSettle = (owned: Position | undefined, lane?: string) =>
    owned !== undefined && owned.committed <= offset && allCalls.some((call) => call.lane === lane && has(owned)(call));
  const isOfLane = [...lanes].some(([lane, owned]) => isToSettle(owned, lane));
  return isToSettle(position) || isOfLane || redrives.some(has(position));
}

function nameOf({ name, topicId, partition }: LineHistory, { at, offset }: Pick<Effect, 'at' | 'offset'>): string {
  return `${offset} of ${name} ${topicId}.${partition} at ${at}`;
}
