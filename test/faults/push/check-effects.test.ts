import { describe, expect, it } from 'vitest';
import type { Position } from '../../../shared/domain/position.ts';
import { checkPush } from './check-push.ts';
import type { PushHistory, PushViolation } from './history.ts';
import { call, DONE, type Edited, LINE, rightHistory } from './right-history.ts';

/** As the position is just before each effect; 2 is a dead letter. */
const STANDS = new Map([
  [0, { epoch: 2_000, committed: 0 }],
  [1, { epoch: 2_000, committed: 1 }],
  [3, { epoch: 4_100, committed: 3 }],
  [4, { epoch: 4_100, committed: 4 }],
  [5, { epoch: 4_100, committed: 5 }],
]);
const TIMES = new Map([
  [0, 2_030],
  [1, 2_040],
  [3, 4_230],
  [4, 4_320],
  [5, 4_330],
]);

const NO_LANES = new Map<string, Position>();

/** The right history, by a target that processes each record once. */
function onceAfter(edit: (history: Edited) => void = () => {}): PushViolation['kind'][] {
  const history = rightHistory();
  history.isOnce = true;
  for (const [offset, at] of TIMES) {
    history.effects.push({ ...LINE, at, offset, position: { ...STANDS.get(offset)!, owner: 'one' }, lanes: NO_LANES });
  }
  edit(history);
  return [...new Set(checkPush(history as PushHistory).map(({ kind }) => kind))];
}

/** The dead letter comes back under an epoch of its own, and is gone. */
function redrive({ calls, positions, letterChanges }: Edited): void {
  calls.push({ ...call(5_100, 5_000, [2], DONE), redrives: 1 });
  const before = positions.at(-1)!.after;
  const taken = { epoch: 5_000, committed: 6, owner: 'two', until: 35_000, push: {} };
  positions.push({ ...LINE, at: 5_000, before, after: taken });
  const lies = { redrives: 0, isMarked: false };
  const states = [undefined, lies, { ...lies, isMarked: true }, undefined];
  for (const [i, at] of [4_170, 4_900, 5_200].entries()) {
    letterChanges.push({ ...LINE, at, offset: 2, before: states[i], after: states[i + 1] });
  }
}

const effectOf2 = (at: number, epoch: number) => ({
  ...LINE,
  at,
  offset: 2,
  position: { epoch, committed: 6, owner: 'two' },
  lanes: NO_LANES,
});

describe('a history of effects', () => {
  it.each<[string, (history: Edited) => void]>([
    ['each is done once, by a call that had the record', () => {}],
    [
      'that of a dead letter is done when it comes back',
      (history) => {
        redrive(history);
        history.effects.push(effectOf2(5_130, 5_000));
      },
    ],
  ])('is right where %s', (_, edit) => {
    expect(onceAfter(edit)).toEqual([]);
  });

  it.each<[PushViolation['kind'], string, (history: Edited) => void]>([
    ['effect twice', 'one comes again', ({ effects }) => void effects.push({ ...effects[4]!, at: 4_340 })],
    ['record skipped', 'one is not done, whatever was told', ({ effects }) => void effects.splice(2, 1)],
    [
      'effect of one who was given up',
      'another has the position',
      ({ effects }) => Object.assign(effects[4]!.position!, { epoch: 5_000 }),
    ],
    [
      'effect of one who was given up',
      'the position was let go',
      ({ effects }) => Object.assign(effects[4]!, { position: { epoch: 4_100, committed: 5 } }),
    ],
    [
      'effect of one who was given up',
      'its record was made a dead letter',
      ({ effects }) => void effects.push({ ...effectOf2(4_340, 4_100) }),
    ],
    ['effect missing', 'a dead letter is gone, and nothing done', redrive],
  ])('shows: %s, where %s', (kind, _, edit) => {
    expect(onceAfter(edit)).toContain(kind);
  });
});
