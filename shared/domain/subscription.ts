import type { DeliveryError } from './delivery.ts';
import type { GroupId } from './group.ts';
import type { TargetSpec } from './target-spec.ts';

/** Where a subscription begins in partitions that it has no position in: resolved once, and stored. */
export type SubscriptionStart = 'earliest' | 'latest' | { /** Epoch ms. */ readonly at: number };

/** What becomes of a record that was tried as often as it may be. */
export type OnFailure = 'deadLetter' | 'halt' | 'park';

/** What a subscriber may settle. */
export interface SubscriptionSettings {
  /** Names, sorted, none twice. */
  readonly topics: readonly string[];
  readonly target: TargetSpec;
  readonly from: SubscriptionStart;
  /** Most that one call carries. */
  readonly batch: { readonly maxRecords: number; readonly maxBytes: number };
  /** How long a call may take. Of a Lambda target: the function's own timeout. */
  readonly timeoutMs: number;
  /** Pattern in EventBridge's language, as JSON; absent: every record. */
  readonly filter?: string;
  readonly retry: { readonly maxAttempts: number; readonly minBackoffMs: number; readonly maxBackoffMs: number };
  readonly onFailure: OnFailure;
  /** Dead letters in a row on one partition that halt the subscription. */
  readonly haltAfterDeadLetters: number;
}

/** `paused`: by its subscriber, or its target wants no more. `halted`: something has to be mended first. */
export type SubscriptionState = 'active' | 'paused' | 'halted';

/** A group whose member is the backbone itself, pushing to a target. */
export interface Subscription extends SubscriptionSettings {
  /** Of the same name. Made and deleted with it. */
  readonly group: GroupId;
  readonly state: SubscriptionState;
  /** Why it is not active, for whoever looks. */
  readonly reason?: string;
  /** What stopped it. */
  readonly lastError?: DeliveryError;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Epoch ms. */
  readonly updatedAt: number;
  /** Grows with every write: whoever changes it names the one it saw. */
  readonly revision: number;
}

/** What somebody changes of a subscription. */
export type SubscriptionChange = Omit<Subscription, 'group' | 'createdAt' | 'revision'>;
