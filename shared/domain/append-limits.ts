/** Bounds of appends that are no plain records: events, and what a transaction stores. */

/** Events in one request: each is an append of its own, and those of one key follow each other. */
export const EVENTS_PER_REQUEST_MAX = 100;
/** Writes in one transaction. Source: AWS, DynamoDB quotas, "TransactWriteItems". */
export const TRANSACTION_WRITES_MAX = 100;
/** Bytes in one transaction, all items together. Source: the same. */
export const TRANSACTION_BYTES_MAX = 4_000_000;
/** Partitions to which one prepared append may go: the business write has to fit beside it. */
export const PREPARED_PARTITIONS_MAX = TRANSACTION_WRITES_MAX - 1;
/** Bytes of one prepared append: DynamoDB takes 4 MB in a transaction, and the answer that hands it out is base64 of 6 MB. */
export const PREPARED_BYTES_MAX = 3_000_000;
