import { RETENTION_FOREVER } from '../../shared/domain/limits.ts';
import type { NetworkHabits } from './simulator/network.ts';
import type { Random } from './simulator/random.ts';

/** What a run is about: how the world behaves, and what its callers do. Probabilities unless a unit is named. */
export interface Environment {
  readonly name: string;
  readonly habits: NetworkHabits;
  /** Hosts' clocks differ from the services' by up to this, ms. */
  readonly skewMs: number;
  readonly partitions: number;
  readonly retentionMs: number;
  /** Of a request to have a key; of its key to be used by several callers at once, or for another request. */
  readonly keyed: number;
  readonly raced: number;
  readonly reused: number;
  /** Of an append to be a transaction of its caller's. */
  readonly prepared: number;
  /** Of a batch to have dozens of records. */
  readonly large: number;
  /** Of a record to have an upload as its value. */
  readonly uploads: number;
  /** Of a host to die, or to stand still, while it is called. */
  readonly crash: number;
  readonly freeze: number;
  /** Per phase: that nobody reads; bursts of writers that die after their reservation; throttled partitions; changes of topics. */
  readonly unread: number;
  readonly crowd: number;
  readonly throttled: number;
  readonly recreate: number;
  readonly reconfigure: number;
  /** Batches with more bytes than this are spilled. */
  readonly spillAboveBytes: number;
  /** What may lie between two phases, ms. */
  readonly pausesMs: readonly number[];
}

const HOUR = 3_600_000;
const MINUTE = 60_000;
const WEEK = 168 * HOUR;
const NEVER = Number.MAX_SAFE_INTEGER;

const LOSSY: NetworkHabits = {
  loseRequest: 0.03,
  loseAnswer: 0.04,
  internalError: 0.02,
  throttle: 0.02,
  slow: 0.06,
  late: 0.01,
};
const HARSH: NetworkHabits = {
  loseRequest: 0.12,
  loseAnswer: 0.15,
  internalError: 0.05,
  throttle: 0.05,
  slow: 0.15,
  late: 0.04,
};
const SLOW: NetworkHabits = { ...LOSSY, slow: 0.25, late: 0.03 };

const PLAIN: Environment = {
  name: 'plain',
  habits: LOSSY,
  skewMs: 50,
  partitions: 2,
  retentionMs: WEEK,
  keyed: 0,
  raced: 0,
  reused: 0,
  prepared: 0,
  large: 0.03,
  uploads: 0,
  crash: 0.05,
  freeze: 0.02,
  unread: 0.1,
  crowd: 0,
  throttled: 0,
  recreate: 0,
  reconfigure: 0,
  spillAboveBytes: NEVER,
  pausesMs: [0, 3_000, 20_000],
};
const KEYS: Environment = { ...PLAIN, name: 'keys', keyed: 0.8, raced: 0.2, reused: 0.1, crash: 0.12 };
const RETENTION: Environment = {
  ...KEYS,
  name: 'retention',
  retentionMs: HOUR,
  keyed: 0.4,
  freeze: 0.06,
  unread: 0.6,
  crowd: 0.5,
  pausesMs: [10 * MINUTE, 28 * MINUTE, 45 * MINUTE, 59 * MINUTE, 70 * MINUTE, 26 * HOUR],
};

export const ENVIRONMENTS: readonly Environment[] = [
  PLAIN,
  { ...PLAIN, name: 'harsh', habits: HARSH, keyed: 0.3 },
  { ...PLAIN, name: 'slow', habits: SLOW, partitions: 1 },
  KEYS,
  { ...KEYS, name: 'key race', habits: SLOW, raced: 0.8, partitions: 1 },
  {
    ...PLAIN,
    name: 'crowd',
    partitions: 1,
    crowd: 0.9,
    unread: 0.8,
    large: 0.2,
    pausesMs: [2_500, 45 * MINUTE, 2 * HOUR],
  },
  RETENTION,
  { ...RETENTION, name: 'retention changes', reconfigure: 0.6, crowd: 0.3 },
  {
    ...KEYS,
    name: 'for ever',
    retentionMs: RETENTION_FOREVER,
    unread: 0.3,
    crowd: 0.6,
    large: 0.2,
    partitions: 1,
    pausesMs: [20_000, 26 * HOUR, 50 * HOUR],
  },
  { ...KEYS, name: 'topics', recreate: 0.8, reconfigure: 0.2, habits: SLOW },
  { ...RETENTION, name: 'frozen', freeze: 0.25, crash: 0.02, habits: SLOW },
  { ...KEYS, name: 'skewed clocks', skewMs: 3_000, keyed: 0.4 },
  { ...RETENTION, name: 'wrong clocks', skewMs: 30_000, keyed: 0.4 },
  { ...KEYS, name: 'throttled', throttled: 0.9, keyed: 0.4 },
  { ...KEYS, name: 'spilled', spillAboveBytes: 40, partitions: 1, habits: SLOW, freeze: 0.06 },
  { ...KEYS, name: 'uploads', uploads: 0.5, keyed: 0.5, raced: 0.4, pausesMs: [3_000, 30 * MINUTE, 25 * HOUR] },
  {
    ...RETENTION,
    name: 'uploads that expire',
    uploads: 0.5,
    crowd: 0,
    unread: 0.2,
    spillAboveBytes: 40,
    recreate: 0.3,
  },
  { ...PLAIN, name: 'prepared', prepared: 0.7, habits: SLOW, crash: 0.1, freeze: 0.06, unread: 0.3 },
  { ...RETENTION, name: 'prepared, and late', prepared: 0.6, freeze: 0.15, recreate: 0.3, habits: HARSH },
];

export function environmentOf(seed: number): Environment {
  return ENVIRONMENTS[seed % ENVIRONMENTS.length]!;
}

/** ms by which one more host's clock is ahead. */
export function skewOf({ skewMs }: Environment, random: Random): number {
  return random.chance(0.3) ? 0 : random.between(-skewMs, skewMs);
}
