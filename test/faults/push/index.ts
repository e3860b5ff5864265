import type { Subscription } from '../../../shared/domain/subscription.ts';
import { laneOf } from '../../../shared/wire/lane-of.ts';
import type { HeldSlot } from '../simulator/mirror.ts';
import {
  type Effect,
  type KeptLetter,
  type LetterChange,
  laneLineOf,
  lineOf,
  type PositionChange,
  type PushHistory,
  type TargetCall,
} from './history.ts';
import { keyOf } from './record-sink.ts';

/** What one subscription's position in one partition has gone through, in the order of time. */
export interface LineHistory {
  readonly line: string;
  /** The lane of a parked key: what is told here is its position's, and calls are those for it. */
  readonly lane?: string;
  readonly name: string;
  readonly groupId: string;
  readonly topicId: string;
  readonly partition: number;
  readonly changes: readonly PositionChange[];
  /** By when they were sent; of records as they lie. */
  readonly calls: readonly TargetCall[];
  /** With those for all of the partition's parked keys. */
  readonly allCalls: readonly TargetCall[];
  /** Of those that came back from the dead letters. */
  readonly redrives: readonly TargetCall[];
  readonly letterChanges: readonly LetterChange[];
  readonly letters: ReadonlyMap<number, KeptLetter>;
  readonly effects: readonly Effect[];
  /** Its target processes each record once. */
  readonly isOnce: boolean;
  readonly slots: readonly HeldSlot[];
  /** How many keys records have. */
  readonly keys: number;
  /** As it was first. */
  readonly subscription: Subscription;
  /** Keys that fail were parked, at some time. */
  readonly parks: boolean;
  /** When its name was taken away. */
  readonly deletedAt: number;
}

/** Whether a record is one of this line's, where so many keys are passed over: a lane has those of its key alone. */
export function isOfLine(
  { lane, keys }: Pick<LineHistory, 'lane' | 'keys'>,
  record: string,
  parked?: ReadonlySet<string>,
): boolean {
  const key = keyOf(record, keys);
  const its = key === null ? undefined : laneOf(Buffer.from(key));
  if (lane !== undefined) return its === lane;
  return its === undefined || !parked?.has(its);
}

/** Sorts a history by positions. Those of groups that never had a name are none of anybody's. */
export function linesOf(history: PushHistory): LineHistory[] {
  const changes = groupBy(history.positions, laneLineOf);
  const asTheyLie = history.calls.filter(({ redrives }) => redrives === undefined);
  const calls = groupBy(asTheyLie, laneLineOf);
  const allCalls = groupBy(asTheyLie, lineOf);
  const redrives = groupBy(
    history.calls.filter(({ redrives }) => redrives !== undefined),
    lineOf,
  );
  const letterChanges = groupBy(history.letterChanges, lineOf);
  const letters = groupBy(history.letters, lineOf);
  const effects = groupBy(history.effects, lineOf);
  const slots = groupBy(history.slots, ({ topicId, partition }) => `${topicId}.${partition}`);
  for (const list of slots.values()) list.sort((a, b) => a.base - b.base);
  const first = new Map<string, Subscription>();
  const parks = new Set<string>();
  const deletedAt = new Map<string, number>();
  for (const { at, before, after } of history.subscriptions) {
    if (after !== undefined && !first.has(after.group.id)) first.set(after.group.id, after);
    if (after?.onFailure === 'park') parks.add(after.group.id);
    if (before !== undefined && after === undefined) deletedAt.set(before.group.id, at);
  }
  return [...changes].flatMap(([whole, list]): LineHistory[] => {
    const { groupId, topicId, partition, lane } = list[0]!;
    const line = lineOf(list[0]!);
    const subscription = first.get(groupId);
    if (subscription === undefined) return [];
    return [
      {
        ...(lane !== undefined && { lane }),
        ...{ line, groupId, topicId, partition, subscription, name: subscription.group.name, changes: list },
        ...{ calls: calls.get(whole) ?? [], allCalls: allCalls.get(line) ?? [] },
        ...{ parks: parks.has(groupId), keys: history.keys },
        redrives: lane === undefined ? (redrives.get(line) ?? []) : [],
        letterChanges: lane === undefined ? (letterChanges.get(line) ?? []) : [],
        ...{ effects: effects.get(line) ?? [], isOnce: history.isOnce },
        // One that was delivered after all may be kept again, by one who was fenced or after a seek: the first one counts.
        letters: new Map((letters.get(line) ?? []).toReversed().map((letter) => [letter.offset, letter])),
        slots: slots.get(`${topicId}.${partition}`) ?? [],
        deletedAt: deletedAt.get(groupId) ?? Number.POSITIVE_INFINITY,
      },
    ];
  });
}

/** The slots, in order, that have offsets from `from` on and below `to`. */
export function slotsBetween(slots: readonly HeldSlot[], from: number, to: number): HeldSlot[] {
  return slots.filter(({ base, last, records }) => records.length > 0 && last >= from && base < to);
}

/** What is kept of how it went, when somebody from outside changes a position. */
const COUNTS: ReadonlySet<string> = new Set(['passed', 'settled', 'isReady', 'expired']);

/** A change of a position by somebody from outside: it is free, and nothing is remembered of how it went. */
export function isForeign({ before, after }: PositionChange): boolean {
  if (before === undefined || after === undefined) return false;
  const isForgotten = Object.keys(after.push ?? {}).every((name) => COUNTS.has(name));
  return after.owner === undefined && isForgotten && after.epoch > before.epoch;
}

export function isTake({ before, after }: PositionChange): boolean {
  return after?.owner !== undefined && after.owner !== before?.owner;
}

function groupBy<T>(list: readonly T[], keyOf: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of list) {
    const key = keyOf(one);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [one]);
    else known.push(one);
  }
  return groups;
}
