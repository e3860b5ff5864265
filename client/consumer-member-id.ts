import { randomBytes } from 'node:crypto';

/** Crockford's base 32, in which ULIDs are written. */
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_DIGITS = 10;
const RANDOM_DIGITS = 16;

/**
 * What a consumer proposes to be called, a ULID: a join that is repeated is the same member.
 * @param now epoch ms
 */
export function proposedMemberId(now: number): string {
  let time = '';
  for (let left = now, i = 0; i < TIME_DIGITS; i++, left = Math.floor(left / 32)) time = DIGITS[left % 32] + time;
  const chance = Array.from(randomBytes(RANDOM_DIGITS), (byte) => DIGITS[byte % 32]);
  return `new:${time}${chance.join('')}`;
}
