import type { ErrorCode } from '../domain/errors.ts';
import { JSON_TYPE } from './media-type.ts';
import { type Json, ref } from './openapi-schemas.ts';

/** What one route takes and answers. */
export interface Operation {
  readonly summary: string;
  /** Names in `PARAMETERS`, those of the path included. */
  readonly takes?: readonly string[];
  /** Media types with their schemas. */
  readonly body?: { readonly required: boolean; readonly content: Json };
  /** Status → description and media types with their schemas, for what is no refusal. */
  readonly answers: { readonly [status: string]: Json };
  readonly refuses: readonly ErrorCode[];
}

/** A JSON body or answer of this schema. */
export const json = (schema: string, example?: Json) => ({
  [JSON_TYPE]: { schema: ref('schemas', schema), ...(example !== undefined && { example }) },
});
export const answer = (description: string, content: Json, more = {}): Json => ({ description, content, ...more });
export const count = { schema: { type: 'integer' } };

/** What every call of the store may run into. */
export const STORE: readonly ErrorCode[] = ['throttled', 'unavailable'];
/** What every body may be refused for. */
export const BODY: readonly ErrorCode[] = ['request_too_large', 'unsupported_media_type'];
