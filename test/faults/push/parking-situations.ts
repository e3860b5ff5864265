import type { PushSituation } from './coverage.ts';
import type { PositionChange, PushHistory } from './history.ts';
import { isForeign, type LineHistory } from './index.ts';

/** What became of parked keys. */
export function parkingOf(lines: readonly LineHistory[], history: PushHistory): PushSituation[] {
  const ofLines = lines.flatMap((line) => {
    if (line.lane === undefined) return partitionOf(line);
    const partition = lines.find((one) => one.line === line.line && one.lane === undefined);
    return [...laneOf(line), ...(partition === undefined ? [] : takenBack(line, partition))];
  });
  return [...ofLines, ...subscriptionsOf(lines, history)];
}

function partitionOf({ changes }: LineHistory): PushSituation[] {
  return changes.flatMap((change): PushSituation[] => {
    const [had, has] = [change.before?.parked?.size ?? 0, change.after?.parked?.size ?? 0];
    if (has > had) return ['key parked'];
    return has < had && isForeign(change) ? ['sought while a key was parked'] : [];
  });
}

function laneOf({ changes, calls, letters }: LineHistory): PushSituation[] {
  const failed = calls.filter(({ told }) => told?.kind === 'failed');
  const passed = changes.flatMap(({ before, after }): PushSituation[] => {
    if (before === undefined || after === undefined) return [];
    const isExpired = (after.push?.expired ?? 0) > (before.push?.expired ?? 0);
    if (isExpired) return ['parked key overtaken by retention'];
    const letter = after.committed > before.committed ? letters.get(after.committed - 1) : undefined;
    if (letter?.error === 'parked_too_long') return ['parked key at the end of its time'];
    return letter && before.about?.giveUp === letter.offset ? ['parked key given up'] : [];
  });
  return [...failed.map((): PushSituation => 'record of a parked key failed again'), ...passed];
}

/** By whoever owned both. */
function takenBack({ lane, changes, calls }: LineHistory, partition: LineHistory): PushSituation[] {
  const back = changes.flatMap(({ at, before, after }): PushSituation[] => {
    const change = partition.changes.findLast((one) => one.at <= at);
    if (after !== undefined || change?.after?.owner === undefined || !change.before?.parked?.has(lane!)) return [];
    const hasRest = calls.some(({ epoch }) => epoch === before!.epoch);
    return [hasRest ? 'parked key taken back with a rest' : 'parked key taken back'];
  });
  const failed = calls.filter(({ sentAt, told }) => {
    const isOwned = stateOf(partition.changes, sentAt)?.owner !== undefined;
    return isOwned && stateOf(changes, sentAt)?.push?.isReady && told?.kind === 'failed';
  });
  return [...back, ...failed.map((): PushSituation => 'parked key failed when it was to be taken back')];
}

function subscriptionsOf(lines: readonly LineHistory[], { subscriptions }: PushHistory): PushSituation[] {
  return subscriptions.flatMap(({ at, before, after }): PushSituation[] => {
    if (after === undefined) return [];
    if (before?.state === 'active' && /keys are parked/.test(after.reason ?? '')) return ['halted by parked keys'];
    if (before?.onFailure !== 'park' || after.onFailure === 'park') return [];
    const own = lines.filter(({ groupId, lane }) => groupId === after.group.id && lane === undefined);
    const isParked = own.some(({ changes }) => stateOf(changes, at)?.parked !== undefined);
    return isParked ? ['parks no more while a key is parked'] : [];
  });
}

function stateOf(changes: readonly PositionChange[], at: number) {
  return changes.findLast((change) => change.at <= at)?.after;
}
