import { ENVIRONMENTS, type Environment } from '../environments.ts';

/** What a target does, for a while. */
export type Mood =
  | 'good'
  | 'slow'
  | 'names'
  | 'names none'
  | 'broken'
  | 'away'
  | 'hangs'
  | 'denied'
  | 'gone'
  | 'part'
  | 'too large'
  | 'hangs at some'
  | 'slow, and names';

export type Source = 'doorbell' | 'stream' | 'sweep';

/** What a run of deliveries is about. Probabilities unless a unit is named. */
export interface PushEnvironment extends Environment {
  readonly subscriptions: number;
  /** What wakes them. */
  readonly sources: readonly Source[];
  /** Of a message: to get lost, to come twice, to come late; of one that is done: to come back all the same. */
  readonly lost: number;
  readonly doubled: number;
  readonly late: number;
  readonly undone: number;
  /** Moods that targets come into, and how often one changes in a phase, at most. */
  readonly moods: readonly Mood[];
  readonly changes: number;
  /** Of records that a target never takes while it is in a mood to look at them; of keys whose records all are such. */
  readonly poison: number;
  readonly poisonKeys: number;
  /** How long each of them is, from when on it was met, ms; empty: for ever. */
  readonly healsMs: readonly number[];
  /** How many keys records have. */
  readonly keys: number;
  /** Of a subscription to have a filter; to begin at the end; to halt at a record that fails. */
  readonly filtered: number;
  readonly latest: number;
  readonly halting: number;
  /** Of a subscription that does not halt: to park keys that fail; per phase, three times: to have them tried, or given up. */
  readonly parking: number;
  readonly acts: number;
  /** Of a subscription, per phase, three times: to do something else with what fails from then on. */
  readonly rethought: number;
  /** Dead letters in a row, of which one is drawn for each subscription. */
  readonly haltsAfter: readonly number[];
  readonly backoffsMs: readonly (readonly [min: number, max: number])[];
  /** Of a delivery, in mid-call: to die, to stand still. */
  readonly dies: number;
  readonly standsStill: number;
  /** Of a target's answer: not to arrive. */
  readonly unanswered: number;
  /** Targets are functions that process each record once. */
  readonly once: boolean;
  /** Per phase. */
  readonly pauses: number;
  readonly seeks: number;
  readonly resubscribed: number;
  readonly grow: number;
  /** Of a subscription, to have its dead letters given back: per phase, three times. */
  readonly redrives: number;
  readonly phaseMs: readonly [number, number];
  /** Per phase, by callers of which each makes some more. */
  readonly appends: readonly [min: number, max: number];
  /** How many messages are worked on at once. */
  readonly concurrency: number;
  readonly timeoutsMs: readonly number[];
  /** A target without moods is to have each record within this, ms, but those of keys that fail; absent: nobody is told when. */
  readonly boundMs?: number;
  /** The mood of those that have none; absent: a good one. */
  readonly mood?: Mood;
}

const byName = (name: string) => ENVIRONMENTS.find((environment) => environment.name === name)!;
const MINUTE = 60_000;
const ALL: readonly Source[] = ['doorbell', 'stream', 'sweep'];
const PERFECT = { loseRequest: 0, loseAnswer: 0, internalError: 0, throttle: 0, slow: 0.05, late: 0 };

const PLAIN: PushEnvironment = {
  ...byName('plain'),
  name: 'deliveries',
  crash: 0.02,
  freeze: 0.01,
  large: 0.05,
  subscriptions: 2,
  sources: ALL,
  lost: 0.1,
  doubled: 0.03,
  late: 0.03,
  undone: 0.03,
  moods: ['good', 'names', 'names none', 'away', 'slow', 'part'],
  changes: 3,
  ...{ poison: 0.15, poisonKeys: 0, healsMs: [], keys: 4 },
  filtered: 0.2,
  latest: 0.3,
  halting: 0.1,
  ...{ parking: 0, acts: 0, rethought: 0 },
  haltsAfter: [3, 10],
  backoffsMs: [
    [10, 5_000],
    [500, 20_000],
    [2_000, 60_000],
  ],
  dies: 0.05,
  standsStill: 0.02,
  unanswered: 0.03,
  once: false,
  pauses: 0.2,
  seeks: 0.1,
  resubscribed: 0,
  grow: 0.1,
  redrives: 0,
  phaseMs: [10_000, 60_000],
  appends: [4, 14],
  concurrency: 50,
  timeoutsMs: [3_000, 8_000],
  pausesMs: [0, 20_000, 2 * MINUTE],
};
/** Nothing of a wake-up's sources gets lost: what is left of them has to do. */
const ALONE: PushEnvironment = {
  ...PLAIN,
  habits: PERFECT,
  crash: 0,
  freeze: 0,
  lost: 0,
  late: 0,
  latest: 0,
  grow: 0,
  pauses: 0,
};

