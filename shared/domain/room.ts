/** What an answer can still take of a log, as far as it knows. */
export interface Room {
  readonly records: number;
  /** Of batches as they are stored. */
  readonly bytes: number;
  /** Of a batch that is too large for it some records are taken; else none, unless it is the first. */
  readonly partly: boolean;
}
