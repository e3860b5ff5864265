// Of dead letters that are given back to the members of a group. What subscriptions have as well is in `limits.ts`.

/** How long a member has a redriven record before it is given again, if it says nothing of it; no less than its session. */
export const REDRIVE_GIVEN_MS = 30_000;
/** Times that a redriven record is given to members that say nothing of it: then it is a dead letter again. */
export const REDRIVE_GIVEN_MAX = 5;
/** Redriven records that a member says something of in one call. */
export const REDRIVEN_REPORTS_MAX = 1_000;
/** Redriven records of one poll: each is a read and a write before its answer. */
export const POLL_REDRIVES_MAX = 32;
/** So many redrives of a group whose members poll that fail in a row are an outage: the others are taken back. */
export const REDRIVES_FAILED_MAX = 10;
/** Redrives that one call takes back. */
export const REDRIVES_RECALLED_MAX = 100;
/** How long polls look for redrives that were marked: no call that marks them takes longer. */
export const REDRIVES_MARKED_MS = 60_000;
/** Shortest time that a redrive is put off whose target is away: one that asks for none is not called in a row. */
export const REDRIVE_AWAY_MS_MIN = 1_000;
