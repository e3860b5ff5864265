import type { PushSituation } from './coverage.ts';
import type { PushHistory } from './history.ts';
import { isForeign, isTake, linesOf } from './index.ts';
import { parkingOf } from './parking-situations.ts';

/** Which situations the tables of a history show. */
export function situationsOf(history: PushHistory): Map<PushSituation, number> {
  const counts = new Map<PushSituation, number>();
  const count = (situation: PushSituation, times = 1) => {
    if (times > 0) counts.set(situation, (counts.get(situation) ?? 0) + times);
  };
  count('dead letter kept', history.letters.length);
  for (const { before, after } of history.subscriptions) {
    if (after?.state === 'halted' && before?.state === 'active' && /dead letters/.test(after.reason ?? '')) {
      count('halted by dead letters');
    }
  }
  for (const { before, after } of history.letterChanges) {
    if (after?.isMarked && !before?.isMarked) count('letter redriven');
    if (before?.isMarked && after === undefined) count('redriven letter done');
    if (before?.isMarked && after?.isMarked === false) {
      count(after.redrives > before.redrives ? 'redriven letter dead again' : 'redrives stopped');
    }
  }
  const lines = linesOf(history);
  const incarnations = new Map<string, Set<string>>();
  for (const { name, groupId, changes, calls, deletedAt, partition } of lines) {
    incarnations.set(name, (incarnations.get(name) ?? new Set()).add(groupId));
    const isCalled = (at: number) =>
      calls.some(({ sentAt, toldAt }) => toldAt !== undefined && sentAt < at && toldAt > at);
    for (const change of changes) {
      const { before, after, at } = change;
      if (before === undefined && partition >= 2) count('position of an added partition');
      if (isTake(change)) count(before?.owner === undefined ? 'position taken' : 'taken after its time');
      if (isForeign(change) && isCalled(at)) count('sought in mid-delivery');
      if ((after?.push?.failure?.span ?? Infinity) < (before?.push?.failure?.span ?? 0)) count('batch halved');
      if ((after?.push?.expired ?? 0) > (before?.push?.expired ?? 0)) count('overtaken by retention');
    }
    if (isCalled(deletedAt)) count('subscription deleted in mid-delivery');
    for (const { before, after, at } of history.subscriptions) {
      if (after?.group.id === groupId && before?.state === 'active' && after.state === 'paused' && isCalled(at)) {
        count('paused in mid-delivery');
      }
    }
    for (const { sentAt, toldAt = sentAt, epoch } of calls) {
      if (changes.some(({ at, after }) => at > sentAt && at < toldAt && (after?.epoch ?? 0) > epoch)) {
        count('call of one who was fenced');
      }
    }
  }
  for (const situation of parkingOf(lines, history)) count(situation);
  for (const { size } of incarnations.values()) count('subscription made again', size - 1);
  return counts;
}
