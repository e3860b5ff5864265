import type { Signer } from '../../client/auth.ts';

/** What only some targets can do; a scenario names what it needs, and runs where all of it is offered. */
export const NEEDS = ['consumer', 'sweep', 'wake-queue', 'dead-letter-queue', 'bucket', 'expiry'] as const;
export type Need = (typeof NEEDS)[number];

/**
 * A backbone that scenarios are run against: embedded from source, the synthesised assembly, or a deployed stack. What
 * stands here beside URL and signature is what no caller of the API can do.
 */
export interface Target {
  /** Base URL of the API, without `/v1` and without a slash at its end; it may have a path. */
  readonly url: string;
  /** Gives a request the headers that let it in. */
  readonly sign: Signer;
  /** How long what happens by itself (a delivery, say) may take here, ms: bounds every wait. */
  readonly patienceMs: number;
  /** Need `consumer`. @returns the ARN of a function made of `consumer.ts`, which subscriptions may push to */
  readonly consumer?: () => Promise<string>;
  /** Need `sweep`. Lets the sweep run: now, or by itself where a clock calls it; then its work is done within `patienceMs`. */
  readonly sweep?: () => Promise<void>;
  /** Need `wake-queue`. All wake-ups that wait in the queue, delayed ones too, are lost. */
  readonly loseWakeUps?: () => Promise<void>;
  /** Need `dead-letter-queue`. Takes the messages that are in the queue of dead letters now. @returns their bodies */
  readonly takeDeadLetterMessages?: () => Promise<readonly string[]>;
  /** Need `bucket`. Keys of the objects whose key begins so. */
  readonly objects?: (prefix: string) => Promise<readonly string[]>;
  /** Need `expiry`. Removes a slot from the Log, as its TTL does. @param log `<topicId>.<partition>` */
  readonly expire?: (log: string, last: number) => Promise<void>;
}
