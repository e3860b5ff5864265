/** Every bound and default of the relay, with its unit in the name and its reason beside it. */

/** Lanes of an outbox: so many requests' worth of rows can be on their way at a time, over all relays. */
export const LANES_DEFAULT = 8;
/** Each claim looks at every lane. */
export const LANES_MAX = 256;
/** Rows of one claim. Two requests for a topic with one partition, two hundred rows each for one with ten. */
export const CLAIM_ROWS_DEFAULT = 2_000;
export const CLAIM_ROWS_MAX = 10_000;
/** Bytes of one claim's values as they are stored, but for the last row, and of a request's records: bounds what a lane holds in memory. */
export const CLAIM_BYTES = 2 * 1024 * 1024;
/** Lanes that one relay works on at a time: while one waits for the database, others wait for the backbone. */
export const CONCURRENCY_DEFAULT = 4;
/** How long a lane is its relay's. After a crash it waits as long, and a request must be answered well before. */
export const LEASE_MS_DEFAULT = 30_000;
/** A third of it is for a request: with less, a backbone that is slow for a while would be asked again and again. */
export const LEASE_MS_MIN = 5_000;
export const LEASE_MS_MAX = 600_000;
/** No request begins after this share of the lease, and each has the other: what is left of it is for the database. */
export const SENDING_LEASE_SHARE = 1 / 2;
export const REQUEST_LEASE_SHARE = 1 / 3;
/** How often an outbox without rows is looked at. */
export const POLL_MS_DEFAULT = 500;
export const POLL_MS_MIN = 10;
export const POLL_MS_MAX = 60_000;
/** How long `stop` waits for requests under way. */
export const STOP_TIMEOUT_MS_DEFAULT = 30_000;
/** A name in PostgreSQL is cut after 63 bytes, silently; what is added to it, as `_aside`, must fit. */
export const TABLE_NAME_CHARS_MAX = 50;
/** What is told of a refusal in the row's `error`. */
export const ERROR_CHARS_MAX = 500;
