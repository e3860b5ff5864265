import { type Call, sum } from './meter.ts';
import type { PushBench } from './push-bench.ts';

/** What one act of a delivery consumed. */
export interface CostRow {
  readonly what: string;
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly queries: number;
  readonly sends: number;
}

export const COST_HEADS = {
  what: 'what',
  writeUnits: 'write units',
  readUnits: 'read units',
  queries: 'Queries',
  sends: 'messages sent',
};

/** Of the calls since they were taken last. */
export async function costRow({ meter }: Pick<PushBench, 'meter'>, what: string): Promise<CostRow> {
  return costOf(await meter.takeAll(), what);
}

export function costOf(calls: readonly Call[], what: string): CostRow {
  const count = (operation: string) => calls.filter((call) => call.operation === operation).length;
  return {
    what,
    writeUnits: sum(calls, 'writeUnits'),
    readUnits: sum(calls, 'readUnits'),
    queries: count('Query'),
    sends: count('SendMessageBatch') + count('SendMessage'),
  };
}
