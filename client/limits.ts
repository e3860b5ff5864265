/** Every bound and default of the SDK, with its unit in the name and its reason beside it. */

import { GATEWAY_TIMEOUT_MS, REQUEST_BYTES_MAX, RETENTION_MS_MIN } from '../shared/domain/limits.ts';

// ---- Requests
/** What a timer can wait; what is longer would fire at once. Source: Node.js, `setTimeout`. */
export const TIMER_MS_MAX = 2 ** 31 - 1;
/** One attempt: longer than the gateway's own, so that its answer is heard. */
export const REQUEST_TIMEOUT_MS_DEFAULT = GATEWAY_TIMEOUT_MS + 5_000;
/** How long a call is repeated when it fails in a way that may pass. */
export const RETRY_WITHIN_MS_DEFAULT = 60_000;
/** Upper end of the first pause between two attempts; it doubles with each. */
export const MIN_BACKOFF_MS_DEFAULT = 100;
export const MAX_BACKOFF_MS_DEFAULT = 10_000;
/** A server may ask for a longer pause than `MAX_BACKOFF_MS_DEFAULT`, but not for any. */
export const RETRY_AFTER_MS_MAX = 60_000;
/** How long a topic is waited for that holds appends back and does not say for how long. */
export const RETRY_AFTER_MS_DEFAULT = 1_000;
/** Once a topic has held back an append, its requests go one at a time for so long: who is refused again tries no more. */
export const SLOW_FOR_MS = 5_000;
/** Credentials with less life than this are fetched anew, so that none expires on the way. */
export const CREDENTIALS_REFRESH_MS = 5 * 60_000;
/** With less life than this they are not used, though there are no others: a request takes its time. */
export const CREDENTIALS_LIFE_MS_MIN = 60_000;
/** A provider that has not answered for so long is asked once more. */
export const CREDENTIALS_WAIT_MS = 30_000;

// ---- Producer
/** How long a batch waits for more records before it is sent. */
export const LINGER_MS_DEFAULT = 5;
export const LINGER_MS_MAX = 60_000;
/** A batch is sent once it has this many bytes, before compression. */
export const BATCH_BYTES_DEFAULT = 256 * 1024;
/** Largest batch that still fits into one request when its data does not compress. */
export const BATCH_BYTES_MAX = REQUEST_BYTES_MAX - 64 * 1024;
/** What a record takes in a batch beside key, value and headers, at most; and each header beside name and value. */
export const RECORD_FRAME_BYTES = 40;
export const HEADER_FRAME_BYTES = 10;
/** Records that wait or are on their way; beyond this `send` waits. Kafka: `buffer.memory`. */
export const BUFFER_BYTES_DEFAULT = 32 * 1024 * 1024;
/** What a buffered record takes in memory beside its bytes, and each call beside its records. Measured. */
export const RECORD_OVERHEAD_BYTES = 512;
export const CALL_OVERHEAD_BYTES = 1_536;
/** From `send` to its answer, waiting and retries included. Kafka: `delivery.timeout.ms`. */
export const DELIVERY_TIMEOUT_MS_DEFAULT = 120_000;
/** Records of one batch came within this share of that time: the last one has nearly as much of it as the first. */
export const BATCH_TIME_SHARE = 1 / 10;
/** Repeats are known as such only while the backbone keeps the key: half of the shortest retention, and a margin. */
export const DELIVERY_TIMEOUT_MS_MAX = RETENTION_MS_MIN / 4;
/** Requests on their way at a time; each is for another partition. */
export const REQUESTS_IN_FLIGHT_DEFAULT = 32;
export const REQUESTS_IN_FLIGHT_MAX = 1_024;
/** How long `close` waits for what is not delivered yet. */
export const CLOSE_TIMEOUT_MS_DEFAULT = 30_000;
/** Age at which the number of a topic's partitions is asked for again. Kafka: `metadata.max.age.ms`. */
export const TOPIC_AGE_MS_MAX = 5 * 60_000;

// ---- Uploads
/** One transfer of a payload to the bucket; slow lines need this long for large ones. */
export const UPLOAD_TIMEOUT_MS_DEFAULT = 15 * 60_000;
