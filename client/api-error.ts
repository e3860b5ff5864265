import { PROBLEM_TYPE, parseMediaType } from '../shared/wire/media-type.ts';
import { type Effect, type ErrorData, VertebraError } from './errors.ts';

/** What the API, or the gateway before it, answered instead of what was asked for. */
export class ApiError extends VertebraError {
  /** HTTP status; 207 for one entry of an answer that tells of several things. */
  readonly status: number;
  /** What went wrong, in the API's words. */
  readonly detail: string;
  /** To be quoted when asking what happened. */
  readonly requestId: string | undefined;
  /** How long the API asks to wait before the call is made again. */
  readonly retryAfterMs: number | undefined;

  constructor(facts: {
    status: number;
    code: string;
    detail: string;
    retryable: boolean;
    effect: Effect;
    data?: ErrorData;
    requestId?: string | undefined;
    retryAfterMs?: number | undefined;
  }) {
    super(facts.code, `${facts.detail} (${facts.status} ${facts.code})`, facts);
    this.status = facts.status;
    this.detail = facts.detail;
    this.requestId = facts.requestId;
    this.retryAfterMs = facts.retryAfterMs;
  }
}

/** Codes after which the same request may be made again. `internal`: the cause is unknown, and may pass. */
const RETRYABLE = new Set(['throttled', 'unavailable', 'outcome_unknown', 'idempotency_in_progress', 'internal']);
/** Codes that leave open what was stored. Every other refusal of the API means: nothing. */
const OPEN = new Set(['outcome_unknown', 'idempotency_in_progress', 'internal']);
/** What a refusal means that the gateway made by itself: it has no code, so these stand in. */
const GATEWAY_CODES: Readonly<Record<number, string>> = {
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  413: 'request_too_large',
  429: 'throttled',
  503: 'unavailable',
  504: 'outcome_unknown',
};

/**
 * The error that an answer with this status stands for.
 * @param changes whether the call could change anything
 */
export function apiError(status: number, headers: Headers, bytes: Uint8Array, changes: boolean): ApiError {
  const isProblem = parseMediaType(headers.get('content-type') ?? '').essence === PROBLEM_TYPE;
  const { code, detail, message, requestId, type: _, title: __, status: ___, ...data } = fieldsOf(bytes);
  const retryAfterMs = retryAfterOf(data.retryAfterMs, headers.get('retry-after'));
  const said = { requestId: textOf(requestId) ?? headers.get('apigw-requestid') ?? undefined, retryAfterMs };
  if (isProblem && typeof code === 'string') {
    const effect = changes && OPEN.has(code) ? 'unknown' : 'none';
    return new ApiError({
      ...said,
      status,
      code,
      detail: textOf(detail) ?? code,
      data,
      effect,
      retryable: RETRYABLE.has(code),
    });
  }
  return new ApiError({
    ...said,
    status,
    code: GATEWAY_CODES[status] ?? `http_${status}`,
    detail: textOf(message) ?? `The gateway answered ${status}`,
    // Behind a gateway's 5xx the function may have done its work; what the gateway refuses never reached it.
    effect: changes && status >= 500 ? 'unknown' : 'none',
    retryable: status === 408 || status === 429 || status >= 500,
  });
}

/** One `error` within an answer that tells of several things (207, or entries of a group's answers). */
export interface EntryProblem {
  readonly code: string;
  readonly detail?: string;
  readonly retryable?: boolean;
  readonly [data: string]: unknown;
}

export function entryError({ code, detail, retryable, ...data }: EntryProblem): ApiError {
  return new ApiError({
    status: 207,
    code,
    detail: detail ?? code,
    retryable: retryable ?? RETRYABLE.has(code),
    effect: OPEN.has(code) ? 'unknown' : 'none',
    data,
    retryAfterMs: retryAfterOf(data.retryAfterMs, null),
  });
}

function fieldsOf(bytes: Uint8Array): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {};
  } catch {
    return {}; // not the API's: a page of some proxy
  }
}

/** The problem's own figure is exact; the header is whole seconds, or a date. */
function retryAfterOf(exact: unknown, header: string | null): number | undefined {
  if (typeof exact === 'number' && exact >= 0) return exact;
  if (header === null) return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined);
