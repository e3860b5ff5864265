import { checkCalls } from './check-calls.ts';
import { checkEffects } from './check-effects.ts';
import { checkParking } from './check-parking.ts';
import { checkPositions } from './check-positions.ts';
import { checkRedrives } from './check-redrives.ts';
import type { PushHistory, PushViolation } from './history.ts';
import { linesOf } from './index.ts';

/**
 * Decides whether a history keeps what is promised of deliveries. Pure.
 *
 * @returns what was broken; nothing: the history is one that a correct backbone can have
 */
export function checkPush(history: PushHistory): PushViolation[] {
  const lines = linesOf(history);
  const each = lines.flatMap((line) => [
    ...checkPositions(line, history),
    ...checkCalls(line, history),
    ...checkRedrives(line),
    ...checkEffects(line),
  ]);
  return [...each, ...checkParking(lines, history)];
}
