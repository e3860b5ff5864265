// Bounds of parked keys: each a constant with its reason.

/** Keys of one partition that are parked at a time: one more is no poison, but an outage. */
export const PARKED_KEYS_MAX = 32;
/** Records of one parked key that its partition passes over before the subscription is halted. */
export const PARKED_RECORDS_MAX = 100_000;
/** How much of a parked key is kept, to be shown. */
export const LANE_KEY_BYTES_MAX = 256;
/** Share of a record's life before whose end its lane gives it up: a dead letter outlives the log. */
export const LANE_LAST_SHARE = 0.1;
/** How often a partition that goes on and on looks whether a parked key can come back. */
export const HAND_BACK_EVERY_MS = 1_000;
