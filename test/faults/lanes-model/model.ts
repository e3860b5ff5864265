import { end, goOn, isWrite, planLane, planRest } from './go-on.ts';
import type { Protocol } from './protocol.ts';
import { batch, CALLING, mayAct, refusable } from './rules.ts';
import { copyOf, copyRun, KEYS, type Run, runsOf, type Stage, type State } from './state.ts';
import { isMine, letGo, type Of, seek, write } from './writes.ts';

export interface Step {
  readonly what: string;
  /** It need not happen. */
  readonly isFault: boolean;
  readonly to: State;
}

type Kind = 'partitionRuns' | 'laneRuns';

/** One run's next steps. */
interface Next {
  readonly state: State;
  readonly run: Run;
  /** One more that it may do: changes a copy. */
  add(what: string, change: (run: Run, to: State) => void): void;
  fault(what: string, change: (run: Run, to: State) => void): void;
}

/** All that may happen next, of which each is one read, one write, or the begin or end of one call. */
export function stepsFrom(state: State, protocol: Protocol): readonly Step[] {
  const steps: Step[] = [];
  const add = (what: string, change: (to: State) => void, isFault = false): void => {
    const to = copyOf(state);
    change(to);
    for (const run of runsOf(to)) if (run.stage !== 'idle' && !mayAct(run)) end(run);
    if (to.stray !== undefined && !mayAct(to.stray)) to.stray = undefined;
    steps.push({ what, isFault, to });
  };
  addEnvironment(state, protocol, add);
  for (const kind of ['partitionRuns', 'laneRuns'] as const) {
    for (const [index, run] of state[kind].entries()) {
      // Of two that are idle one begins: they are the same.
      if (run.stage === 'idle' && index > 0 && state[kind][0]!.stage === 'idle') continue;
      const name = `${kind === 'laneRuns' ? 'lane' : 'partition'} run ${index + 1}`;
      const of = (isFault: boolean) => (what: string, change: (run: Run, to: State) => void) =>
        add(`${name} ${what}`, (to) => change(to[kind][index]!, to), isFault);
      const next = { state, run, add: of(false), fault: of(true) };
      addFaults(next, protocol);
      addRun(next, kind, protocol);
    }
  }
  return steps;
}

function addEnvironment(
  state: State,
  protocol: Protocol,
  add: (what: string, change: (to: State) => void, isFault?: boolean) => void,
): void {
  const { faults, stray, appended } = state;
  if (appended < KEYS.length) {
    add('a record is appended', (to) => {
      to.appended += 1;
    });
  }
  for (const of of ['position', 'lane'] as const) {
    const item = state[of];
    if (!item?.owned || item.expired || runsOf(state).some((run) => run[of].owns)) continue;
    add(`the lease of the ${of} is over, whose run is no more`, (to) => {
      to[of]!.expired = true;
    });
  }
  if (stray !== undefined) {
    add(`the write '${stray.stage}' lands`, (to) => {
      write(to, to.stray!, protocol);
      to.stray = undefined;
    });
    add(`the write '${stray.stage}' never lands`, (to) => {
      to.stray = undefined;
    });
  }
  if (faults.seeks > 0) {
    const change = (to: State) => {
      to.faults.seeks -= 1;
      seek(to, protocol);
      for (const run of runsOf(to)) if (run.position.lease || run.lane.lease) run.old = true;
    };
    add('somebody SEEKS', change, true);
  }
}

function addFaults({ state, run, fault }: Next, protocol: Protocol): void {
  const { faults, stray } = state;
  if (run.stage === 'idle') return;
  const isCalling = CALLING.has(run.stage);
  // What dies in a call holds its leases until that is over: as if it died then.
  if (faults.crashes > 0 && !isCalling) {
    fault('DIES', (run, to) => {
      to.faults.crashes -= 1;
      end(run);
    });
  }
  for (const of of ['position', 'lane'] as const) {
    // A call ends before the lease under which it is made: the rest of a lane is delivered under that of the lane.
    const isUsed = of === 'position' ? run.stage === 'calling' : isCalling;
    const isThere = run[of].lease || (run[of].owns && !state[of]!.expired);
    if (faults.stalls === 0 || run.old || isUsed || !isThere) continue;
    fault(`STALLS until its lease of the ${of} is over`, (run, to) => {
      to.faults.stalls -= 1;
      run[of].lease = false;
      if (run[of].owns) to[of]!.expired = true;
    });
  }
  if (faults.lost > 0 && stray === undefined && isWrite(run.stage)) {
    fault(`gets NO ANSWER to '${run.stage}'`, (run, to) => {
      to.faults.lost -= 1;
      to.stray = copyRun(run);
      lose(run, protocol);
    });
  }
}

/** What a run takes for settled when it does not know what became of its write: it lets go of what it has. */
function lose(run: Run, { letGoWrites }: Protocol): void {
  if (run.stage === 'commit') run.committed = run.next;
  if (run.stage === 'park') run.committed = letGoWrites === 'what was meant' ? run.failed + 1 : run.failed;
  if (run.stage === 'commit lane') run.laneCommitted = run.next;
  if (run.stage === 'rest failed' || run.stage === 'lane failed') run.laneCommitted = run.failed;
  if (run.position.owns || run.lane.owns) run.stage = 'let go';
  else end(run);
}

