import { describe, expect, it } from 'vitest';
import { explore } from './explore.ts';
import { type Protocol, RIGHT } from './protocol.ts';
import { ALL } from './rules.ts';
import { NO_FAULTS, SABOTAGES, TAKE_SEES_PARKED } from './sabotage.ts';
import { type Faults, STAGES, type Stage } from './state.ts';

/** What a run only does where something more goes wrong than that one record fails. */
function isReachable(stage: Stage, { failures = 0, lost = 0 }: Partial<Faults>): boolean {
  if (stage === 'unpark' || stage.endsWith('second write')) return false; // of protocols that are broken on purpose
  if (stage === 'let go') return lost > 0;
  return failures > 1 || (stage !== 'lane failed' && stage !== 'rest failed');
}

describe('parked keys come through', () => {
  it.each<[string, Partial<Faults>, Protocol]>([
    ['a run that dies, one that stands still, and a seek', { failures: 1, crashes: 1, stalls: 1, seeks: 1 }, RIGHT],
    ['a second failure, a run that stands still, and a seek', { failures: 2, stalls: 1, seeks: 1 }, RIGHT],
    ['a second failure, a run that dies, and a seek', { failures: 2, crashes: 1, seeks: 1 }, RIGHT],
    ['a write without an answer', { failures: 1, lost: 1 }, RIGHT],
    ['one where a take compares what is parked, not an epoch', { failures: 1, lost: 1 }, TAKE_SEES_PARKED],
  ])('%s', (name, faults, protocol) => {
    const { states, stages, wrong, trace } = explore(protocol, { ...NO_FAULTS, ...faults }, ALL);
    console.info(`${name}: ${states} states`);
    expect(wrong, trace.join('\n')).toBeUndefined();
    expect(STAGES.filter((stage) => isReachable(stage, faults) && !stages.has(stage))).toEqual([]);
  });
});

describe('the model notices', () => {
  it.each(Object.keys(SABOTAGES))('%s', (name) => {
    const { protocol, faults, asked, wrong } = SABOTAGES[name]!;
    const found = explore(protocol, faults, asked);
    console.info(`${name}: ${found.wrong} after ${found.trace.length} steps, ${found.states} states`);
    expect(found.wrong, found.trace.join('\n')).toBe(wrong);
  });
});