/** Who is quick is served, whatever the others are at. */
const ISOLATION: PushEnvironment = {
  ...ALONE,
  name: 'isolation',
  habits: { ...PERFECT, slow: 0 },
  subscriptions: 4,
  dies: 0,
  standsStill: 0,
  undone: 0,
  unanswered: 0,
  late: 0,
  moods: ['hangs'],
  changes: 1,
  phaseMs: [90_000, 120_000],
  timeoutsMs: [20_000],
  halting: 0,
  skewMs: 0,
  concurrency: 4,
  boundMs: 6_000,
};

const REDRIVES: PushEnvironment = {
  ...PLAIN,
  name: 'redrives',
  moods: ['good', 'names', 'names', 'names none', 'away'],
  ...{ partitions: 1, changes: 2, poison: 0.3, redrives: 0.9, halting: 0, dies: 0.1, standsStill: 0.05 },
};

/** Functions whose effects are done once, with all that may come in between. */
const ONCE: PushEnvironment = {
  ...PLAIN,
  once: true,
  habits: byName('slow').habits,
  partitions: 1,
  moods: ['good', 'slow', 'names', 'names none', 'broken', 'hangs', 'away', 'part'],
  ...{ dies: 0.15, standsStill: 0.1, unanswered: 0.1, poison: 0.2, changes: 4 },
  ...{ seeks: 0.5, resubscribed: 0.3, redrives: 0.6, halting: 0, large: 0.01 },
};

const NEVER = Number.POSITIVE_INFINITY;

/** Keys that fail wait, and everything that may come in between. */
const PARKING: PushEnvironment = {
  ...PLAIN,
  name: 'parked keys',
  moods: ['good', 'slow', 'names', 'names', 'names none', 'hangs', 'away', 'part', 'hangs at some', 'too large'],
  ...{ parking: 1, poison: 0.2, poisonKeys: 0.4, healsMs: [1_000, 20_000, 10 * MINUTE, NEVER], acts: 0.3 },
  ...{ partitions: 1, changes: 3, halting: 0, haltsAfter: [10], appends: [8, 16], phaseMs: [20_000, 60_000] },
};

const FAILING: PushEnvironment = { ...PARKING, moods: ['names', 'names', 'names none', 'good'] };

