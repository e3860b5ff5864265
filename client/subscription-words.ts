import type { GroupOffset } from './admin-words.ts';

/** Whoever records are pushed to: exactly one of them. */
export type SubscriptionTarget =
  | { readonly lambda: { readonly functionArn: string } }
  | { readonly http: { readonly url: string; readonly secret?: string } }
  | { readonly sqs: { readonly queueUrl: string } }
  | { readonly eventBridge: { readonly eventBusName: string } };

/** What may be settled. Of one that exists, what is absent stays as it is. */
export interface SubscriptionSettings {
  readonly topics?: readonly string[];
  readonly target?: SubscriptionTarget;
  /** Where it begins: an end of the log, or a time (epoch ms, or a Date). Default: latest. */
  readonly from?: 'earliest' | 'latest' | { readonly at: number | Date };
  readonly batch?: { readonly maxRecords?: number; readonly maxBytes?: number };
  /** How long one call may take. */
  readonly timeoutMs?: number;
  /** EventBridge's pattern language over `{key, headers, value}`; null: every record. */
  readonly filter?: object | null;
  readonly retry?: { readonly maxAttempts?: number; readonly minBackoffMs?: number; readonly maxBackoffMs?: number };
  /** What becomes of a record that has used its attempts. `park`: its key waits behind it, and the others go on. Default: deadLetter. */
  readonly onFailure?: 'deadLetter' | 'halt' | 'park';
  readonly haltAfterDeadLetters?: number;
}

export interface SubscriptionSummary {
  readonly name: string;
  /** Of this incarnation: one that is deleted and made again has another one. */
  readonly id: string;
  readonly state: 'active' | 'paused' | 'halted';
  /** Why it is not active. */
  readonly reason?: string;
  readonly lastError?: { readonly name: string; readonly message: string; readonly at?: number };
  readonly topics: readonly string[];
  /** The secret is shown when it is made, and never again. */
  readonly target: SubscriptionTarget;
  /** Settings and times, as the API tells them. */
  readonly [field: string]: unknown;
}

export interface SubscriptionPartition extends GroupOffset {
  /** Offsets that retention has overtaken. */
  readonly expired?: number;
  /** What fails there now. */
  readonly retrying?: { readonly offset: number; readonly attempts: number; readonly retryAt: number };
  readonly lastError?: { readonly name: string; readonly message: string; readonly at: number };
}

/** A key that waits behind a record of its own that failed. */
export interface ParkedKey {
  readonly id: string;
  readonly topic: string;
  readonly partition: number;
  readonly key: string;
  /** The key is no text. */
  readonly keyEncoding?: 'base64';
  /** Of the whole key, where only its beginning is shown. */
  readonly keyBytes?: number;
  /** Of the record that is next: the one that fails. */
  readonly offset: number;
  /** Records of the key that are there and not settled. */
  readonly waiting: number;
  readonly attempts: number;
  readonly error: { readonly name: string; readonly message: string } | null;
  /** Epoch ms. */
  readonly parkedAt: number;
  /** Epoch ms; null: it is being delivered, or will be at once. */
  readonly nextRetryAt: number | null;
}

export interface SubscriptionDescription extends SubscriptionSummary {
  readonly lag: number;
  readonly partitions: readonly SubscriptionPartition[];
  /** Topics that it names and that are not there any more. */
  readonly errors: readonly { readonly topic: string; readonly code: string; readonly detail: string }[];
}
