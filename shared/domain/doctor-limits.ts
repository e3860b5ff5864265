/** Bounds of what the doctor looks at, as those of everything else are in `limits.ts`. */

/** Findings of one kind that are told one by one; of more, how many. */
export const FINDINGS_PER_CODE_MAX = 100;
/** Claims, objects and logs that one look goes through unless it is told otherwise: an hour's work, and cents. */
export const DOCTOR_LOOKS_DEFAULT = 1_000_000;
/** Partitions that it remembers, so that the positions of many groups are compared with one look. */
export const DOCTOR_PARTITIONS_REMEMBERED = 100_000;
/** Times that a head is looked at anew because it was moved meanwhile. */
export const DOCTOR_REPAIR_TRIES_MAX = 3;
/** A run that died is followed by another within the minute: a lease as old as that is one that nobody took up. */
export const SWEEP_STALLED_MS = 10 * 60_000;
/** A purge waits for `LATE_MAX_MS` and then deletes 100,000 items a run: a day is enough for most. */
export const PURGE_OVERDUE_MS = 24 * 3_600_000;
/** Source: AWS, "BatchGetItem": keys per call. */
export const BATCH_GET_MAX = 100;
