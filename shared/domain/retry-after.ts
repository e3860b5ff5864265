import { RETRY_AFTER_MS_MAX } from './limits.ts';

const SECONDS = /^\d{1,10}$/;
/** RFC 9110, §5.6.7: the form to send, and the two of old. */
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [\w :-]+(?: GMT)?$/;

/**
 * How long a target asks to be left alone: `Retry-After` in seconds or as a date, at most `RETRY_AFTER_MS_MAX`.
 *
 * @param now epoch ms
 * @returns ms; undefined when it does not ask, or not in a way to be understood
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  const ms = SECONDS.test(text)
    ? Number(text) * 1_000
    : HTTP_DATE.test(text)
      ? Date.parse(inGmt(text)) - now
      : Number.NaN;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), RETRY_AFTER_MS_MAX);
}

function inGmt(date: string): string {
  return date.endsWith('GMT') ? date : `${date} GMT`;
}