function addRun(next: Next, kind: Kind, protocol: Protocol): void {
  const { run, add } = next;
  const mayCallForLane = run.lane.lease || run.old;
  switch (run.stage) {
    case 'idle':
      if (kind === 'laneRuns') beginLane(next);
      else begin(next);
      break;
    case 'top':
      addTop(next, protocol);
      break;
    case 'look':
      add('looks at the position', (run, to) => {
        run.committed = protocol.laneReach === 'log' ? to.appended : to.position.committed;
        if (to.position.parked) planLane(run);
        else end(run);
      });
      break;
    case 'call rest':
      if (mayCallForLane) addCall(next, 'calling rest', run.laneCommitted, run.committed, 'K');
      else {
        add('has no time to call', (run) => {
          run.stage = 'rest left';
        });
      }
      break;
    case 'work':
      if (mayCallForLane) addCall(next, 'calling lane', run.laneCommitted, run.committed, 'K');
      else addRenewal(next, 'lane', protocol);
      break;
    case 'calling':
    case 'calling rest':
    case 'calling lane':
      addOutcomes(next);
      break;
    case 'let go':
      for (const of of ['lane', 'position'] as const) {
        if (isMine(run[of])) add(`lets go of the ${of}`, (run, to) => letGo(to, of, run, protocol));
      }
      add('ends', end);
      break;
    default:
      add(`writes '${run.stage}'`, (run, to) => goOn(run, write(to, run, protocol), protocol));
  }
}

function begin({ state: { position, appended }, add }: Next): void {
  const isFree = !position.owned || position.expired;
  if (!isFree || (position.committed === appended && !position.parked)) return;
  add('reads the position', (run, to) => {
    Object.assign(run, { stage: 'take', committed: to.position.committed, parked: to.position.parked });
    run.position.knows = true;
  });
}

function beginLane({ state: { lane }, add }: Next): void {
  if (lane === undefined || (lane.owned && !lane.expired)) return;
  add('reads the lane', (run, to) => {
    Object.assign(run, { stage: 'take own lane', laneCommitted: to.lane!.committed });
    run.lane.knows = true;
  });
}

/** A partition's run between two calls. */
function addTop(next: Next, protocol: Protocol): void {
  const { state, run, add } = next;
  const { lane, appended } = state;
  const see = (laneCommitted: number, knows: boolean) => (run: Run) => {
    run.laneCommitted = laneCommitted;
    run.lane.knows = knows;
    run.stage = 'take lane';
    if (!protocol.handBackTakesLane) {
      run.lane.lease = true;
      planRest(run);
    }
  };
  if (run.parked && !run.old) {
    if (lane?.ready && (!lane.owned || lane.expired)) add('sees that the lane is ready', see(lane.committed, true));
    // Who takes it by that is refused, and is where it was.
    if (!protocol.handBackTakesLane) add('sees the lane as it once was', see(0, false));
  }
  if (!run.position.lease && !run.old) addRenewal(next, 'position', protocol);
  else if (run.committed < appended) addCall(next, 'calling', run.committed, appended, run.parked ? 'O' : 'all');
  add('lets go', (run, to) => {
    letGo(to, 'position', run, protocol);
    end(run);
  });
}

function addRenewal({ add }: Next, of: Of, protocol: Protocol): void {
  add('renews its lease', (run, to) => {
    if (write(to, run, protocol)) run[of].lease = true;
    else end(run);
  });
}

function addCall({ add }: Next, stage: Stage, from: number, limit: number, of: 'K' | 'O' | 'all'): void {
  const read = batch(from, limit, of);
  if (read.records === 0) add('passes what is parked', (run) => Object.assign(run, read, { stage: 'commit' }));
  else add(`calls with ${refers(read.records)}`, (run) => Object.assign(run, read, { stage }));
}

function addOutcomes({ state: { faults }, run, add, fault }: Next): void {
  const { stage, records, old } = run;
  const went = (then: Stage) =>
    add('is answered', (run, to) => {
      if (!old) to.delivered |= records;
      run.stage = then;
      run.records = 0;
      if (then === 'commit' || then === 'commit lane') return;
      Object.assign(run, { laneCommitted: run.next, next: 0 });
      if (then === 'hand back') planRest(run);
    });
  if (stage === 'calling') went('commit');
  if (stage === 'calling rest') went('hand back');
  if (stage === 'calling lane') {
    went('commit lane');
    if (run.next >= run.committed) went('ready');
  }
  for (const offset of faults.failures > 0 && !old ? refusable(records) : []) {
    fault(`is told that ${offset} FAILS`, (run, to) => {
      to.faults.failures -= 1;
      to.delivered |= records & ((1 << offset) - 1);
      const then = { calling: 'park', 'calling rest': 'rest failed', 'calling lane': 'lane failed' } as const;
      Object.assign(run, { stage: then[stage as keyof typeof then], failed: offset, records: 0, next: 0 });
    });
  }
}

function refers(records: number): string {
  return [...KEYS].flatMap((key, offset) => ((records >> offset) & 1 ? [`${key}${offset}`] : [])).join(', ');
}
