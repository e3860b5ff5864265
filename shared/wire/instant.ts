import { InvalidRequest } from '../domain/errors.ts';

// RFC 3339 §5.6: date "T" time [ "." digits ] ( "Z" / offset ); the letters in either case.
const RFC_3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/**
 * An RFC 3339 time with its offset → epoch ms; what is finer than a millisecond is cut off.
 * @throws {InvalidRequest} for any other spelling, a date that does not exist, or a leap second
 */
export function parseInstant(text: string, name: string): number {
  const ms = instantOf(text);
  if (ms !== undefined) return ms;
  throw new InvalidRequest(
    `'${name}' must be a time as in RFC 3339 with its offset, such as 2026-01-01T00:00:00Z or 2026-01-01T02:00:00%2B02:00`,
    { parameter: name },
  );
}

/** The same, for whoever refuses in words of its own. @returns undefined where `parseInstant` refuses */
export function instantOf(text: string): number | undefined {
  const found = RFC_3339.exec(text);
  if (found === null) return undefined;
  const [year, month, day, hour, minute, second] = found.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const local = new Date(0);
  local.setUTCFullYear(year, month - 1, day);
  local.setUTCHours(hour, minute, second, Number((found[7] ?? '').padEnd(3, '0').slice(0, 3)));
  // A part that is out of range spills over into the next: then the parts read back differ.
  if (local.getUTCFullYear() !== year || local.getUTCMonth() !== month - 1 || local.getUTCDate() !== day)
    return undefined;
  if (local.getUTCHours() !== hour || local.getUTCMinutes() !== minute || local.getUTCSeconds() !== second)
    return undefined;
  const [offsetHours, offsetMinutes] = [Number(found[9] ?? 0), Number(found[10] ?? 0)];
  if (offsetHours > 23 || offsetMinutes > 59) return undefined;
  const offsetMs = (offsetHours * 60 + offsetMinutes) * 60_000;
  return local.getTime() - (found[8] === '-' ? -offsetMs : offsetMs);
}
