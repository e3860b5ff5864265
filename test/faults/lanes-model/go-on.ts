import type { Protocol } from './protocol.ts';
import { batch } from './rules.ts';
import { idle, type Run, type Stage } from './state.ts';

/** Where a run is when its write is done, or was refused. */
const THEN: Partial<Record<Stage, readonly [done: Stage, refused: Stage]>> = {
  take: ['top', 'idle'],
  commit: ['top', 'idle'],
  park: ['top', 'idle'],
  'park, second write': ['top', 'idle'],
  'take lane': ['call rest', 'top'],
  unpark: ['call rest', 'rest left'],
  'hand back': ['top', 'rest left'],
  'hand back, second write': ['top', 'top'],
  'rest failed': ['top', 'top'],
  'rest left': ['top', 'top'],
  'take own lane': ['look', 'idle'],
  'commit lane': ['look', 'idle'],
  'lane failed': ['idle', 'idle'],
  ready: ['idle', 'look'],
};

export function isWrite(stage: Stage): boolean {
  return THEN[stage] !== undefined;
}

/** After a write. */
export function goOn(run: Run, isWritten: boolean, protocol: Protocol): void {
  const { stage } = run;
  run.stage = isWritten ? afterWrite(stage, protocol) : THEN[stage]![1];
  if (isWritten) remember(run, stage);
  if (run.stage === 'idle') end(run);
  if (run.stage === 'top') forgetLane(run);
  if (run.stage === 'call rest') planRest(run);
}

function afterWrite(stage: Stage, { park, handBack }: Protocol): Stage {
  if (stage === 'park' && park !== 'one write') return 'park, second write';
  if (stage === 'hand back' && (handBack === 'position first' || handBack === 'lane first')) {
    return 'hand back, second write';
  }
  return stage === 'take lane' && handBack === 'early' ? 'unpark' : THEN[stage]![0];
}

/** What a run knows by what it has written at a stage. */
function remember(run: Run, stage: Stage): void {
  switch (stage) {
    case 'take':
      run.position.lease = true;
      break;
    case 'commit':
      Object.assign(run, { committed: run.next, next: 0 });
      run.position.lease = true;
      break;
    case 'park':
    case 'park, second write':
      run.position.lease = true;
      if (run.stage === 'top') Object.assign(run, { committed: run.failed + 1, parked: true });
      break;
    case 'hand back':
    case 'hand back, second write':
      run.parked = false;
      break;
    case 'take lane':
    case 'take own lane':
      run.lane.lease = true;
      break;
    case 'commit lane':
      Object.assign(run, { laneCommitted: run.next, next: 0 });
      run.lane.lease = true;
      if (run.laneCommitted < run.committed) planLane(run);
  }
}

/** Of a ready lane: nothing is left of it, no more than one call, or too much. */
export function planRest(run: Run): void {
  const { records, next } = batch(run.laneCommitted, run.committed, 'K');
  if (records === 0) Object.assign(run, { stage: 'hand back', laneCommitted: run.committed });
  else run.stage = batch(next, run.committed, 'K').records === 0 ? 'call rest' : 'rest left';
}

/** A lane's run calls until nothing of its key is left before where the position was. */
export function planLane(run: Run): void {
  if (batch(run.laneCommitted, run.committed, 'K').records !== 0) run.stage = 'work';
  else Object.assign(run, { stage: 'ready', laneCommitted: Math.max(run.laneCommitted, run.committed) });
}

function forgetLane(run: Run): void {
  Object.assign(run.lane, { knows: false, owns: false, lease: false });
  Object.assign(run, { laneCommitted: 0, failed: -1 });
}

export function end(run: Run): void {
  Object.assign(run, idle());
}
