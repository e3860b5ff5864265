/** Keys of the log's records, by offset: K, whose records may fail, and O. */
export const KEYS = 'KOKKOK';
/** Records of one call at most. */
export const BATCH = 2;

export const STAGES = [
  'idle',
  'take',
  'top',
  'take lane',
  'unpark',
  'call rest',
  'calling rest',
  'hand back',
  'hand back, second write',
  'rest failed',
  'rest left',
  'calling',
  'commit',
  'park',
  'park, second write',
  'take own lane',
  'look',
  'work',
  'calling lane',
  'commit lane',
  'lane failed',
  'ready',
  'let go',
] as const;
export type Stage = (typeof STAGES)[number];

/** An item as DynamoDB has it. Its epoch is not a number here: whoever knows it `knows` it, until somebody raises it. */
interface Item {
  committed: number;
  owned: boolean;
  expired: boolean;
}

export interface PositionItem extends Item {
  parked: boolean;
}

export interface LaneItem extends Item {
  ready: boolean;
}

/** What somebody has, or believes to have, of an item. */
export interface Hold {
  /** Its epoch is the one that the run saw, or wrote, last. */
  knows: boolean;
  /** It is owned in the name of this run. */
  owns: boolean;
  /** By its own clock the run may call. */
  lease: boolean;
}

/** One run of a partition or of a lane, or a write of one that is still under way. */
export interface Run {
  stage: Stage;
  position: Hold;
  lane: Hold;
  /** Where it believes the position to be; of a lane's run: where it reads to. */
  committed: number;
  /** Where it believes the lane to be. */
  laneCommitted: number;
  /** It believes that K is passed over. */
  parked: boolean;
  /** Records of its call, a bit each. */
  records: number;
  /** Where they end. */
  next: number;
  /** Offset of the record that failed, or -1. */
  failed: number;
  /** It began before the seek: nobody relies on its calls any more. */
  old: boolean;
}

/** How much may still go wrong. */
export interface Faults {
  crashes: number;
  /** Records that the target refuses. */
  failures: number;
  /** Writes that get no answer: they land later, or never. */
  lost: number;
  /** Leases that end although their run is there, and goes on. */
  stalls: number;
  seeks: number;
}

export interface State {
  /** Records that are in the log. */
  appended: number;
  /** Records that were delivered since the last seek, a bit each. */
  delivered: number;
  position: PositionItem;
  lane: LaneItem | undefined;
  partitionRuns: Run[];
  laneRuns: Run[];
  /** Without an answer. */
  stray: Run | undefined;
  faults: Faults;
}

export function idle(): Run {
  return {
    stage: 'idle',
    position: { knows: false, owns: false, lease: false },
    lane: { knows: false, owns: false, lease: false },
    committed: 0,
    laneCommitted: 0,
    parked: false,
    records: 0,
    next: 0,
    failed: -1,
    old: false,
  };
}

/** The last two records are not in the log yet. */
export function firstState(faults: Faults): State {
  return {
    appended: KEYS.length - 2,
    delivered: 0,
    position: { committed: 0, owned: false, expired: false, parked: false },
    lane: undefined,
    partitionRuns: [idle(), idle()],
    laneRuns: [idle(), idle()],
    stray: undefined,
    faults,
  };
}

/** Written out, for most of the time is spent here. */
export function copyRun(run: Run): Run {
  const { position, lane } = run;
  return {
    stage: run.stage,
    position: { knows: position.knows, owns: position.owns, lease: position.lease },
    lane: { knows: lane.knows, owns: lane.owns, lease: lane.lease },
    committed: run.committed,
    laneCommitted: run.laneCommitted,
    parked: run.parked,
    records: run.records,
    next: run.next,
    failed: run.failed,
    old: run.old,
  };
}

export function copyOf(state: State): State {
  const { position, lane, partitionRuns, laneRuns, stray, faults } = state;
  return {
    appended: state.appended,
    delivered: state.delivered,
    position: { ...position },
    lane: lane && { ...lane },
    partitionRuns: [copyRun(partitionRuns[0]!), copyRun(partitionRuns[1]!)],
    laneRuns: [copyRun(laneRuns[0]!), copyRun(laneRuns[1]!)],
    stray: stray && copyRun(stray),
    faults: { ...faults },
  };
}

export function runsOf({ partitionRuns, laneRuns }: State): Run[] {
  return [...partitionRuns, ...laneRuns];
}

/** All in whose name something may be written. */
export function actors(state: State): Run[] {
  return state.stray === undefined ? runsOf(state) : [...runsOf(state), state.stray];
}

const STAGE_CODES = new Map<Stage, number>(STAGES.map((stage, code) => [stage, code]));
const text = String.fromCharCode;
const bit = (flag: boolean, place: number) => (flag ? 1 << place : 0);
const codeOfHold = ({ knows, owns, lease }: Hold) => bit(knows, 0) | bit(owns, 1) | bit(lease, 2);
const codeOfItem = ({ committed, owned, expired }: Item) => (committed << 3) | bit(owned, 0) | bit(expired, 1);
const IDLE = '\0';

function codeOfRun(run: Run): string {
  if (run.stage === 'idle') return IDLE;
  return text(
    (STAGE_CODES.get(run.stage)! << 6) | (run.committed << 3) | run.laneCommitted,
    codeOfHold(run.position) | (codeOfHold(run.lane) << 3) | bit(run.parked, 6) | bit(run.old, 7),
    (run.records << 6) | (run.next << 3) | (run.failed + 1),
  );
}

/** Of two runs, whichever is called the first. */
function codeOfRuns([one, other]: readonly Run[]): string {
  const [code, otherCode] = [codeOfRun(one!), codeOfRun(other!)];
  return code < otherCode ? code + otherCode : otherCode + code;
}

/** The same for states that differ only in which run is called which. */
export function codeOf(state: State): string {
  const { position, lane, faults } = state;
  const { crashes, failures, lost, stalls, seeks } = faults;
  const items = text(
    (state.appended << 9) | (state.delivered << 3),
    codeOfItem(position) | bit(position.parked, 2),
    lane === undefined ? 0 : 1 + (codeOfItem(lane) | bit(lane.ready, 2)),
    (crashes << 8) | (failures << 6) | (lost << 4) | (stalls << 2) | seeks,
  );
  const stray = state.stray === undefined ? '' : codeOfRun(state.stray);
  return items + codeOfRuns(state.partitionRuns) + codeOfRuns(state.laneRuns) + stray;
}
