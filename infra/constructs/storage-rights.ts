/** What a kind of work does to stored data: verbs of DynamoDB and S3. */
export interface Rights {
  readonly log: readonly string[];
  readonly state: readonly string[];
  /** On the State table's items of uploads alone. */
  readonly uploads?: readonly string[];
  /** On the State table's items of dead letters, and of their redrives, alone. */
  readonly letters?: readonly string[];
  /** On the State table's lanes of parked keys and their marks alone, and on the positions that a transaction names beside them. */
  readonly lanes?: readonly string[];
  readonly objects?: readonly string[];
  /** On the payloads of dead letters alone. */
  readonly deadLetters?: readonly string[];
  readonly bucket?: readonly string[];
}

/** What each kind of work does to each table. Everything that a function may do stands here. */
export const RIGHTS = {
  append: {
    // intent and fill; read who is in a slot
    log: ['PutItem', 'GetItem'],
    // reserve; read the topic; make, read and move the claim of an idempotency key; announce, read and take an upload
    state: ['UpdateItem', 'GetItem', 'PutItem'],
    // spill, and sign for uploads; compare what was uploaded with what was announced
    objects: ['PutObject', 'GetObject'],
    // without it, S3 answers "denied" for an upload that is not there
    bucket: ['ListBucket'],
  },
  read: {
    // read; look at one slot; void an abandoned one
    log: ['Query', 'GetItem', 'PutItem'],
    // read topic and head; move `settled`
    state: ['GetItem', 'UpdateItem'],
    // bring a spilled payload, and sign for uploaded ones; without the right to list, S3 answers "denied" for an object that is not there
    objects: ['GetObject'],
    bucket: ['ListBucket'],
  },
  administer: {
    // walk to the high watermark; time to offset; void an abandoned slot
    log: ['Query', 'GetItem', 'PutItem'],
    // topics and their heads: list, read, make, change, close, remove
    state: ['Query', 'GetItem', 'PutItem', 'UpdateItem', 'DeleteItem'],
  },
  consume: {
    // read; look at one slot; void an abandoned one
    log: ['Query', 'GetItem', 'PutItem'],
    // groups with all that they hold: list, read, make, change, remove, some of it together; move a head's `settled`
    state: ['Query', 'GetItem', 'PutItem', 'UpdateItem', 'DeleteItem', 'ConditionCheckItem'],
    // bring a spilled payload, and sign for uploaded ones; as for `read`
    objects: ['GetObject'],
    // keep what is too large for a dead letter's item, and let it go
    deadLetters: ['PutObject', 'DeleteObject'],
    bucket: ['ListBucket'],
  },
  subscribe: {
    // walk to the high watermark; time to offset; void an abandoned slot
    log: ['Query', 'GetItem', 'PutItem'],
    // subscriptions with all that they hold: list, read, make, change, remove, some of it together; mark topics and
    // positions; move a head's `settled`
    state: ['Query', 'GetItem', 'PutItem', 'UpdateItem', 'DeleteItem', 'ConditionCheckItem'],
  },
  deliver: {
    // read; look at one slot; void an abandoned one, or that of a payload to be removed; watch an upload on
    log: ['Query', 'GetItem', 'PutItem'],
    // read subscriptions and topics; make, take, move positions; halt a subscription; mark positions; keep dead letters
    state: ['Query', 'GetItem', 'PutItem', 'UpdateItem', 'ConditionCheckItem'],
    uploads: ['DeleteItem'],
    // those that were delivered after all
    letters: ['DeleteItem'],
    // those of keys that are back
    lanes: ['DeleteItem'],
    // bring a spilled payload, and sign for uploaded ones; a payload follows its slot
    objects: ['GetObject', 'DeleteObject'],
    deadLetters: ['PutObject'],
    bucket: ['ListBucket'],
  },
  dispatch: {
    // look at the slot of an intent or an upload; void it; watch an upload on
    log: ['GetItem', 'PutItem'],
    // is the topic deleted? who subscribes to it?
    state: ['GetItem', 'Query'],
    // forget one; heads and topics are not for it to delete
    uploads: ['DeleteItem'],
    // a payload follows its slot
    objects: ['DeleteObject'],
  },
  provision: {
    // walk to the high watermark; time to offset; void an abandoned slot
    log: ['Query', 'GetItem', 'PutItem'],
    // topics, subscriptions and grants with all that they hold: read, make, change, remove, some of it together
    state: ['Query', 'GetItem', 'PutItem', 'UpdateItem', 'DeleteItem', 'ConditionCheckItem'],
  },
  sweep: {
    // list and delete what deleted topics left
    log: ['Query', 'BatchWriteItem'],
    // find leftovers and their uploads; whether one has been made after all; close, mark and remove heads; what deleted
    // groups left; the lease; keep in sight what is behind, and take out of it what is not
    state: ['Query', 'GetItem', 'PutItem', 'UpdateItem', 'DeleteItem'],
    deadLetters: ['DeleteObject'],
  },
} as const satisfies Record<string, Rights>;

/** Partition keys of uploads in the State table, as `shared/store/keys.ts` makes them. */
export const OF_UPLOADS = { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['uploads#*'] } };
const ULID = '?'.repeat(26);
/** Partition keys of lanes, of all marks, and of positions, likewise: whether a transaction's other keys count, AWS does not say. */
export const OF_LANES = {
  'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['*#lanes#*', 'pending', `*#${ULID}#${ULID}.*`] },
};
/** Partition keys of dead letters and of their redrives, likewise. */
export const OF_LETTERS = { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['*#dead-letters', '*#redrives'] } };
