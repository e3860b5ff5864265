/** Every bound of the backbone, with its unit in the name and its source or reason beside it. */

// ---- Topics and names
/** Source: Kafka, `Topic.MAX_NAME_LENGTH`. */
export const NAME_CHARS_MAX = 249;
export const PARTITIONS_MAX = 1_024;
export const PARTITIONS_DEFAULT = 8;
/** Shortest retention. Late writes, voids and claims rest on it being longer than 2 × `LATE_MAX_MS`. */
export const RETENTION_MS_MIN = 3_600_000;
export const RETENTION_MS_DEFAULT = 604_800_000;
/** Records are kept for ever. */
export const RETENTION_FOREVER = -1;
export const LIST_LIMIT_MAX = 1_000;
export const LIST_LIMIT_DEFAULT = 100;

// ---- Produce
export const RECORDS_PER_REQUEST_MAX = 1_000;
/** Key + value + headers of one record, before compression. */
export const RECORD_BYTES_MAX = 4 * 1024 * 1024;
/**
 * Request body, decoded and decompressed. Source: AWS Lambda, "Invocation payload, synchronous: 6 MB", of which a
 * binary body has 3/4 left after base64, and the rest of the event needs room.
 */
export const REQUEST_BYTES_MAX = 4_500_000;
/** Largest item of DynamoDB, attribute names included. Source: AWS, DynamoDB quotas, "Item size". */
export const ITEM_BYTES_MAX = 400 * 1024;
/** Largest stored batch that is kept inside its slot; leaves `ITEM_BYTES_MAX` room for everything else. */
export const INLINE_BATCH_BYTES_MAX = 350 * 1024;
export const IDEMPOTENCY_KEY_CHARS_MAX = 255;

// ---- Uploads
/** Largest payload of one presigned PUT. Source: AWS, S3, "Uploading objects": "a single PUT operation … up to 5 GB". */
export const UPLOAD_BYTES_MAX = 5 * 1024 ** 3;
/** A record must name an upload within this time after it was announced; then it goes. */
export const UPLOAD_LIFE_MS = 24 * 3_600_000;
/** How long after it was handed out a presigned URL lets a transfer begin, in either direction. */
export const PRESIGNED_LIFE_MS = 3_600_000;

// ---- Fetch
export const FETCH_RECORDS_MAX = 1_000;
export const FETCH_RECORDS_DEFAULT = 500;
export const FETCH_BYTES_MAX = 5_242_880;
export const FETCH_BYTES_DEFAULT = 1_048_576;
export const FETCH_WAIT_MS_MAX = 20_000;
/**
 * Slots that a container's first read of a partition asks a Query for: one may have 32 KB, 8 read units. What comes tells how
 * many more are wanted.
 */
export const SLOTS_AT_FIRST = 4;
/** Spilled batches that one read fetches ahead, as far as the answer can take them. */
export const SPILLS_AHEAD_MAX = 4;
/** Bytes that one stored batch may inflate to; more is `payload_corrupt`. */
export const INFLATED_BATCH_BYTES_MAX = 64 * 1024 * 1024;

