/** Every bound and default of consumers and readers, with its unit in the name and its reason beside it. */

// ---- Membership. Source: the API, "Consumer groups (pull)".
export const SESSION_TIMEOUT_MS_DEFAULT = 30_000;
export const SESSION_TIMEOUT_MS_MIN = 6_000;
export const SESSION_TIMEOUT_MS_MAX = 1_800_000;
export const INSTANCE_ID_CHARS_MAX = 64;
/** Heartbeats per session: one may get lost, and the next one still comes in time. */
export const HEARTBEATS_PER_SESSION = 3;
/** One attempt of a call of the group has a third of the session, and at least this: a function may have to start. */
export const GROUP_CALL_TIMEOUT_MS_MIN = 5_000;

// ---- Polls
/** First pause after a poll that brought nothing; it doubles from poll to poll. */
export const MIN_POLL_MS_DEFAULT = 100;
/** Longest pause. An idle consumer makes a poll per 2 s then: about 1.3 million a month. */
export const MAX_POLL_MS_DEFAULT = 2_000;
export const MAX_RECORDS_DEFAULT = 500;
export const MAX_BYTES_DEFAULT = 1_048_576;

/** A member of very many partitions names them in each call; names and digits compress well. */
export const GZIP_ABOVE_CHARS = 16 * 1024;

// ---- Handlers
/** A handler that shows no sign of life for so long is taken for one that never returns. Kafka: `max.poll.interval.ms`. */
export const PROCESSING_TIMEOUT_MS_DEFAULT = 300_000;
/** Processed offsets are committed at least this often, if only by a heartbeat. Kafka: `auto.commit.interval.ms`. */
export const AUTO_COMMIT_INTERVAL_MS_DEFAULT = 5_000;
/** How long one partition's messages are handled in a row before another one has its turn. */
export const TURN_MS = 50;
/** As for subscriptions. */
export const HANDLER_ATTEMPTS_DEFAULT = 5;
export const HANDLER_MIN_BACKOFF_MS_DEFAULT = 500;
export const HANDLER_MAX_BACKOFF_MS_DEFAULT = 60_000;
/** So many dead letters in a row on one partition are an outage, not bad records. As for subscriptions. */
export const HALT_AFTER_DEAD_LETTERS_DEFAULT = 10;
/** What a dead letter tells of an error: enough to see what it was, and a small item. */
export const ERROR_NAME_CHARS_MAX = 128;
export const ERROR_MESSAGE_CHARS_MAX = 1_024;

// ---- Stop and trouble
/** How long a stop waits for handlers that have records in hand. */
export const STOP_TIMEOUT_MS_DEFAULT = 30_000;
/** Time for the last commit and the leave, which come after that wait. */
export const FAREWELL_MS = 5_000;
/** How long a consumer tries to reach the backbone before it gives up. */
export const RECONNECT_WITHIN_MS_DEFAULT = 300_000;
