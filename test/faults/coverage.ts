import { GROUP_SITUATIONS } from './groups/coverage.ts';
import { PUSH_SITUATIONS } from './push/coverage.ts';

/** Situations in which the protocol's rules matter. A run without them proves nothing, so they are counted. */
export const SITUATIONS = [
  // What was done to the run.
  'request lost',
  'answer lost',
  'throttled',
  'internal error',
  'landed after its caller had given up',
  'landed minutes late',
  'refused for its old signature',
  'host crashed',
  'host frozen',
  'item expired',
  'hours passed',
  // What operations met.
  'own reservation recognised',
  'own slot recognised',
  'own claim recognised',
  'writer fenced',
  'fill given up',
  'void put',
  'void met a batch',
  'void met a void',
  'unknown range',
  'expired gap',
  'gap passed by its age',
  'gap passed below settled',
  'reader stopped before an unsettled offset',
  'settled moved',
  'claim moved',
  'claim move lost',
  'expired claim replaced',
  'closed head met',
  'batch spilled',
  'payload removed',
  'upload announced',
  'payload uploaded',
  'payload refused by the bucket',
  'upload taken',
  'own upload recognised',
  'upload taken from a void',
  'upload met another use',
  'upload forgotten',
  'upload kept for its record',
  'uploaded value read',
  'removal followed',
  'topic purged',
  // What callers were told.
  'stored',
  'stored in part',
  'duplicate',
  'in progress',
  'key reused',
  'refused: throttled',
  'refused: unavailable',
  'refused: topic not found',
  'refused: upload invalid',
  'outcome unknown',
  'no answer',
  'offset out of range',
  'prepared append committed',
  'prepared append found committed',
  'prepared append aborted',
  'prepared append left behind',
  ...GROUP_SITUATIONS,
  ...PUSH_SITUATIONS,
] as const;

export type Situation = (typeof SITUATIONS)[number];

export class Coverage {
  readonly counts = new Map<Situation, number>();

  count(situation: Situation, times = 1): void {
    this.counts.set(situation, (this.counts.get(situation) ?? 0) + times);
  }

  add(others: Iterable<readonly [Situation, number]>): void {
    for (const [situation, times] of others) this.count(situation, times);
  }

  missing(): Situation[] {
    return SITUATIONS.filter((situation) => !this.counts.has(situation));
  }

  lines(): string[] {
    return SITUATIONS.map((situation) => `${String(this.counts.get(situation) ?? 0).padStart(9)}  ${situation}`);
  }
}