// ---- Append protocol (docs/adr/0001)
/** A reservation younger than this is in flight; older and unfilled, it is abandoned and may be voided. */
export const SETTLE_AFTER_MS = 2_000;
/** No attempt of `reserve` or `fill` is sent later than this after the time in its reservation. */
export const FILL_DEADLINE_MS = 1_000;
/** The same two for a batch whose payload goes to S3 first, or one of very many; the reservation tells, so readers wait. */
export const SLOW_SETTLE_AFTER_MS = 10_000;
export const SLOW_FILL_DEADLINE_MS = 5_000;
/** A batch larger than this, compressed, goes to S3. Price alone breaks even at 8 KB; above, S3 costs latency. */
export const SPILL_ABOVE_BYTES_DEFAULT = 32 * 1024;
/** How long an object whose slot was never filled may be left behind. */
export const INTENT_LIFE_MS = 24 * 3_600_000;
/** No write of an append lands later than this after its reservation's time: AWS refuses signatures older than 15 min. */
export const LATE_MAX_MS = 20 * 60_000;
/** No attempt to make a head is sent later than this after it was noted that it may exist, so none lands after `LATE_MAX_MS`. */
export const HEAD_DEADLINE_MS = 60_000;
/** Age above which a request's signature is refused. Source: AWS, "Signature Version 4", 15 minutes (S3; others 5 to 15). */
export const SIGNATURE_LIFE_MS = 15 * 60_000;
/** Reservations that a head remembers, and that a slot tells of its predecessors. */
export const REGISTER_LENGTH = 8;
/** Voids that one call may put before it answers what it has. */
export const VOID_PUTS_MAX = 100;
/** A void outlives every late write: `expiresAt` = settler's clock + max(this, retention). */
export const VOID_LIFE_MS_MIN = 24 * 3_600_000;
/** Times an append reserves anew after it was fenced, before it gives up. */
export const FENCES_MAX = 4;
/** Times an append reserves anew after it missed its own deadline, before it gives up. */
export const LATE_TRIES_MAX = 2;
/** A reader moves `settled` once it has proven this many offsets. */
export const SETTLED_EVERY_OFFSETS = 1_000;
/** A walk moves `settled` when it ends this far past it. */
export const SETTLED_AFTER_WALK_OFFSETS = 100;
/** How far clocks of functions may differ before a time → offset answer may miss records. NTP keeps Lambda's within 1 ms. */
export const CLOCK_SKEW_MS = 5_000;
/** How wrong a sample of the service's clock may be: cut to the second, and as old as one attempt may take. */
export const CLOCK_SAMPLE_ERROR_MS = 3_000;
/** Largest correction that voids may teach a writer's clock. Whoever settles by a clock that AWS has set right is no further ahead. */
export const CLOCK_CORRECTION_MS_MAX = 10_000;

// ---- Consumer groups
export const GROUP_MEMBERS_MAX = 1_000;
/** Of all topics of a group together: what one assignment can hold, in one item, and one check can hand out. */
export const GROUP_PARTITIONS_MAX = 4_096;
/** How far clocks of functions may differ before hand-overs begin early or late. Their safety rests on epochs alone. */
export const CLOCK_MARGIN_MS = 2_000;
/** A check of a group that is not finished by then was broken off: somebody else begins another. */
export const GROUP_CHECK_MS = 5_000;
/**
 * Least time between two assignments of which the later is made for joins: 50 members that start within a second are
 * assigned three times, not fifty.
 */
export const JOINS_GATHERED_MS = 500;
/** How long a join waits for a check that somebody else is at, and the pauses in which it looks again. */
export const JOIN_WAIT_MS = 1_500;
export const JOIN_PAUSE_MS_MIN = 50;
export const JOIN_PAUSE_MS_MAX = 150;
/** Partitions that one poll takes, and that it looks at: each is a call or two. */
export const POLL_PARTITIONS_MAX = 32;
/** Of a static member's `instanceId`. */
export const INSTANCE_ID_CHARS_MAX = 64;
/** How long an assignment is kept that is no longer in force. One that is gets written anew at half of it. */
export const ASSIGNMENT_LIFE_MS = 7 * 24 * 3_600_000;
/** How long the item of a member is kept that nobody expired, because its group has no polling member any more. */
export const MEMBER_LEFTOVER_MS = 24 * 3_600_000;
/** Bytes that one stored assignment may inflate to; more is damage. */
export const INFLATED_PLAN_BYTES_MAX = 4 * 1024 * 1024;
/** Payload of a dead letter that stays in its item; a larger one goes to S3. Leaves `ITEM_BYTES_MAX` room for the rest. */
export const INLINE_DEAD_LETTER_BYTES_MAX = 256 * 1024;
/** What a dead letter was corrected to, likewise: beside its payload, and the failures that it remembers. */
export const INLINE_CORRECTION_BYTES_MAX = 64 * 1024;
/** Source: AWS, "TransactWriteItems": actions per call. */
export const TRANSACTION_ACTIONS_MAX = 100;
export const SESSION_TIMEOUT_MS_DEFAULT = 30_000;
/** Shortest session: a third of it, in which a heartbeat comes, must be no less than the clocks' margin. */
export const SESSION_TIMEOUT_MS_MIN = 6_000;
export const SESSION_TIMEOUT_MS_MAX = 1_800_000;
/** Topics that one member names at most: its item, which every check reads, stays below 70 KB. */
export const MEMBER_TOPICS_MAX = 256;
/** Metadata of a commit, in UTF-8: the position stays within the KB that makes each write of it one unit. */
export const METADATA_BYTES_MAX = 255;
/** What a dead letter tells of the error, in UTF-8: enough to see what it was. */
export const DEAD_LETTER_ERROR_NAME_BYTES_MAX = 512;
export const DEAD_LETTER_ERROR_BYTES_MAX = 4_096;