export const PUSH_ENVIRONMENTS: readonly PushEnvironment[] = [
  PLAIN,
  {
    ...PLAIN,
    name: 'deliveries, harsh',
    habits: byName('harsh').habits,
    moods: ['good', 'names', 'names none', 'away'],
  },
  { ...PLAIN, name: 'deliveries, slow', habits: byName('slow').habits },
  { ...PLAIN, name: 'wake-ups get lost', lost: 0.5, doubled: 0.2, late: 0.2, undone: 0.2 },
  { ...PLAIN, name: 'deliveries die', dies: 0.3, crash: 0.1, undone: 0.1 },
  { ...PLAIN, name: 'deliveries stand still', standsStill: 0.25, freeze: 0.08 },
  { ...PLAIN, name: 'records fail', moods: ['names', 'names none'], poison: 0.4, changes: 1, halting: 0.2 },
  { ...PLAIN, name: 'an hour of nothing but 500', moods: ['broken'], changes: 1, phaseMs: [65 * MINUTE, 70 * MINUTE] },
  { ...PLAIN, name: 'targets stop', moods: ['good', 'denied', 'gone', 'too large', 'hangs'], changes: 4 },
  { ...PLAIN, name: 'administrators', pauses: 0.9, seeks: 0.9, grow: 0.3, moods: ['good', 'slow', 'names'] },
  { ...PLAIN, name: 'subscriptions made again', resubscribed: 0.9, seeks: 0.2, latest: 0.5 },
  { ...PLAIN, name: 'topics of subscriptions', recreate: 0.7, grow: 0.6, habits: byName('slow').habits },
  { ...PLAIN, name: 'deliveries, skewed clocks', skewMs: 3_000, dies: 0.15 },
  { ...PLAIN, name: 'deliveries, wrong clocks', skewMs: 9_000, dies: 0.15 },
  {
    ...PLAIN,
    name: 'retention overtakes',
    retentionMs: 60 * MINUTE,
    moods: ['away', 'denied', 'good'],
    pauses: 0.6,
    latest: 0,
    backoffsMs: [[2_000, 300_000]],
    pausesMs: [70 * MINUTE, 130 * MINUTE],
  },
  { ...PLAIN, name: 'payloads of deliveries', spillAboveBytes: 40, partitions: 1 },
  { ...PLAIN, name: 'long pauses', backoffsMs: [[1_000_000, 1_200_000]], moods: ['away', 'names none'], changes: 2 },
  { ...ALONE, name: 'the doorbell alone', sources: ['doorbell'], dies: 0, standsStill: 0 },
  { ...ALONE, name: 'the stream alone', sources: ['stream'] },
  { ...ALONE, name: 'the sweep alone', sources: ['sweep'] },
  ISOLATION,
  REDRIVES,
  {
    ...REDRIVES,
    name: 'redrives in vain',
    moods: ['names', 'names none'],
    ...{ subscriptions: 1, changes: 0, poison: 0.5, redrives: 1, pauses: 0.9, latest: 0, filtered: 0 },
    haltsAfter: [3],
    backoffsMs: [[10, 100]],
    phaseMs: [60_000, 120_000],
  },
  { ...ONCE, name: 'effects once' },
  { ...ONCE, name: 'effects once, harsh', habits: byName('harsh').habits, resubscribed: 0, recreate: 0.3 },
  PARKING,
  { ...FAILING, name: 'parked keys, harsh', habits: byName('harsh').habits, dies: 0.15 },
  { ...FAILING, name: 'parked keys, deliveries die', dies: 0.3, standsStill: 0.15, crash: 0.1, freeze: 0.08 },
  { ...PARKING, name: 'parked keys, administrators', pauses: 0.9, seeks: 0.9, resubscribed: 0.4 },
  { ...FAILING, name: 'parked keys, given up', acts: 0.9, rethought: 0.5, redrives: 0.3 },
  {
    ...FAILING,
    name: 'parked keys, redriven',
    moods: ['slow, and names', 'names', 'slow', 'good'],
    ...{ acts: 0.9, redrives: 0.9, poison: 0.3, keys: 2, subscriptions: 1, filtered: 0, latest: 0 },
    ...{ healsMs: [10 * MINUTE, NEVER], backoffsMs: [[10, 3_000]], timeoutsMs: [3_000] },
  },
  { ...PARKING, name: 'parked keys, topics', recreate: 0.7, grow: 0.6, seeks: 0.2 },
  { ...PARKING, name: 'parked keys, skewed clocks', skewMs: 3_000, dies: 0.15, lost: 0.5, late: 0.2 },
  {
    ...PARKING,
    name: 'parked keys, retention overtakes',
    ...{ retentionMs: 60 * MINUTE, latest: 0, pauses: 0.6, healsMs: [10 * MINUTE, NEVER, NEVER] },
    backoffsMs: [[2_000, 300_000]],
    pausesMs: [50 * MINUTE, 58 * MINUTE, 70 * MINUTE],
  },
  {
    ...PARKING,
    name: 'parked keys, too many',
    moods: ['names'],
    ...{ keys: 1_000, poison: 0.7, healsMs: [], changes: 1, large: 0.8, latest: 0, filtered: 0 },
    ...{ seeks: 0, acts: 0.1, backoffsMs: [[10, 100]], phaseMs: [60_000, 120_000], appends: [14, 24] },
    ...{ lost: 0, late: 0, dies: 0.01, standsStill: 0.01, unanswered: 0 },
  },
  {
    ...PARKING,
    name: 'parked keys, busy',
    moods: ['slow, and names', 'slow', 'slow, and names', 'names'],
    ...{ changes: 6, appends: [50, 80], large: 0, latest: 0, pauses: 0, timeoutsMs: [3_000], healsMs: [1_000, 8_000] },
    ...{ backoffsMs: [[10, 3_000]], phaseMs: [50_000, 70_000] },
  },
  { ...ONCE, name: 'parked keys, effects once', parking: 1, poisonKeys: 0.2, healsMs: PARKING.healsMs, acts: 0.3 },
  {
    ...ISOLATION,
    name: 'parked keys, isolation',
    moods: ['hangs at some'],
    ...{ parking: 1, poison: 0, poisonKeys: 0.4, keys: 8, mood: 'names', boundMs: 10_000 },
    ...{ backoffsMs: [[10, 20_000]], timeoutsMs: [3_000] },
  },
];
