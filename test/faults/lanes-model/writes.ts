import type { Protocol } from './protocol.ts';
import { actors, type Hold, type LaneItem, type PositionItem, type Run, type State } from './state.ts';

export type Of = 'position' | 'lane';

function raiseEpoch(state: State, of: Of, by?: Run): void {
  for (const actor of actors(state)) if (actor !== by) actor[of].knows = false;
  if (by !== undefined) by[of].knows = true;
}

function disown(state: State, of: Of): void {
  for (const actor of actors(state)) actor[of].owns = false;
  const item = state[of];
  if (item !== undefined) Object.assign(item, { owned: false, expired: false });
}

export const isMine = ({ owns, knows }: Hold) => owns && knows;

function take(state: State, of: Of, run: Run, isAsSeen: boolean): boolean {
  const item = state[of];
  if (item === undefined || !run[of].knows || !isAsSeen || (item.owned && !item.expired)) return false;
  disown(state, of);
  item.owned = true;
  run[of].owns = true;
  raiseEpoch(state, of, run);
  return true;
}

/** What the owner of a position writes down. @returns false: it is not, or no longer, its owner */
function step(state: State, run: Run, to: Partial<PositionItem>): boolean {
  const { position } = state;
  if (!isMine(run.position) || position.committed > (to.committed ?? Infinity)) return false;
  Object.assign(position, to, { expired: false });
  return true;
}

function stepLane(state: State, run: Run, to: Partial<LaneItem>, ends: { release?: true; raise?: true } = {}): boolean {
  if (state.lane === undefined || !isMine(run.lane)) return false;
  Object.assign(state.lane, to, { expired: false });
  if (ends.raise) raiseEpoch(state, 'lane', run);
  if (ends.release) disown(state, 'lane');
  return true;
}

function putLane(state: State, committed: number): void {
  disown(state, 'lane');
  raiseEpoch(state, 'lane');
  state.lane = { committed, owned: false, expired: false, ready: false };
}

function removeLane(state: State): void {
  disown(state, 'lane');
  raiseEpoch(state, 'lane');
  state.lane = undefined;
}

/** Somebody who does not own the position sends it back to where the log begins. */
export function seek(state: State, { seekRemovesLane }: Protocol): void {
  disown(state, 'position');
  raiseEpoch(state, 'position');
  Object.assign(state.position, { committed: 0, parked: false });
  if (seekRemovesLane) removeLane(state);
  state.delivered = 0;
}

function park(state: State, run: Run, part: 'whole' | 'position' | 'lane'): boolean {
  if (part !== 'lane' && !step(state, run, { committed: run.failed + 1, parked: true })) return false;
  if (part !== 'lane') raiseEpoch(state, 'position', run);
  if (part !== 'position') putLane(state, run.failed);
  return true;
}

function handBack(state: State, run: Run, part: 'whole' | 'position' | 'lane', protocol: Protocol): boolean {
  const { position } = state;
  const [needsPosition, needsLane] = [part !== 'lane', part !== 'position' && protocol.handBackTakesLane];
  if (needsPosition && !(isMine(run.position) && position.committed === run.committed)) return false;
  if (needsLane && !isMine(run.lane)) return false;
  if (needsPosition) {
    position.parked = false;
    if (protocol.handBackRaisesEpoch) raiseEpoch(state, 'position', run);
  }
  if (part !== 'position') removeLane(state);
  return true;
}

/** A lane that removes itself relies on the position being where it was. */
function removeItself(state: State, run: Run): boolean {
  if (!isMine(run.lane) || state.position.committed !== run.committed) return false;
  state.position.parked = false;
  removeLane(state);
  return true;
}

const FIRST = { 'one write': 'whole', 'position first': 'position', 'lane first': 'lane', early: 'lane' } as const;
const SECOND = { 'one write': 'whole', 'position first': 'lane', 'lane first': 'position', early: 'lane' } as const;

/** Applies the write at which a run is, if its conditions hold. @returns whether they did */
export function write(state: State, run: Run, protocol: Protocol): boolean {
  const { position } = state;
  const remembered = protocol.commitWritesParked ? { parked: run.parked } : {};
  switch (run.stage) {
    case 'take': {
      const parks = !protocol.takeSeesParked || position.parked === run.parked;
      return take(state, 'position', run, position.committed === run.committed && parks);
    }
    case 'take lane':
    case 'take own lane':
      return take(state, 'lane', run, state.lane?.committed === run.laneCommitted);
    case 'top':
      return step(state, run, {}); // renews
    case 'work':
      return stepLane(state, run, {});
    case 'commit':
      return step(state, run, { committed: run.next, ...remembered });
    case 'park':
      return park(state, run, FIRST[protocol.park]);
    case 'park, second write':
      return park(state, run, SECOND[protocol.park]);
    case 'unpark':
      return handBack(state, run, 'position', protocol);
    case 'hand back':
      return handBack(state, run, FIRST[protocol.handBack], protocol);
    case 'hand back, second write':
      return handBack(state, run, SECOND[protocol.handBack], protocol);
    case 'rest failed':
      return stepLane(state, run, { committed: run.failed, ready: false }, { release: true, raise: true });
    case 'rest left':
      return stepLane(state, run, { committed: run.laneCommitted, ready: false }, { release: true });
    case 'commit lane':
      return stepLane(state, run, { committed: run.next });
    case 'lane failed':
      return stepLane(state, run, { committed: run.failed, ready: false }, { release: true, raise: true });
    case 'ready':
      return protocol.laneEnd === 'removes itself'
        ? removeItself(state, run)
        : stepLane(state, run, { committed: run.laneCommitted, ready: true }, { release: true });
    default:
      throw new Error(`a run that is at '${run.stage}' writes nothing`);
  }
}

/** Lets go of what a run still has; fails where it does not know the epoch. */
export function letGo(state: State, of: Of, run: Run, { commitWritesParked }: Protocol): boolean {
  if (of === 'lane') return stepLane(state, run, { committed: run.laneCommitted, ready: false }, { release: true });
  const remembered = commitWritesParked ? { parked: run.parked } : {};
  // What the write without an answer has settled is not undone.
  const committed = Math.max(state.position.committed, run.committed);
  if (!step(state, run, { committed, ...remembered })) return false;
  disown(state, 'position');
  return true;
}
