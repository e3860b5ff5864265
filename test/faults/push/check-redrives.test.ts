import { describe, expect, it } from 'vitest';
import { checkPush } from './check-push.ts';
import type { LetterState, PushHistory, PushViolation } from './history.ts';
import { call, DONE, type Edited, FAILED, LINE, rightHistory } from './right-history.ts';

const lies = (redrives: number): LetterState => ({ redrives, isMarked: false });
const marked = (redrives: number): LetterState => ({ redrives, isMarked: true });

/** The dead letter of the right history is given back, fails, is given back once more, and is done. */
function redriven(edit: (history: Edited) => void = () => {}): PushViolation['kind'][] {
  const history = rightHistory();
  const states = [undefined, lies(0), marked(0), lies(1), marked(1), undefined];
  const times = [4_170, 5_000, 5_200, 6_000, 6_200];
  for (const [i, at] of times.entries()) {
    history.letterChanges.push({ ...LINE, at, offset: 2, before: states[i], after: states[i + 1] });
  }
  const given = (sentAt: number, told: typeof DONE | typeof FAILED, redrives: number) => {
    history.calls.push({ ...call(sentAt, 5_000 + 1_000 * (redrives - 1), [2], told), redrives });
  };
  const { committed } = history.positions.at(-1)!.after!;
  for (const epoch of [5_000, 6_000]) {
    const before = history.positions.at(-1)!.after;
    const after = { epoch, committed, owner: `redrive ${epoch}`, until: epoch + 30_000, push: {} };
    history.positions.push({ ...LINE, at: epoch, before, after });
    history.positions.push({ ...LINE, at: epoch + 300, before: after, after: { epoch, committed, push: {} } });
  }
  given(5_100, FAILED, 1);
  given(6_100, DONE, 2);
  edit(history);
  return [...new Set(checkPush(history as PushHistory).map(({ kind }) => kind))];
}

describe('a history of redrives', () => {
  it('is right where a letter lands again or is done, each after its call', () => {
    expect(redriven()).toEqual([]);
  });

  it.each<[PushViolation['kind'], string, (history: Edited) => void]>([
    [
      'redriven letter lost',
      'the letter is gone that failed',
      ({ calls }) => Object.assign(calls[7]!, { told: FAILED }),
    ],
    ['redriven letter lost', 'the letter is gone before it was called with', ({ calls }) => void calls.pop()],
    [
      'landed without a failure',
      'it lands though it was done',
      ({ calls }) => Object.assign(calls[6]!, { told: DONE }),
    ],
    [
      'redrives stopped for nothing',
      'it is taken back',
      ({ letterChanges }) => Object.assign(letterChanges[2]!, { after: lies(0) }),
    ],
    [
      'redriven to another',
      'there is no such letter',
      ({ calls }) => Object.assign(calls[7]!.records[0]!, { offset: 3 }),
    ],
    [
      'called without owning',
      'the position was never taken',
      ({ calls }) => Object.assign(calls[7]!, { epoch: 7_777 }),
    ],
    [
      'redriven out of order',
      'one before it waits for longer than a call may',
      ({ letterChanges }) =>
        letterChanges.unshift({ ...LINE, at: -100_000, offset: 1, before: undefined, after: marked(0) }),
    ],
  ])('shows: %s, where %s', (kind, _, edit) => {
    expect(redriven(edit)).toContain(kind);
  });
});
