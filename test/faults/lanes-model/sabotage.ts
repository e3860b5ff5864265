import { type Protocol, RIGHT } from './protocol.ts';
import { ALL, VISIBLE, type Wrong } from './rules.ts';
import type { Faults } from './state.ts';

export const NO_FAULTS: Faults = { crashes: 0, failures: 0, lost: 0, stalls: 0, seeks: 0 };

interface Sabotage {
  readonly protocol: Protocol;
  /** Where it matters. */
  readonly faults: Faults;
  readonly asked: readonly Wrong[];
  /** What is noticed first. */
  readonly wrong: Wrong;
}

/** One record fails, and what else is told. */
function sabotage(change: Partial<Protocol>, faults: Partial<Faults>, wrong: Wrong, asked = VISIBLE): Sabotage {
  return { protocol: { ...RIGHT, ...change }, faults: { ...NO_FAULTS, failures: 1, ...faults }, asked, wrong };
}

/** A second way to keep a take from being made by what a hand-back has changed since. */
export const TAKE_SEES_PARKED: Protocol = { ...RIGHT, handBackRaisesEpoch: false, takeSeesParked: true };

/** The parking of keys, each time with one thing wrong; by what users see of it, where they see anything. */
export const SABOTAGES: Readonly<Record<string, Sabotage>> = {
  'a hand-back that leaves the epoch as it is, and a take by what was before it': sabotage(
    { handBackRaisesEpoch: false },
    { stalls: 1 },
    'passed',
  ),
  'the same, where the hand-back lands late': sabotage({ handBackRaisesEpoch: false }, { lost: 1 }, 'passed'),
  'a parking without an answer, after which its record is taken for settled': sabotage(
    { letGoWrites: 'what was meant' },
    { lost: 1 },
    'passed',
  ),
  'a key that is passed over before it has a lane': sabotage({ park: 'position first' }, {}, 'passed'),
  'a lane that is made before its key is passed over': sabotage({ park: 'lane first' }, { crashes: 1 }, 'stuck'),
  'a key that is back before its lane is removed': sabotage({ handBack: 'position first' }, { crashes: 1 }, 'stuck'),
  'a key that is back before its lane is removed, and a run that stands still': sabotage(
    { handBack: 'position first' },
    { stalls: 1 },
    'two calls',
  ),
  'a lane that is removed before its key is back': sabotage({ handBack: 'lane first' }, { crashes: 1 }, 'passed'),
  'a key that is back before the rest of its lane is delivered': sabotage(
    { handBack: 'early' },
    { stalls: 1 },
    'order',
  ),
  'a hand-back that does not take the lane': sabotage({ handBackTakesLane: false }, {}, 'two calls'),
  'a lane that removes itself': sabotage({ laneEnd: 'removes itself' }, {}, 'passed'),
  'a lane that reads on past its position': sabotage({ laneReach: 'log' }, {}, 'lane ahead', ALL),
  'a seek that leaves the lane': sabotage({ seekRemovesLane: false }, { failures: 2, seeks: 1 }, 'two calls'),
  // Where the hand-back raises the epoch, no run whose memory is wrong can write: nothing comes of it.
  'a commit that writes what its run remembers of parked keys': {
    ...sabotage({}, { lost: 1 }, 'passed'),
    protocol: { ...TAKE_SEES_PARKED, commitWritesParked: true },
  },
};
