/** Who processes a record, and by what right: what its effects are bound to. */
export interface RecordDelivery {
  /** Name of the consumer group, or of the subscription. */
  readonly group: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** Of the position's ownership under which it was delivered. */
  readonly epoch: number;
  /** The parked key's that it was delivered for: its ownership, not the partition's, is what counts. */
  readonly lane?: string;
  /** It was taken back from the dead letters. */
  readonly isRedriven: boolean;
  /** @param anew what it said before does not fit: group or topic may have been made again */
  identify(anew?: boolean): Promise<DeliveryIds>;
}

/** The incarnations of group and topic, and how long the topic keeps its records. */
export interface DeliveryIds {
  readonly groupId: string;
  readonly topicId: string;
  /** ms, −1: for ever. */
  readonly retentionMs: number;
}

/** A message of a consumer, or a record of a Lambda event with its delivery. */
export interface Delivered {
  readonly delivery?: RecordDelivery | undefined;
}
