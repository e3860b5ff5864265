import { KEEP_DELIVERIES_MINUTES } from '../shared/domain/limits.ts';
import type { Act, Usage } from './acts.ts';
import type { Part } from './prices.ts';

/** What no engine can count here: assumed, and to be compared with what `Duration` and the logs of an account say. */
export const ASSUMED = {
  /** How long a function takes for one act, in ms, its waiting included. */
  takesMs: {
    ...{ sweep: 100, keep: 50, appendOne: 25, appendHundred: 35, appendSubscribed: 25, appendHundredSubscribed: 35 },
    ...{ fetchHundred: 25, fetchNothing: 15, fetchWaiting: 20_000, pollNothing: 20, dispatch: 20 },
    // With 50 ms for the target.
    ...{ deliverOne: 90, deliverHundred: 110, wakeUpDropped: 20 },
  } satisfies Record<Act, number>,
  /** Bytes of log for one call of a function: Lambda's own three lines. */
  callLogBytes: 400,
  /** For one request: the gateway's line, and the function's. */
  requestLogBytes: 850,
};

/** Memory of functions that somebody waits for, deliveries among them, and of the others; in GB, as deployed. */
export const MEMORY_GB = { waitedFor: 1, background: 0.25 };

export const HOURS_PER_MONTH = 730;
export const MINUTES_PER_MONTH = HOURS_PER_MONTH * 60;
const GB = 1e9;

const IN_BACKGROUND: ReadonlySet<Act> = new Set(['sweep', 'keep', 'dispatch']);
const BY_REQUEST: ReadonlySet<Act> = new Set([
  ...(['appendOne', 'appendHundred', 'appendSubscribed', 'appendHundredSubscribed'] as const),
  ...(['fetchHundred', 'fetchNothing', 'fetchWaiting', 'pollNothing'] as const),
]);

/** What so many acts of a kind consume of everything that is priced. */
export function partsOf(act: Act, count: number, { readUnits, writeUnits, messages }: Usage): Part[] {
  const memory = IN_BACKGROUND.has(act) ? MEMORY_GB.background : MEMORY_GB.waitedFor;
  const isRequest = BY_REQUEST.has(act);
  const logBytes = ASSUMED.callLogBytes + (isRequest ? ASSUMED.requestLogBytes : 0);
  const parts: Part[] = [
    { what: 'requests', price: 'apiRequest', count: isRequest ? count : 0 },
    // That is done by a run which is counted already.
    { what: 'calls of functions', price: 'lambdaRequest', count: act === 'keep' ? 0 : count },
    { what: 'time of functions', price: 'lambdaTime', count: (count * memory * ASSUMED.takesMs[act]) / 1_000 },
    { what: 'reads', price: 'readUnit', count: count * readUnits },
    { what: 'writes', price: 'writeUnit', count: count * writeUnits },
    // Sent, received, deleted.
    { what: 'wake-ups', price: 'queueRequest', count: 3 * count * messages },
    { what: 'wake-ups, by group', price: 'fairRequest', count: 3 * count * messages },
    { what: 'logs', price: 'logIngestion', count: act === 'keep' ? 0 : (count * logBytes) / GB },
  ];
  return parts.filter((part) => part.count > 0);
}

/** Parts of the same kind together, in the order in which they come first. */
export function together(parts: readonly Part[]): Part[] {
  const sums = new Map<string, Part>();
  for (const part of parts) {
    const sum = sums.get(part.price);
    sums.set(part.price, sum === undefined ? part : { ...sum, count: sum.count + part.count });
  }
  return [...sums.values()];
}

/** Lambda asks the wake queue while somebody subscribes: five askers, 20 s each. Source: AWS Lambda, "Using Lambda with Amazon SQS". */
export const POLLS_PER_MINUTE = 15;
/** Packages of the functions, in the bucket that CDK made. */
const PACKAGES_GB = 0.01;

/** A backbone that nobody calls, for a month. */
export function atRest(usage: Record<Act, Usage>): Part[] {
  const keeps = MINUTES_PER_MONTH / KEEP_DELIVERIES_MINUTES;
  return together([
    ...partsOf('sweep', MINUTES_PER_MONTH, usage.sweep),
    ...partsOf('keep', keeps, usage.keep),
    { what: 'looks into the wake queue', price: 'queueRequest', count: keeps },
    { what: 'logs kept for a month', price: 'logStorage', count: (MINUTES_PER_MONTH * ASSUMED.callLogBytes) / GB },
    { what: 'packages', price: 'objectStorage', count: PACKAGES_GB },
  ]);
}

export interface Pushed {
  /** Records of 1 KB in each append, and in each delivery. */
  readonly size: 'One' | 'Hundred';
  readonly appends: number;
  readonly subscriptions: number;
}

/** Appends that are pushed to subscriptions, with all that follows from each. */
export function pushed(usage: Record<Act, Usage>, { size, appends, subscriptions }: Pushed): Part[] {
  const append = size === 'One' ? 'appendSubscribed' : 'appendHundredSubscribed';
  const deliver = `deliver${size}` as const;
  // The first one's wake-ups are those of the append and of the stream.
  const sentOn = 3 * 2 * appends * (subscriptions - 1);
  return together([
    ...partsOf(append, appends, usage[append]),
    ...partsOf('dispatch', appends, usage.dispatch),
    ...partsOf(deliver, appends * subscriptions, usage[deliver]),
    // There are two, by the append and by the stream: one of them comes late.
    ...partsOf('wakeUpDropped', appends * subscriptions, usage.wakeUpDropped),
    { what: 'wake-ups', price: 'queueRequest', count: sentOn },
    { what: 'wake-ups, by group', price: 'fairRequest', count: sentOn },
  ]);
}
