import { describe, expect, it } from 'vitest';
import { checkPush } from './check-push.ts';
import type { PushHistory, PushViolation } from './history.ts';
import {
  call,
  DONE,
  type Edited,
  FAILED,
  GROUP,
  goOn,
  LINE,
  move,
  REFUSED,
  recordAt,
  rightHistory,
} from './right-history.ts';

function kindsAfter(edit: (history: Edited) => void): PushViolation['kind'][] {
  const history = rightHistory();
  edit(history);
  return [...new Set(checkPush(history as PushHistory).map(({ kind }) => kind))];
}

/** The fourth record becomes a dead letter as well. */
function loseFourth({ calls, letters, told }: Edited): void {
  calls[4]!.told = FAILED;
  letters.push({ ...LINE, at: 4_255, offset: 3, attempts: 1, error: 'Refused' });
  told.push({ group: GROUP.name, id: `${LINE.topicId}.0.3`, at: 4_256 });
}

const failureAfter = ({ positions }: Edited, change: number) => positions[change]!.after!.push!.failure!;
const subscriptionOf = ({ subscriptions }: Edited) => subscriptions[0]!.after!;

describe('a history of deliveries', () => {
  it.each<[string, (history: Edited) => void]>([
    ['records are delivered in order, halved where they fail, and kept where they fail alone', () => {}],
    [
      'a record before the one that a target names counts as delivered',
      ({ calls, positions }) => {
        calls[5]!.told = { kind: 'failed', at: 5, error: REFUSED };
        positions[9]!.after!.committed = 5;
      },
    ],
    [
      'a target took a part',
      ({ calls, positions }) => {
        calls[5]!.told = { kind: 'part', next: 5 };
        positions[9]!.after!.committed = 5;
      },
    ],
    [
      'what has expired is passed without a call',
      (history) => {
        history.calls.pop();
        history.retentionMs = 4_000;
      },
    ],
    [
      'one who was fenced keeps a record that has expired, and was passed',
      (history) => {
        history.calls.pop();
        history.retentionMs = 4_000;
        history.letters.push({ ...LINE, at: 5_000, offset: 4, attempts: 1, error: 'Refused' });
      },
    ],
    [
      'what the filter keeps back is in no call',
      (history) => {
        subscriptionOf(history).filter = JSON.stringify({ every: 1 });
        history.calls.splice(0);
      },
    ],
    [
      'somebody seeks, and records are delivered once more',
      (history) => {
        history.sought.push({ name: 's', begin: 4_900 });
        move(history, 5_000, 5);
        goOn(history, 5_100, { epoch: 5_100, owner: 'four', until: 40_000 });
        history.calls.push(call(5_110, 5_100, [5], DONE));
        goOn(history, 5_200, { committed: 6, push: {} });
      },
    ],
    [
      'whoever resumes it lets the row of dead letters begin anew',
      (history) => {
        loseFourth(history);
        subscriptionOf(history).haltAfterDeadLetters = 1;
        const active = subscriptionOf(history);
        const halted = { ...active, state: 'halted' as const };
        history.subscriptions.push(
          { at: 4_185, before: active, after: halted },
          { at: 4_195, before: halted, after: active },
        );
      },
    ],
    [
      'one who was fenced calls at the same time as his successor',
      (history) => {
        history.calls[4]!.end = 4_400;
        history.sought.push({ name: 's', begin: 4_000 });
        history.positions.splice(9, 1);
        move(history, 4_280, 4);
        goOn(history, 4_290, { epoch: 4_290, owner: 'four', until: 40_000 });
        history.calls[5]!.epoch = 4_290;
        goOn(history, 4_370, { committed: 6, push: {} });
      },
    ],
    [
      'one whom a seek has fenced calls, and does not know that the target is away, or that less is to be sent',
      (history) => {
        const [start, taken] = [
          history.positions[0]!.after!,
          { epoch: 1_400, committed: 0, owner: 'zero', until: 34_000 },
        ];
        const free = { epoch: 1_900, committed: 0 };
        history.sought.push({ name: 's', begin: 1_800 });
        history.positions.splice(
          1,
          0,
          { ...LINE, at: 1_400, before: start, after: taken },
          { ...LINE, at: 1_900, before: taken, after: free },
        );
        history.positions[3]!.before = free;
        history.calls[1]!.told = { kind: 'away', retryAfterMs: 900, error: REFUSED };
        history.calls.splice(2, 0, call(2_300, 1_400, [0, 1, 2], FAILED));
        history.calls.splice(4, 0, call(3_300, 1_400, [0, 1, 2], FAILED));
      },
    ],
    [
      'whoever is to be quick is quick enough',
      (history) => {
        history.prompt = { names: ['s'], boundMs: 4_000, from: 0, isPoison: () => false };
      },
    ],
    [
      'what happens behind its deletion is nobody’s',
      (history) => {
        history.subscriptions.push({ at: 4_365, before: subscriptionOf(history), after: undefined } as never);
        history.calls.pop();
      },
    ],
  ])('is right where %s', (_, edit) => {
    expect(kindsAfter(edit)).toEqual([]);
  });

  it.each<[PushViolation['kind'], string, (history: Edited) => void]>([
    ['record skipped', 'records are passed that were in no call', ({ calls }) => void calls.pop()],
    [
      'record skipped',
      'nobody told what became of a call',
      ({ calls }) => {
        delete calls[5]!.told;
      },
    ],
    ['record skipped', 'a record is passed that had failed', ({ calls }) => Object.assign(calls[5]!, { told: FAILED })],
    [
      'record skipped',
      'the record that a target named is passed',
      ({ calls }) => Object.assign(calls[5]!, { told: { kind: 'failed', at: 5, error: REFUSED } }),
    ],
    [
      'record skipped',
      'what a target had no room for is passed',
      ({ calls }) => Object.assign(calls[5]!, { told: { kind: 'part', next: 5 } }),
    ],
    [
      'record skipped',
      'what was delivered before a seek is passed after it',
      (history) => {
        history.sought.push({ name: 's', begin: 4_900 });
        move(history, 5_000, 4);
        goOn(history, 5_100, { epoch: 5_100, owner: 'four', until: 40_000 });
        goOn(history, 5_200, { committed: 6, push: {} });
      },
    ],
    [
      'passed before it was stored',
      'an offset is passed whose record comes later',
      ({ slots }) => Object.assign(slots[5]!, { storedAt: 5_000 }),
    ],
    ['record skipped', 'a record that failed is kept nowhere', ({ letters }) => void letters.pop()],
    [
      'dead letter not kept',
      'a dead letter is kept after its record was passed',
      ({ letters }) => Object.assign(letters[0]!, { at: 4_200 }),
    ],
    ['dead letter not told', 'nobody is told of a dead letter', ({ told }) => void told.pop()],
    [
      'dead letter not told',
      'somebody is told of it after its record was passed',
      ({ told }) => Object.assign(told[0]!, { at: 4_200 }),
    ],
    [
      'dead letter without its attempts',
      'a record is given up that has attempts left',
      (history) => Object.assign(subscriptionOf(history).retry, { maxAttempts: 2 }),
    ],
    [
      'too many dead letters',
      'it goes on where it was to halt',
      (history) => {
        loseFourth(history);
        subscriptionOf(history).haltAfterDeadLetters = 1;
      },
    ],
    [
      'position went back',
      'a step goes back',
      (history) => {
        goOn(history, 5_000, { epoch: 5_000, owner: 'four', until: 40_000 });
        goOn(history, 5_100, { committed: 5 });
      },
    ],
    ['epoch went back', 'an epoch goes back', (history) => goOn(history, 5_000, { epoch: 3_100 })],
    [
      'one epoch, two owners',
      'an epoch has two owners',
      (history) => goOn(history, 5_000, { owner: 'four', until: 40_000 }),
    ],
    ['changed by nobody', 'a position is set that nobody set', (history) => move(history, 5_000, 0)],
    [
      'taken too early',
      'a position is taken whose owner has time left',
      ({ positions }) => {
        const kept = { ...positions[4]!.after!, push: {} };
        positions[5] = { ...positions[5]!, before: kept, after: kept };
        positions[6]!.before = kept;
      },
    ],
    [
      'begun late',
      'it begins behind a record that came after it was made',
      ({ positions, slots }) => {
        slots[0]!.at = 1_200;
        for (const { before, after } of positions.slice(0, 2)) {
          if (before) before.committed = 1;
          after!.committed = 1;
        }
      },
    ],
    [
      'called without owning',
      'a call has an epoch that nobody had',
      ({ calls }) => Object.assign(calls[5]!, { epoch: 7 }),
    ],
    [
      'called without owning',
      'a call is sent before its position is taken',
      ({ calls }) => Object.assign(calls[2]!, { sentAt: 3_050 }),
    ],
    ['wrong records', 'a call leaves one out', ({ calls }) => void calls[5]!.records.shift()],
    ['wrong records', 'a call begins behind what is committed', ({ calls }) => void calls[0]!.records.shift()],
    ['wrong records', 'a call has them in another order', ({ calls }) => void calls[5]!.records.reverse()],
    ['wrong records', 'a call brings what is committed', ({ calls }) => void calls[5]!.records.unshift(recordAt(3))],
    [
      'wrong records',
      'a call brings what is not stored',
      ({ calls }) => Object.assign(calls[5]!.records[1]!, { record: 'r9' }),
    ],
    [
      'wrong records',
      'a call brings what the filter keeps back',
      (history) => Object.assign(subscriptionOf(history), { filter: JSON.stringify({ every: 1 }) }),
    ],
    ['more than the span', 'a call carries more than it may', ({ calls }) => void calls[2]!.records.push(recordAt(4))],
    [
      'more than the span',
      'a call goes past its range',
      (history) => Object.assign(failureAfter(history, 3), { end: 3 }),
    ],
    [
      'more than the span',
      'a batch that failed comes again as it was',
      (history) => {
        failureAfter(history, 3).span = 3;
        history.calls[2]!.records.push(recordAt(4));
      },
    ],
    [
      'tried too early',
      'a call comes before its time',
      (history) => Object.assign(failureAfter(history, 3), { retryAt: 3_200 }),
    ],
    [
      'tried too early',
      'a target is called before it said',
      ({ calls }) => Object.assign(calls[1]!, { told: { kind: 'away', retryAfterMs: 2_000, error: REFUSED } }),
    ],
    [
      'two calls at once',
      'a call begins before the one before it has ended',
      ({ calls }) => Object.assign(calls[4]!, { end: 4_400 }),
    ],
    [
      'late',
      'whoever is to be quick is kept waiting',
      (history) => Object.assign(history, { prompt: { names: ['s'], boundMs: 500, from: 0, isPoison: () => false } }),
    ],
  ])('is told: %s, where %s', (kind, _, edit) => {
    expect(kindsAfter(edit)).toContain(kind);
  });
});
