import { RETENTION_FOREVER } from './limits.ts';

/** How a request was laid out over a topic, drawn once: whoever repeats the request gets the same batches from it. */
export interface Placement {
  /** Partitions that keys were spread over. */
  readonly partitions: number;
  /** The partition of records that have neither a partition nor a key. */
  readonly keyless: number;
  /** Epoch ms: the timestamp of records that bring none. */
  readonly takenAt: number;
}

/** A reservation that a claim points to. */
export interface Pin {
  readonly partition: number;
  /** Id of the reservation, 12 bytes in hex. */
  readonly id: string;
  readonly base: number;
  readonly count: number;
  /** Epoch ms of the reservation. */
  readonly time: number;
}

/** What one `Idempotency-Key` stands for in one incarnation of a topic: this request, at these offsets. */
export interface Claim {
  /** SHA-256 of the canonical request, in hex. */
  readonly fingerprint: string;
  readonly placement: Placement;
  /** One per partition, ascending. */
  readonly pins: readonly Pin[];
  /** Epoch s, by the clock, not by its deletion. */
  readonly expiresAt: number;
}

/** Longest time that a key is remembered. */
export const KEY_RETENTION_MS = 24 * 3_600_000;

/**
 * When a claim made now dies: before the slots that it points to can be gone. After that a repeat is a new append.
 * @param now epoch ms @returns epoch s
 */
export function claimExpiry(retentionMs: number, now: number): number {
  const lifeMs = retentionMs === RETENTION_FOREVER ? KEY_RETENTION_MS : Math.min(KEY_RETENTION_MS, retentionMs / 2);
  return Math.floor((now + lifeMs) / 1_000);
}

/**
 * The claim with another reservation for one partition. That one may live shorter than those before, if the topic's
 * retention was shortened meanwhile; then so does the claim.
 * @param expiresAt epoch s: when a claim made with this reservation would die
 */
export function movePin(claim: Claim, to: Pin, expiresAt: number): Claim {
  const pins = claim.pins.map((pin) => (pin.partition === to.partition ? to : pin));
  return { ...claim, pins, expiresAt: Math.min(claim.expiresAt, expiresAt) };
}

export function pinOf(claim: Claim, partition: number): Pin {
  const pin = claim.pins.find((candidate) => candidate.partition === partition);
  if (pin === undefined) throw new Error(`the claim has no pin for partition ${partition}`);
  return pin;
}