// ---- Push subscriptions
/** Of one topic: what one wake-up is spread to. Groups that poll have no such limit. */
export const TOPIC_SUBSCRIPTIONS_MAX = 1_000;
/** Of one subscription: its item, which every delivery reads, stays small. */
export const SUBSCRIPTION_TOPICS_MAX = 64;
export const PUSH_RECORDS_DEFAULT = 100;
export const PUSH_RECORDS_MAX = 1_000;
export const PUSH_BYTES_DEFAULT = 1024 * 1024;
export const PUSH_BYTES_MAX = 5 * 1024 * 1024;
/** Of targets that are waited for as long as their subscriber says; a function has a timeout of its own. */
export const PUSH_TIMEOUT_MS_DEFAULT = 15_000;
export const PUSH_TIMEOUT_MS_MIN = 1_000;
export const PUSH_TIMEOUT_MS_MAX = 60_000;
/** Leaves a delivery 60 s of Lambda's 15 minutes to get to the call and away from it. */
export const FUNCTION_TIMEOUT_MS_MAX = 840_000;
export const PUSH_ATTEMPTS_DEFAULT = 5;
export const PUSH_ATTEMPTS_MAX = 100;
export const PUSH_BACKOFF_MS_MIN = 10;
export const PUSH_BACKOFF_MS_DEFAULT = 500;
export const PUSH_BACKOFF_MS_MAX_DEFAULT = 60_000;
export const PUSH_BACKOFF_MS_MAX = 86_400_000;
/** Dead letters that one call takes back: as many as a few seconds mark. */
export const REDRIVE_LETTERS_MAX = 100;
/** Redrives of one letter that a filter brings about: more do not help, and who knows better names it by its id. */
export const REDRIVES_BY_FILTER_MAX = 3;
/** Dead letters given back in a second, at most; each is a call of its own. */
export const REDRIVE_RATE_MAX = 1_000;
/** Failures before the last one that a dead letter remembers: with each at most 5 KB, its item stays below 400 KB. */
export const DEAD_LETTER_HISTORY_MAX = 10;
/** How late a redrive may be before the sweep sends another wake-up: one that waits in a delivery is no later. */
export const REDRIVE_GRACE_MS = 60_000;
/** When a record is offered again whose target was away. */
export const REDRIVE_AWAY_MS = 30_000;

