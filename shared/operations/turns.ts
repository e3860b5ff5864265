/** How long calls that do not say whose turn it is find the same partitions in turn. */
export const TURN_MS = 1_000;

/** A number that looks like chance, so that no rhythm of calls meets the same partitions every time. @returns 24 bits */
export function mixed(slot: number): number {
  return Math.imul(slot, 0x9e3779b1) >>> 8;
}
