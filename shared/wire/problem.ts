import { STATUS_CODES } from 'node:http';
import { BackboneError, type ErrorCode, type ErrorData } from '../domain/errors.ts';
import type { ApiAnswer } from './http-answer.ts';
import { PROBLEM_TYPE } from './media-type.ts';

/** The one table from refusal to HTTP status: it does not build while a code is missing. */
export const STATUS = {
  invalid_request: 400,
  upload_invalid: 400,
  target_not_allowed: 400,
  unauthenticated: 401,
  forbidden: 403,
  target_forbidden: 403,
  not_found: 404,
  api_key_not_found: 404,
  topic_not_found: 404,
  partition_not_found: 404,
  group_not_found: 404,
  member_not_found: 404,
  dead_letter_not_found: 404,
  parked_key_not_found: 404,
  subscription_not_found: 404,
  method_not_allowed: 405,
  partitions_cannot_shrink: 409,
  idempotency_in_progress: 409,
  instance_fenced: 409,
  fenced: 409,
  commit_regressed: 409,
  group_active: 409,
  group_full: 409,
  no_committed_offset: 409,
  group_is_subscription: 409,
  group_is_pull: 409,
  too_many_subscriptions: 409,
  record_too_large: 413,
  request_too_large: 413,
  unsupported_media_type: 415,
  offset_out_of_range: 416,
  idempotency_key_reused: 422,
  throttled: 429,
  internal: 500,
  payload_missing: 500,
  payload_corrupt: 500,
  unavailable: 503,
  // Not 503: there nothing was stored, here it may have been.
  outcome_unknown: 504,
} as const satisfies Record<ErrorCode, number>;

/** RFC 9457: what every refusal looks like. `code` is stable; data stands beside it. */
export interface Problem {
  readonly type: 'about:blank';
  /** The status in words. */
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  /** To be quoted when asking what happened: the log has it too. */
  readonly requestId: string;
  readonly [data: string]: ErrorData[string];
}

/** The code of whatever was thrown: a named refusal's own, else `internal`. */
export function codeOf(error: unknown): ErrorCode {
  return error instanceof BackboneError ? error.code : 'internal';
}

/** A refusal in words; what went wrong inside is the log's alone. */
export function detailOf(error: unknown): string {
  return error instanceof BackboneError && error.code !== 'internal' ? error.message : 'Something failed inside';
}

/** Anything thrown → the answer. What is not a named refusal says nothing about itself but the request id. */
export function problemAnswer(error: unknown, requestId: string): ApiAnswer {
  const code = codeOf(error);
  const data = error instanceof BackboneError ? error.data : {};
  const problem: Problem = {
    ...data,
    type: 'about:blank',
    title: STATUS_CODES[STATUS[code]]!,
    status: STATUS[code],
    detail: code === 'internal' ? `Something failed inside; the log knows request ${requestId}` : detailOf(error),
    code,
    requestId,
  };
  return {
    status: problem.status,
    headers: {
      'content-type': PROBLEM_TYPE,
      ...(code === 'unauthenticated' && { 'www-authenticate': 'Bearer' }),
      ...headersOf(data),
    },
    body: JSON.stringify(problem),
  };
}

function headersOf(data: ErrorData): Record<string, string> {
  const headers: Record<string, string> = {};
  if (typeof data.retryAfterMs === 'number')
    headers['retry-after'] = String(Math.max(1, Math.ceil(data.retryAfterMs / 1_000)));
  if (Array.isArray(data.allowed)) headers.allow = data.allowed.join(', ');
  return headers;
}
