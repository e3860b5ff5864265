import { BackboneError, type ErrorData } from './errors.ts';

/** Nobody knows who calls. Nothing was done. */
export class Unauthenticated extends BackboneError {
  readonly code = 'unauthenticated';
}

/** The caller is known, and may not do this: an administrator can change that. Nothing was written. */
export class Forbidden extends BackboneError {
  readonly code = 'forbidden';
  override readonly data: ErrorData;
  /**
   * @param right that is missing; `any`: there is none
   * @param used with what; all of it together
   */
  constructor(
    readonly principal: string,
    right: string,
    used: { readonly topic?: string; readonly group?: string; readonly target?: string },
  ) {
    const { topic, group, target } = used;
    const names = [
      ...(topic === undefined ? [] : [`topic '${topic}'`]),
      ...(group === undefined ? [] : [`group '${group}'`]),
      ...(target === undefined ? [] : [`target '${target}'`]),
    ].join(', ');
    const what = right === 'any' ? 'no right at all' : `no right '${right}'`;
    super(`${principal} has ${what} over ${names}`);
    this.data = {
      ...{ principal, right },
      ...(topic !== undefined && { topic }),
      ...(group !== undefined && { group }),
      ...(target !== undefined && { target }),
    };
  }
}

/** No API key has this id, or it was revoked. */
export class ApiKeyNotFound extends BackboneError {
  readonly code = 'api_key_not_found';
  override readonly data: ErrorData;
  constructor(id: string) {
    super(`There is no API key '${id}'`);
    this.data = { id };
  }
}
