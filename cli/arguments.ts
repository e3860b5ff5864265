import { InvalidArgumentError } from 'commander';
import { parseInstant } from '../shared/wire/instant.ts';

/** Arguments as users write them. All throw what the parser of the command line tells with the option's name. */

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90m`, `12h`, `7d`, or plain milliseconds → ms. */
export function duration(text: string): number {
  const found = /^(\d{1,15})(ms|s|m|h|d)?$/.exec(text);
  const ms = found ? Number(found[1]) * UNITS_MS[found[2] ?? 'ms']! : Number.NaN;
  if (!Number.isSafeInteger(ms)) throw new InvalidArgumentError('It must be a time such as 90s, 30m, 12h or 7d.');
  return ms;
}

/** As `duration`, or `forever` → −1. */
export function retention(text: string): number {
  return text === 'forever' ? -1 : duration(text);
}

/** An integer from `least` on. */
export function wholeNumber(least: number): (text: string) => number {
  return (text) => {
    const number = /^(?:0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN;
    if (Number.isSafeInteger(number) && number >= least) return number;
    throw new InvalidArgumentError(`It must be a whole number, ${least} or more.`);
  };
}

/** `3`, `0,2,5` */
export function partitions(text: string): number[] {
  return text.split(',').map(wholeNumber(0));
}

/** A place in a log: an end, a time (epoch ms), or an offset. */
export type Place = 'earliest' | 'latest' | { readonly at: number } | { readonly offset: number };

/** `earliest`, `latest`, an offset, an RFC 3339 time, a date, or how long ago, such as `15m`. @param now epoch ms */
export function place(now: () => number): (text: string) => Place {
  return (text) => {
    if (text === 'earliest' || text === 'latest') return text;
    if (/^\d+$/.test(text)) return { offset: wholeNumber(0)(text) };
    if (/^\d+(?:ms|s|m|h|d)$/.test(text)) return { at: now() - duration(text) };
    try {
      return { at: parseInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text, 'time') };
    } catch {
      throw new InvalidArgumentError(
        'It must be earliest, latest, an offset, a time such as 2026-01-31T12:00:00Z, or how long ago, such as 15m.',
      );
    }
  };
}
