import { ENVIRONMENTS, type Environment } from '../environments.ts';

/** What a group's run is about. Probabilities unless a unit is named. */
export interface GroupEnvironment extends Environment {
  readonly sessionsMs: readonly number[];
  /** Members that a phase begins with, at most, and how long it lasts, ms. */
  readonly members: number;
  readonly phaseMs: readonly [number, number];
  /** Of an answer that was made not to arrive. */
  readonly lostAnswers: number;
  /** Of a member: never to release; to commit by itself and late; to have an `instanceId`, that others have too. */
  readonly stubborn: number;
  readonly late: number;
  readonly statics: number;
  readonly twins: number;
  /** Of a member, between two polls: to stand still, to die, to leave, to handle for longer than its session. */
  readonly standsStill: number;
  readonly dies: number;
  readonly leaves: number;
  readonly slow: number;
  /** Of whoever dies, or is not known any more: to come back with what it knew. */
  readonly comesBack: number;
  /** Of a group to begin at the end of what there is. */
  readonly latest: number;
  /** Per phase: all members one after the other; a reset, the group's deletion, more partitions, commits from outside. */
  readonly rolling: number;
  readonly reset: number;
  readonly regroup: number;
  readonly grow: number;
  readonly outside: number;
  /** Instead of phases: a world in which nothing goes wrong, and what is to be seen in it. */
  readonly calm?: 'mass start' | 'spares';
}

const byName = (name: string) => ENVIRONMENTS.find((environment) => environment.name === name)!;

const PLAIN: GroupEnvironment = {
  ...byName('plain'),
  name: 'groups',
  partitions: 4,
  crash: 0.02,
  freeze: 0.01,
  large: 0,
  sessionsMs: [6_000, 6_000, 9_000],
  members: 5,
  phaseMs: [20_000, 70_000],
  lostAnswers: 0.05,
  stubborn: 0.05,
  late: 0.1,
  statics: 0.2,
  twins: 0,
  standsStill: 0.02,
  dies: 0.02,
  leaves: 0.02,
  slow: 0.02,
  comesBack: 0.5,
  latest: 0.2,
  rolling: 0,
  reset: 0.1,
  regroup: 0,
  grow: 0.05,
  outside: 0.1,
  pausesMs: [0, 5_000, 20_000],
};

export const GROUP_ENVIRONMENTS: readonly GroupEnvironment[] = [
  PLAIN,
  { ...PLAIN, name: 'groups, harsh', habits: byName('harsh').habits, lostAnswers: 0.2 },
  { ...PLAIN, name: 'groups, slow', habits: byName('slow').habits, members: 3 },
  { ...PLAIN, name: 'members stand still', standsStill: 0.15, slow: 0.1, comesBack: 0.9 },
  { ...PLAIN, name: 'members never release', stubborn: 0.5, late: 0.3, dies: 0.06, leaves: 0.06 },
  { ...PLAIN, name: 'late commits', late: 0.8, outside: 0.4, standsStill: 0.06 },
  { ...PLAIN, name: 'static members', statics: 1, twins: 0.3, dies: 0.1, rolling: 0.4 },
  { ...PLAIN, name: 'rolling restarts', rolling: 1, statics: 0.3, crash: 0.08, phaseMs: [20_000, 30_000] },
  { ...PLAIN, name: 'resets', reset: 0.9, outside: 0.6, leaves: 0.1, pausesMs: [20_000, 40_000] },
  { ...PLAIN, name: 'groups made again', regroup: 0.9, late: 0.4, comesBack: 0.9 },
  { ...PLAIN, name: 'topics made again', recreate: 0.8, grow: 0.6, latest: 0.5 },
  { ...PLAIN, name: 'begun at the end', latest: 1, grow: 0.5, partitions: 3, dies: 0.08, lostAnswers: 0.2 },
  { ...PLAIN, name: 'groups, skewed clocks', skewMs: 900, standsStill: 0.05, stubborn: 0.2 },
  { ...PLAIN, name: 'groups, wrong clocks', skewMs: 20_000, standsStill: 0.05, stubborn: 0.2 },
  { ...PLAIN, name: 'mass start', calm: 'mass start', partitions: 64, latest: 0, skewMs: 0, statics: 0 },
  { ...PLAIN, name: 'spares', calm: 'spares', partitions: 3, latest: 0, skewMs: 0, statics: 0 },
];
