import { describe, expect, it } from 'vitest';
import type { Lane } from '../../../shared/domain/lane.ts';
import type { Position } from '../../../shared/domain/position.ts';
import { laneOf } from '../../../shared/wire/lane-of.ts';
import { checkPush } from './check-push.ts';
import type { PositionChange, PushHistory, PushViolation } from './history.ts';
import { keyOf } from './record-sink.ts';
import { call, DONE, type Edited, GROUP, LINE, REFUSED, rightHistory } from './right-history.ts';

const KEYS = 4;
/** Of the first two records; those after them have another one. */
const lane = laneOf(Buffer.from(keyOf('r0', KEYS)!));
const about = { key: new Uint8Array(), keyBytes: 4, parkedAt: 2_080 };
const failure = { retryAt: 3_000, attempts: 1, absences: 0, span: 1, end: 1, firstFailedAt: 2_060 };
const parked = new Set([lane]);
const FAILED_AT_0 = { kind: 'failed', at: 0, error: REFUSED } as const;

type States = readonly (readonly [at: number, after: Position | Lane | undefined])[];

function changes(states: States, of: { readonly lane?: string } = {}): PositionChange[] {
  return states.map(([at, after], i) => ({ ...LINE, ...of, at, before: states[i - 1]?.[1], after }));
}

/** Record 0 fails and its key is parked; the others are delivered; its lane delivers 0 and 1, and is taken back. */
function parkingHistory(): Edited {
  const history = rightHistory();
  const [{ after: subscription } = {}] = history.subscriptions;
  Object.assign(subscription!, { onFailure: 'park' });
  const position = changes([
    [1_000, { epoch: 1_000, committed: 0 }],
    [2_000, { epoch: 2_000, committed: 0, owner: 'one', until: 35_000 }],
    [2_080, { epoch: 2_080, committed: 1, owner: 'one', until: 35_000, push: { isSlow: true }, parked }],
    [2_160, { epoch: 2_080, committed: 6, push: {}, parked }],
    [3_200, { epoch: 3_200, committed: 6, owner: 'three', until: 36_000, push: {}, parked }],
    [3_220, { epoch: 3_220, committed: 6, owner: 'three', until: 36_000, push: {} }],
    [3_230, { epoch: 3_220, committed: 6, push: {} }],
  ]);
  const its = changes(
    [
      [2_080, { epoch: 2_080, committed: 0, push: { failure, isSlow: true }, about }],
      [3_010, { epoch: 3_010, committed: 0, owner: 'two', until: 36_000, push: { failure, isSlow: true }, about }],
      [3_080, { epoch: 3_010, committed: 1, owner: 'two', until: 36_000, push: { settled: 1 }, about }],
      [3_160, { epoch: 3_010, committed: 6, push: { settled: 2, isReady: true }, about }],
      [3_210, { epoch: 3_210, committed: 6, owner: 'four', until: 36_000, push: { settled: 2, isReady: true }, about }],
      [3_220, undefined],
    ],
    { lane },
  );
  Object.assign(history, {
    positions: [...position, ...its].toSorted((a, b) => a.at - b.at),
    calls: [
      call(2_010, 2_000, [0, 1, 2, 3, 4, 5], FAILED_AT_0),
      call(2_100, 2_080, [2, 3, 4, 5], DONE),
      { ...call(3_020, 3_010, [0], DONE), lane },
      { ...call(3_100, 3_010, [1], DONE), lane },
    ],
    marks: [
      { ...LINE, lane, at: 2_080, isThere: true },
      { ...LINE, lane, at: 3_220, isThere: false },
    ],
    ...{ letters: [], told: [] },
  });
  return history;
}

function kindsAfter(edit: (history: Edited) => void): PushViolation['kind'][] {
  const history = parkingHistory();
  edit(history);
  return [...new Set(checkPush(history as PushHistory).map(({ kind }) => kind))];
}

const changesOf = ({ positions }: Edited, of?: string) => positions.filter((change) => change.lane === of);

