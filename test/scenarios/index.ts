import { GROUPS } from './groups.ts';
import { PAYLOADS } from './payloads.ts';
import { RECORDS } from './records.ts';
import type { Scenario } from './scenario.ts';
import { SUBSCRIPTIONS } from './subscriptions.ts';
import { TOPICS } from './topics.ts';

/** What holds wherever a backbone runs. */
export const SCENARIOS: readonly Scenario[] = [...TOPICS, ...RECORDS, ...PAYLOADS, ...GROUPS, ...SUBSCRIPTIONS];
