import type { Position } from '../../../shared/domain/position.ts';
import type { Subscription } from '../../../shared/domain/subscription.ts';
import type { PositionChange, PushHistory, TargetCall } from './history.ts';

export const GROUP = { name: 's', id: '01JGR00P000000000000000000' };
export const LINE = { groupId: GROUP.id, topicId: '01JT0P1C000000000000000000', partition: 0 };
const DAY = 24 * 3_600_000;
export const REFUSED = { name: 'Refused', message: 'not this one' };
export const DONE = { kind: 'done' } as const;
export const FAILED = { kind: 'failed', error: REFUSED } as const;

type Editable<T> = T extends (...given: never[]) => unknown ? T : { -readonly [K in keyof T]: Editable<T[K]> };
export type Edited = Editable<PushHistory>;

export const recordAt = (offset: number) => ({ offset, record: `r${offset}` });

/** A call of these records that takes 50 ms. */
export function call(
  sentAt: number,
  epoch: number,
  offsets: readonly number[],
  told: TargetCall['told'] & object,
): Edited['calls'][number] {
  const times = { sentAt, begin: sentAt + 10, end: sentAt + 40, toldAt: sentAt + 50, isInTime: true };
  return { ...LINE, name: GROUP.name, epoch, records: offsets.map(recordAt), told, ...times };
}

/** Each as it was left by the one before. */
function changes(states: readonly (readonly [at: number, after: Position])[]): PositionChange[] {
  return states.map(([at, after], i) => ({ ...LINE, at, before: states[i - 1]?.[1], after }));
}

const failure = (span: number, end: number, retryAt: number) => {
  return { retryAt, attempts: 0, absences: 0, span, end, firstFailedAt: 2_150 };
};

/**
 * Six records, one a slot. 0 and 1 are delivered; 2 to 4 fail, 2 and 3 fail, 2 fails alone and becomes a dead letter; 3 is
 * delivered alone, 4 and 5 together. A batch that fails is let go, and taken by another run when its time has come.
 */
export function rightHistory(): Edited {
  const [second, third] = [failure(2, 5, 3_000), failure(1, 4, 4_000)];
  const settings = { retry: { maxAttempts: 1, minBackoffMs: 10, maxBackoffMs: 1_000 }, haltAfterDeadLetters: 10 };
  const subscription = { ...settings, group: GROUP, revision: 0, state: 'active', topics: ['orders'] };
  const slots = [0, 1, 2, 3, 4, 5].map((offset) => {
    return { ...LINE, base: offset, last: offset, records: [`r${offset}`], spilled: false, at: 0, storedAt: 10 };
  });
  const history: PushHistory = {
    slots,
    subscriptions: [{ at: 900, before: undefined, after: subscription as unknown as Subscription }],
    made: [{ groupId: GROUP.id, end: 1_100 }],
    positions: changes([
      [1_000, { epoch: 1_000, committed: 0 }],
      [2_000, { epoch: 2_000, committed: 0, owner: 'one', until: 35_000 }],
      [2_080, { epoch: 2_000, committed: 2, owner: 'one', until: 35_000, push: {} }],
      [2_170, { epoch: 2_170, committed: 2, push: { failure: second } }],
      [3_100, { epoch: 3_100, committed: 2, owner: 'two', until: 36_000, push: { failure: second } }],
      [3_170, { epoch: 3_170, committed: 2, push: { failure: third } }],
      [4_100, { epoch: 4_100, committed: 2, owner: 'three', until: 37_000, push: { failure: third } }],
      [4_190, { epoch: 4_100, committed: 3, owner: 'three', until: 37_000, push: { failure: third } }],
      [4_270, { epoch: 4_100, committed: 4, owner: 'three', until: 37_000, push: {} }],
      [4_370, { epoch: 4_100, committed: 6, push: {} }],
    ]),
    calls: [
      call(2_010, 2_000, [0, 1], DONE),
      call(2_100, 2_000, [2, 3, 4], FAILED),
      call(3_110, 3_100, [2, 3], FAILED),
      call(4_110, 4_100, [2], FAILED),
      call(4_200, 4_100, [3], DONE),
      call(4_300, 4_100, [4, 5], DONE),
    ],
    letterChanges: [],
    letters: [{ ...LINE, at: 4_170, offset: 2, attempts: 1, error: 'Refused' }],
    told: [{ group: GROUP.name, id: `${LINE.topicId}.0.2`, at: 4_180 }],
    ...{ effects: [], isOnce: false, sought: [], acted: [], marks: [], topicsGone: new Map() },
    ...{ retentionMs: 7 * DAY, skewMs: 0, prompt: undefined, keys: 4 },
    reservedAt: (_, __, offset) => slots[offset]?.at,
  };
  return history as Edited;
}

/** Something more happens to the position. */
export function goOn({ positions }: Edited, at: number, change: Partial<Position>): void {
  const before = positions.at(-1)!.after!;
  positions.push({ ...LINE, at, before, after: { ...before, ...change } });
}

/** Somebody moves it from outside. */
export function move(history: Edited, at: number, committed: number): void {
  goOn(history, at, { committed, epoch: at });
  const { owner: _, until: __, push: ___, ...free } = history.positions.at(-1)!.after!;
  history.positions.at(-1)!.after = free;
}
