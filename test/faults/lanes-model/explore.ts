import { stepsFrom } from './model.ts';
import type { Protocol } from './protocol.ts';
import { isDone, type Wrong, wrongIn } from './rules.ts';
import { codeOf, type Faults, firstState, runsOf, type Stage, type State } from './state.ts';

export interface Explored {
  readonly states: number;
  /** At which some run was. */
  readonly stages: ReadonlySet<Stage>;
  /** Absent: nothing is, in any state. */
  readonly wrong?: Wrong;
  /** The fewest steps that lead to it; empty where nothing is wrong. */
  readonly trace: readonly string[];
}

/** Goes through all states, nearest first, up to the first in which something `asked` is wrong. */
export function explore(protocol: Protocol, faults: Faults, asked: readonly Wrong[]): Explored {
  const rules = new Set(asked);
  const first = firstState(faults);
  const open: (State | undefined)[] = [first];
  const ids = new Map([[codeOf(first), 0]]);
  const stages = new Set<Stage>();
  const [parents, names, ends]: [number[], string[], number[]] = [[-1], [''], []];
  /** Steps that are no faults: from, to. */
  const fair: number[] = [];
  const found = (id: number, wrong?: Wrong): Explored => {
    const trace: string[] = [];
    for (let at = id; at > 0; at = parents[at]!) trace.unshift(names[at]!);
    return { states: open.length, stages, trace, ...(wrong && { wrong }) };
  };
  for (let from = 0; from < open.length; from++) {
    const state = open[from]!;
    open[from] = undefined;
    for (const { stage } of runsOf(state)) stages.add(stage);
    if (isDone(state)) ends.push(from);
    for (const { what, isFault, to } of stepsFrom(state, protocol)) {
      const code = codeOf(to);
      let id = ids.get(code);
      if (id === undefined) {
        id = open.push(to) - 1;
        ids.set(code, id);
        parents.push(from);
        names.push(what);
        const wrong = wrongIn(to, rules);
        if (wrong !== undefined) return found(id, wrong);
      }
      if (!isFault) fair.push(from, id);
    }
  }
  const stuck = rules.has('stuck') ? firstStuck(open.length, fair, ends) : undefined;
  return stuck === undefined ? found(0) : found(stuck, 'stuck');
}

/** The nearest state from which nothing leads to an end but what need not happen. */
function firstStuck(states: number, fair: readonly number[], ends: readonly number[]): number | undefined {
  // Linked lists of the steps into each state.
  const last = new Int32Array(states).fill(-1);
  const before = new Int32Array(fair.length / 2);
  for (let step = 0; step < before.length; step++) {
    const to = fair[2 * step + 1]!;
    before[step] = last[to]!;
    last[to] = step;
  }
  const leads = new Uint8Array(states);
  const open = [...ends];
  for (const id of ends) leads[id] = 1;
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    for (let step = last[id]!; step >= 0; step = before[step]!) {
      const from = fair[2 * step]!;
      if (leads[from] === 0) open.push(from);
      leads[from] = 1;
    }
  }
  const stuck = leads.indexOf(0);
  return stuck < 0 ? undefined : stuck;
}
