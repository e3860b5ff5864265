/** Every bound and default of the SDK, with its unit in the name and its reason beside it. */

import { GATEWAY_TIMEOUT_MS, REQUEST_BYTES_MAX } from '../shared/domain/limits.ts';

// ---- Requests
/** One attempt: longer than the gateway's own, so that its answer is heard. */
export const REQUEST_TIMEOUT_MS_DEFAULT = GATEWAY_TIMEOUT_MS + 5_000;
/** How long a call is repeated when it fails in a way that may pass. */
export const RETRY_WITHIN_MS_DEFAULT = 60_000;
/** Upper end of the first pause between two attempts; it doubles with each. */
export const MIN_BACKOFF_MS_DEFAULT = 100;
export const MAX_BACKOFF_MS_DEFAULT = 10_000;
/** A server may ask for a longer pause than `MAX_BACKOFF_MS_DEFAULT`, but not for any. */
export const RETRY_AFTER_MS_MAX = 60_000;
/** Credentials with less life than this are fetched anew, so that none expires on the way. */
export const CREDENTIALS_REFRESH_MS = 5 * 60_000;

// ---- Producer
/** How long a batch waits for more records before it is sent. */
export const LINGER_MS_DEFAULT = 5;
export const LINGER_MS_MAX = 60_000;
/** A batch is sent once it has this many bytes of keys, values and headers. */
export const BATCH_BYTES_DEFAULT = 256 * 1024;
/** Largest batch: with its header, and with data that does not compress, it still fits into one request. */
export const BATCH_BYTES_MAX = REQUEST_BYTES_MAX - 64 * 1024;
/** Records that wait or are on their way; beyond this `send` waits. */
export const BUFFER_BYTES_DEFAULT = 32 * 1024 * 1024;
/** What a buffered record takes beside its key, value and headers: objects, promises, places in lists. */
export const RECORD_OVERHEAD_BYTES = 256;
/** From `send` to its answer, waiting and retries included. Kafka: `delivery.timeout.ms`. */
export const DELIVERY_TIMEOUT_MS_DEFAULT = 120_000;
/** How long `close` waits for what is not delivered yet. */
export const CLOSE_TIMEOUT_MS_DEFAULT = 30_000;
/** Age at which the number of a topic's partitions is asked for again. Kafka: `metadata.max.age.ms`. */
export const TOPIC_AGE_MS_MAX = 5 * 60_000;
