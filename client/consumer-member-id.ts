/** Crockford's base 32, in which ULIDs are written. */
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_DIGITS = 10;
const RANDOM_DIGITS = 16;

/**
 * What a consumer proposes to be called: a join that is repeated is the same member.
 * @param now epoch ms @param random 0 ≤ n < 1
 */
export function proposedMemberId(now: number, random: () => number): string {
  let time = '';
  for (let left = now, i = 0; i < TIME_DIGITS; i++, left = Math.floor(left / 32)) time = DIGITS[left % 32] + time;
  const chance = Array.from({ length: RANDOM_DIGITS }, () => DIGITS[Math.floor(random() * 32)]);
  return `new:${time}${chance.join('')}`;
}
