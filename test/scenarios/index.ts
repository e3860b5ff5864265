import { RECORDS } from './records.ts';
import type { Scenario } from './scenario.ts';
import { SUBSCRIPTIONS } from './subscriptions.ts';

/** What holds wherever a backbone runs. */
export const SCENARIOS: readonly Scenario[] = [...RECORDS, ...SUBSCRIPTIONS];
