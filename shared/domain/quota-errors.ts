import { BackboneError, type ErrorData } from './errors.ts';

/** An append is held back, by what the topic's owner has set and not for want of room. Nothing was stored: try again later. */
export abstract class HeldBack extends BackboneError {
  readonly code = 'throttled';
  override readonly retryable = true;
}

/** More was appended to the topic, or by the caller, than its quota allows. */
export class QuotaExceeded extends HeldBack {
  override readonly data: ErrorData;
  /** @param scope whose quota is used up */
  constructor(topic: string, scope: 'topic' | 'caller', retryAfterMs: number) {
    super(`The quota of ${scope === 'topic' ? '' : 'one caller of '}topic '${topic}' is used up for now`);
    this.data = { reason: 'quota', scope, retryAfterMs };
  }
}

/** A group for which the topic waits is too far behind. */
export class ConsumersBehind extends HeldBack {
  override readonly data: ErrorData;
  constructor(topic: string, group: string, lag: number, maxLag: number, retryAfterMs: number) {
    super(`Group '${group}' is ${lag} records behind in topic '${topic}', which takes appends up to ${maxLag}`);
    this.data = { reason: 'lag', group, lag, maxLag, retryAfterMs };
  }
}
