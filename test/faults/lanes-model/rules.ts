import { BATCH, KEYS, type Run, type Stage, type State } from './state.ts';

/**
 * What must not be. Users see: a record before an earlier one of its key, two calls with records of one key, a record that
 * is passed although it is not delivered, a backlog that nobody comes to the end of.
 */
export type Wrong = 'order' | 'two calls' | 'passed' | 'stuck' | 'lane without position' | 'lane ahead';

export const VISIBLE: readonly Wrong[] = ['order', 'two calls', 'passed', 'stuck'];
export const ALL: readonly Wrong[] = [...VISIBLE, 'lane without position', 'lane ahead'];

export const CALLING: ReadonlySet<Stage> = new Set(['calling', 'calling rest', 'calling lane']);

const isK = (offset: number) => KEYS[offset] === 'K';
const ofK = [...KEYS].reduce((records, _, offset) => records | (isK(offset) ? 1 << offset : 0), 0);
const EVERY = (1 << KEYS.length) - 1;

export const has = (records: number, offset: number) => (records & (1 << offset)) !== 0;

/** What is read for one call: of K alone, of all but K, or of all. */
export function batch(from: number, end: number, of: 'K' | 'O' | 'all'): { records: number; next: number } {
  let [records, count] = [0, 0];
  for (let offset = from; offset < end; offset++) {
    if (of !== 'all' && KEYS[offset] !== of) continue;
    records |= 1 << offset;
    if (++count === BATCH) return { records, next: offset + 1 };
  }
  return { records, next: end };
}

/** Offsets of records of K, the only ones that a target may refuse. */
export function refusable(records: number): readonly number[] {
  return [...KEYS].map((_, offset) => offset).filter((offset) => has(records & ofK, offset));
}

/** Everything is delivered, and nothing is parked. */
export function isDone({ appended, delivered, position, lane }: State): boolean {
  const isThere = appended === KEYS.length && position.committed === appended;
  return isThere && delivered === EVERY && !position.parked && lane === undefined;
}

export function wrongIn(state: State, asked: ReadonlySet<Wrong>): Wrong | undefined {
  const { position, lane } = state;
  const is = (wrong: Wrong, when: boolean) => (when && asked.has(wrong) ? wrong : undefined);
  return (
    wrongCalls(state).find((wrong) => asked.has(wrong)) ??
    is('passed', isPassed(state)) ??
    is('lane without position', (lane !== undefined) !== position.parked) ??
    is('lane ahead', lane !== undefined && lane.committed > position.committed)
  );
}

/** Whether the position is past a record that is neither delivered nor still to be delivered by the lane. */
function isPassed({ position, lane, delivered }: State): boolean {
  for (let offset = 0; offset < position.committed; offset++) {
    const waits = isK(offset) && lane !== undefined && lane.committed <= offset;
    if (!has(delivered, offset) && !waits) return true;
  }
  return false;
}

/** Of the calls in flight. Those from before a seek are fenced: nobody relies on them. */
function wrongCalls({ partitionRuns, laneRuns, delivered }: State): Wrong[] {
  const wrong: Wrong[] = [];
  const calls = [...partitionRuns, ...laneRuns].filter(({ stage, old }) => CALLING.has(stage) && !old);
  for (const key of calls.length === 0 ? [] : [ofK, EVERY & ~ofK]) {
    const ofKey = calls.map(({ records }) => records & key).filter((records) => records !== 0);
    if (ofKey.length > 1) wrong.push('two calls');
    for (const records of ofKey) {
      const before = ((1 << (31 - Math.clz32(records))) - 1) & key;
      if ((before & ~(delivered | records)) !== 0) wrong.push('order');
    }
  }
  return wrong;
}

const mayActOnPosition = ({ stage, position, old }: Run) =>
  position.knows ? stage === 'take' || position.owns : position.lease && !old;
const mayActOnLane = ({ stage, lane, old }: Run) =>
  lane.knows ? stage === 'take lane' || stage === 'take own lane' || lane.owns : lane.lease && !old;

/**
 * Whether a run, or a write without an answer, can still do anything that somebody notices: no epoch comes back, so what
 * is fenced is fenced for good.
 */
export function mayAct(run: Run): boolean {
  return mayActOnPosition(run) || mayActOnLane(run);
}
