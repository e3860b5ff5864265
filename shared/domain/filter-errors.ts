import { BackboneError, type ErrorData } from './errors.ts';

/** The pattern of a filter is malformed, too large, or can match no record. Nothing was written. */
export class InvalidFilter extends BackboneError {
  readonly code = 'invalid_request';
  override readonly data: ErrorData;
  /**
   * @param reason what is wrong there
   * @param path where, from the filter's root, e.g. `filter.value.total[0].numeric`
   */
  constructor(
    readonly reason: string,
    readonly path: string,
  ) {
    super(`${path}: ${reason}`);
    this.data = { path };
  }
}
