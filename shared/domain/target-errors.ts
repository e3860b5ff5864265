import { BackboneError } from './errors.ts';

/** Nothing may be pushed there. Nothing was written. */
export class TargetNotAllowed extends BackboneError {
  readonly code = 'target_not_allowed';
  constructor(reason: string) {
    super(`The target is not allowed: ${reason}`);
  }
}
