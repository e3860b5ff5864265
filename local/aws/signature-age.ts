/** Age above which AWS refuses a signature. Source: AWS, "Troubleshoot Signature Version 4", 15 minutes either way. */
export const SIGNATURE_LIFE_MS = 15 * 60_000;

/** `20260131T235959Z` as epoch ms, or NaN. */
export function parseAmzDate(text: string): number {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text);
  return parts ? Date.parse(`${parts[1]}-${parts[2]}-${parts[3]}T${parts[4]}:${parts[5]}:${parts[6]}Z`) : Number.NaN;
}

export function amzDate(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`;
}

/** Why a signature of this time (as in `X-Amz-Date`) is refused, in AWS's words; undefined: it is current. */
export function staleness(date: string, now: number): string | undefined {
  const signedAt = parseAmzDate(date);
  if (signedAt < now - SIGNATURE_LIFE_MS) {
    return `Signature expired: ${date} is now earlier than ${amzDate(now - SIGNATURE_LIFE_MS)} (${amzDate(now)} - 15 min.)`;
  }
  if (signedAt > now + SIGNATURE_LIFE_MS) {
    return `Signature not yet current: ${date} is still later than ${amzDate(now + SIGNATURE_LIFE_MS)} (${amzDate(now)} + 15 min.)`;
  }
  return undefined;
}
