/** What one act consumes, as the embedded engine reports it. */
export interface Usage {
  readonly readUnits: number;
  readonly writeUnits: number;
  /** Messages sent to the wake queue, each in a request of its own. */
  readonly messages: number;
}

/** What is priced. Records are orders of 1 KB; 100 of them are one batch. */
export const ACTS = {
  sweep: 'a run of the sweep at rest',
  keep: 'every fifth run looks whether anybody subscribes',
  appendOne: 'an append of one record',
  appendHundred: 'an append of 100',
  appendSubscribed: 'an append of one record to a topic with a subscription',
  appendHundredSubscribed: 'an append of 100 to a topic with a subscription',
  fetchHundred: 'a fetch that brings 100 records',
  fetchNothing: 'a fetch that finds nothing',
  fetchWaiting: 'a fetch that waits 20 s for nothing',
  pollNothing: 'a poll of a member that has 8 partitions and finds nothing',
  dispatch: 'the stream tells of an append',
  deliverOne: 'a delivery of one record',
  deliverHundred: 'a delivery of 100',
  wakeUpDropped: 'a wake-up for what was delivered already',
} as const;

export type Act = keyof typeof ACTS;