/** Record 0 fails in its lane, too, and becomes a dead letter. */
function giveUp(history: Edited, error: string): void {
  history.calls[2]!.told = FAILED_AT_0;
  history.letters.push({ ...LINE, at: 3_074, offset: 0, attempts: 2, error });
  history.told.push({ group: GROUP.name, id: `${LINE.topicId}.0.0`, at: 3_076 });
}

describe('a history of parked keys', () => {
  it.each<[string, (history: Edited) => void]>([
    ['a key waits, others go on, and it comes back', () => {}],
    [
      'somebody gives its record up',
      (history) => {
        giveUp(history, 'Refused');
        for (const { after } of changesOf(history, lane).slice(1)) {
          if (after !== undefined) Object.assign(after, { about: { ...about, giveUp: 0 } });
        }
      },
    ],
    [
      'somebody seeks: it is parked no more, and sent again',
      (history) => {
        history.sought.push({ name: 's', begin: 2_900 });
        const left = changesOf(history).slice(0, 4);
        const before = left.at(-1)!.after!;
        const sought = { epoch: 3_000, committed: 0 };
        const taken = { ...sought, epoch: 3_001, owner: 'two', until: 36_000 };
        const gone = { ...LINE, lane, at: 3_000, before: changesOf(history, lane)[0]!.after!, after: undefined };
        const moved = [
          { ...LINE, at: 3_000, before, after: sought },
          { ...LINE, at: 3_001, before: sought, after: taken },
          { ...LINE, at: 3_070, before: taken, after: { epoch: 3_001, committed: 6, push: {} } },
        ];
        history.positions = [...left, changesOf(history, lane)[0]!, gone, ...moved].toSorted((a, b) => a.at - b.at);
        history.marks[1]!.at = 3_000;
        history.calls.splice(2, 2, call(3_010, 3_001, [0, 1, 2, 3, 4, 5], DONE));
      },
    ],
  ])('is right where %s', (_, edit) => {
    expect(kindsAfter(edit)).toEqual([]);
  });

  it.each<[PushViolation['kind'], string, (history: Edited) => void]>([
    [
      'key out of order',
      'the next one is sent all the same',
      ({ calls }) => Object.assign(calls[2]!, { told: FAILED_AT_0 }),
    ],
    [
      'key out of order',
      'its partition sends the next one',
      ({ calls }) => Object.assign(calls[1]!, { records: call(0, 0, [1, 2, 3, 4, 5], DONE).records }),
    ],
    [
      'two calls at once',
      'its partition sends records of it while its lane does',
      ({ calls }) => calls.push({ ...call(3_030, 2_080, [1], DONE) }),
    ],
    [
      'lane ahead of its partition',
      'it has not been passed over yet',
      (history) => {
        for (const { after } of changesOf(history).slice(2)) after!.committed = 1;
      },
    ],
    [
      'key lost',
      'it is back before all of it is given',
      (history) => {
        history.calls.pop();
        for (const { after } of changesOf(history, lane).slice(3)) if (after !== undefined) after.committed = 1;
      },
    ],
    ['key and lane apart', 'it has no mark', ({ marks }) => void marks.splice(0)],
    ['key and lane apart', 'its mark is left', ({ marks }) => void marks.pop()],
    [
      'key and lane apart',
      'its lane is left',
      (history) => {
        history.positions = history.positions.filter(({ after }) => after !== undefined);
      },
    ],
    [
      'key and lane apart',
      'it is still passed over when its lane is gone',
      (history) => {
        for (const { after } of changesOf(history).slice(5)) after!.parked = parked;
      },
    ],
    ['given up too early', 'nobody has asked for it', (history) => giveUp(history, 'parked_too_long')],
    [
      'dead letter without its attempts',
      'it is a dead letter, though nobody has given it up',
      (history) => {
        giveUp(history, 'Refused');
        Object.assign(history.subscriptions[0]!.after!.retry, { maxAttempts: 3 });
      },
    ],
  ])('shows: %s, where %s', (kind, _, edit) => {
    expect(kindsAfter(edit)).toContain(kind);
  });
});
