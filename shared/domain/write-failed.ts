/**
 * A write that was not confirmed. It never reaches a caller as it is: the operation finds out what became of it, or
 * answers that this is unknown.
 */
export class WriteFailed extends Error {
  /** Whether some attempt may have been carried out, or may still be: false means that nothing was written. */
  readonly mayHaveLanded: boolean;
  readonly reason: 'throttled' | 'late' | 'unreachable';

  constructor(reason: WriteFailed['reason'], mayHaveLanded: boolean, cause: unknown) {
    super(`write failed (${reason}), ${mayHaveLanded ? 'outcome unknown' : 'nothing was written'}`, { cause });
    this.name = 'WriteFailed';
    this.reason = reason;
    this.mayHaveLanded = mayHaveLanded;
  }
}