/** So many dead letters in a row are an outage, not records that are faulty. */
export const HALT_AFTER_DEAD_LETTERS_DEFAULT = 10;
export const HALT_AFTER_DEAD_LETTERS_MAX = 1_000_000;
/** A filter's pattern as JSON. Source: AWS, EventBridge quotas, "Event pattern size", at most. */
export const FILTER_CHARS_MAX = 4_096;
/** Objects and arrays within each other in a pattern. */
export const FILTER_DEPTH_MAX = 32;
/** Ways in which a pattern's `$or`s can be combined: each is one look at the record. */
export const FILTER_ALTERNATIVES_MAX = 100;
/** Stars in one wildcard text. */
export const FILTER_WILDCARDS_MAX = 16;
/** What is kept of an error that a target told, in characters, printable ones only. */
export const TARGET_ERROR_CHARS_MAX = 200;
/** Longest URL of a target: what proxies and servers commonly take. */
export const TARGET_URL_CHARS_MAX = 2_048;
/** How much of an HTTP target's answer is read: the failed records of a batch of 800 by name. */
export const TARGET_ANSWER_BYTES_MAX = 64 * 1024;
/** Headers of that answer, together. */
export const TARGET_ANSWER_HEADER_BYTES_MAX = 16 * 1024;
/** Resolving a name, connecting and TLS: a host that takes longer is away. */
export const TARGET_CONNECT_TIMEOUT_MS = 10_000;
/** The longest pause that a target may ask for: one try an hour costs nothing. */
export const RETRY_AFTER_MS_MAX = 3_600_000;
/** Source: AWS Lambda, "Invocation payload", 6 MB for a synchronous call. HTTP targets get no more at once. */
export const TARGET_CALL_BYTES_MAX = 6 * 1024 * 1024;
/** Source: AWS, SQS quotas: "Message size", which is also that of a batch, and "Entries in a batch request". */
export const SQS_BATCH_BYTES_MAX = 1024 * 1024;
export const SQS_BATCH_ENTRIES_MAX = 10;
/** Source: AWS, EventBridge, "PutEvents": entries per call, and the size of one entry and of all of them. */
export const EVENT_BRIDGE_ENTRIES_MAX = 10;
export const EVENT_BRIDGE_BYTES_MAX = 256 * 1024;
/** How long a delivery's ownership of a position outlives a call, and what must be left of its own time beside the call. */
export const PUSH_LEASE_MARGIN_MS = 30_000;
/** A call that takes as long is slow: the next is made where it holds up none that are quick. */
export const SLOW_CALL_MS = 3_000;
/** A shorter pause before the next try is waited for in place; a longer one costs a message. */
export const PUSH_WAIT_MS_MAX = 1_000;
/** Records that one call looks at, at most, to find some that its filter lets through: then what it passed is committed. */
export const PUSH_PAGE_RECORDS = 1_000;
/** Times that a wake-up is sent on before the sweep takes over: no loop is without an end. */
export const WAKE_HOPS_MAX = 1_000;
/** How long an append waits for its wake-up to be sent: it is a hint, and others follow. */
export const DOORBELL_WAIT_MS = 50;
/** What deliveries are given: the longest call, and the margin. Source: AWS Lambda, "Function timeout", 15 minutes. */
export const DELIVER_FUNCTION_TIMEOUT_MS = 900_000;
/** Deliveries at once that the wake queue starts: they leave most of an account's 1,000 to producers and readers. */
export const DELIVER_CONCURRENCY_MAX = 200;
/** How late a pending position's own wake-up may be before the sweep sends another. */
export const PENDING_GRACE_MS = 5_000;
/** Positions that one run of the sweep looks at, at most, for lost wake-ups. */
export const SWEEP_POSITIONS_MAX = 10_000;
/** The longest that the wake queue keeps a message back. Source: AWS, SQS quotas, "Message delay", 15 minutes. */
export const WAKE_DELAY_MS_MAX = 900_000;
/** How long it is remembered that a partition grew in an hour: the sweep looks at it until the next one is over. */
export const TOUCHED_LIFE_MS = 3 * 3_600_000;
/** How long the secret before the last rotation still signs. */
export const OLD_SECRET_LIFE_MS = 24 * 3_600_000;

