import type { Header } from '../domain/record.ts';

/*
 * W3C Trace Context, as two headers of a record. Source: W3C, "Trace Context", sections 3.2 and 3.3.
 *
 *   traceparent   version "-" trace id, 32 hex digits "-" parent id, 16 "-" flags, 2; lower case, no id all zeros;
 *                 version 00 ends there, a later one may go on behind another "-"
 *   tracestate    what tracing systems add, at most 512 characters; nothing without a traceparent
 */

/** Where in a trace something was produced. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

const TRACEPARENT =
  /^(?:00-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}|(?!00|ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-[!-~]{0,200})?)$/;
const TRACESTATE = /^[ -~]{1,512}$/;
/** How the attributes of a CloudEvent are named among a record's headers. */
const OF_EVENTS = 'ce_';

/** @returns undefined when it is no trace: then whoever gets it begins one of its own */
export function traceContext(traceparent: unknown, tracestate?: unknown): TraceContext | undefined {
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return undefined;
  return { traceparent, ...(typeof tracestate === 'string' && TRACESTATE.test(tracestate) && { tracestate }) };
}

/** That of a record: its event's own, where it came in as a CloudEvent, else that of its headers. */
export function traceContextOf(headers: readonly Header[]): TraceContext | undefined {
  const named = (prefix: string) =>
    traceContext(onlyText(headers, `${prefix}traceparent`), onlyText(headers, `${prefix}tracestate`));
  return named(OF_EVENTS) ?? named('');
}

/** What all of the records have in common. */
export function commonTraceContext(
  records: readonly { readonly headers: readonly Header[] }[],
): TraceContext | undefined {
  const [first, ...others] = records.map(({ headers }) => traceContextOf(headers));
  const isSame = others.every(
    (other) => other?.traceparent === first?.traceparent && other?.tracestate === first?.tracestate,
  );
  return isSame ? first : undefined;
}

/** One that repeats says nothing. */
function onlyText(headers: readonly Header[], name: string): string | undefined {
  const [found, ...more] = headers.filter((header) => header.name === name);
  if (found === undefined || found.value === null || more.length > 0) return undefined;
  return Buffer.from(found.value).toString('latin1');
}