// ---- Background work
/** How long one run of the sweep works before it leaves the rest to the next. */
export const SWEEP_RUN_MS = 40_000;
/** A run that dies holds up the next one for no longer than this. */
export const SWEEP_LEASE_MS = 20_000;
/**
 * Minutes between two looks of the sweep at what wakes deliveries: so long they may be off by mistake, or on for nothing.
 * Each look is a request to the wake queue, one to the State table and two to Lambda.
 */
export const KEEP_DELIVERIES_MINUTES = 5;
/** Items that one run of the sweep deletes at most. */
export const SWEEP_ITEMS_MAX = 100_000;
/** Items that it deletes of one topic before it turns to the next: all that it works on come up in every run. */
export const SWEEP_TURN_ITEMS = 500;
/** Leftovers that one run of the sweep works on at most, of those to be closed and of those to be purged. */
export const SWEEP_LEFTOVERS_MAX = 100;
/** Partitions that are emptied side by side: live topics share the table. */
export const PURGE_PARTITIONS_PARALLEL = 4;
/** Items of a deleted group that are removed side by side: live groups share the table. */
export const PURGE_GROUP_ITEMS_PARALLEL = 25;
/** Keys that one Query of a purge lists. */
export const PURGE_PAGE = 500;
/** Source: AWS, "BatchWriteItem": requests per call. */
export const BATCH_WRITE_MAX = 25;
/** Source: AWS, S3, "DeleteObjects": keys per call. */
export const OBJECTS_PER_DELETE_MAX = 1_000;
/** Longest pause before leftovers of a batch write are sent again. */
export const BATCH_WRITE_PAUSE_MS_MAX = 2_000;

/** A function in the background: long enough for what one event may hold, and time to hand on what is left. */
export const BACKGROUND_FUNCTION_TIMEOUT_MS = 60_000;
/** Time before the end of such a function in which it begins nothing new. */
export const BACKGROUND_MARGIN_MS = 15_000;
/** Times that work from the wake queue is tried before its message becomes a dead letter. */
export const WAKE_TRIES_MAX = 12;
/** Pause before work from the wake queue is tried again: at first, and the longest (they double). */
export const WAKE_PAUSE_S = 30;
export const WAKE_PAUSE_S_MAX = 3 * 3_600;

// ---- Provisioning
/** What one request of a stack is given: event sources take up to a minute to be switched, and new rights to be known. */
export const PROVISION_FUNCTION_TIMEOUT_MS = 180_000;
/** Time before the end of that function in which it tries nothing again, but answers. */
export const PROVISION_MARGIN_MS = 45_000;
export const PROVISION_PAUSE_MS = 5_000;

// ---- Functions
/** How long a function may answer from its copy of a topic's configuration. */
export const CONFIGURATION_CACHE_MS = 10_000;
/** Source: AWS, HTTP API quotas, "Maximum integration timeout". */
export const GATEWAY_TIMEOUT_MS = 30_000;
/** Timeout of the functions behind the API: below the gateway's, so that the function answers first. */
export const API_FUNCTION_TIMEOUT_MS = 29_000;
/** One attempt of one DynamoDB call. */
export const STORE_ATTEMPT_TIMEOUT_MS = 1_500;
/**
 * The first attempts of a write that must be sent by `FILL_DEADLINE_MS` are given up sooner, and so many of them: with the
 * SDK's pauses between them (at most 100 ms and 200 ms) one more is sent in time.
 */
export const HASTY_ATTEMPT_TIMEOUT_MS = 300;
export const HASTY_ATTEMPTS = 2;
/** How long one call may walk a log before it answers that there was too much to look at. */
export const WALK_BUDGET_MS = 20_000;
/** Calls of one request that run side by side (partitions of a topic). */
export const PARALLEL_CALLS_MAX = 64;
/** Source: AWS Lambda, "Invocation payload", 6 MB for a synchronous answer, base64 and JSON escapes included. */
export const LAMBDA_ANSWER_BYTES_MAX = 6 * 1024 * 1024;
