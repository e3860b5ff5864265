import { type EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import type { Delivered, DeliveryBatch, LinkPayload, RecordText, Target } from '../domain/delivery.ts';
import { EVENT_BRIDGE_BYTES_MAX, EVENT_BRIDGE_ENTRIES_MAX } from '../domain/limits.ts';
import { type RefusedEntry, sendEntries } from './entries.ts';
import type { Fitted } from './fitting.ts';

const SOURCE = 'vertebra';
/** What AWS counts for `Time`. Source: AWS, EventBridge, "Calculating PutEvents event entry size". */
const TIME_BYTES = 14;
/** Greatest epoch ms that PutEvents takes as a time (the year 9999); others go without. */
const TIME_MS_MAX = 253_402_300_799_999;

export interface EventBridgeTargetOptions {
  readonly eventBusName: string;
  /** The event's detail: a JSON object. */
  readonly record: RecordText;
  readonly link?: LinkPayload;
}

/** A bus, to which each record goes as an event: detail type its topic, detail its CloudEvent. Buses keep no order. */
export class EventBridgeTarget implements Target {
  readonly #client: Pick<EventBridgeClient, 'send'>;
  readonly #options: EventBridgeTargetOptions;

  constructor(client: Pick<EventBridgeClient, 'send'>, options: EventBridgeTargetOptions) {
    this.#client = client;
    this.#options = options;
  }

  send(batch: DeliveryBatch, deadline: number): Promise<Delivered> {
    const { record, link } = this.#options;
    return sendEntries(batch, deadline, {
      text: record,
      ...(link && { link }),
      entriesMax: EVENT_BRIDGE_ENTRIES_MAX,
      bytesMax: EVENT_BRIDGE_BYTES_MAX,
      overheadBytes: SOURCE.length + batch.topic.length + TIME_BYTES,
      send: (entries, signal) => this.#call(batch, entries, signal),
    });
  }

  async #call({ topic }: DeliveryBatch, entries: readonly Fitted[], signal: AbortSignal): Promise<RefusedEntry[]> {
    const command = new PutEventsCommand({
      Entries: entries.map(({ record: { timestamp }, text }) => ({
        EventBusName: this.#options.eventBusName,
        Source: SOURCE,
        DetailType: topic,
        Detail: text,
        ...(timestamp >= 0 && timestamp <= TIME_MS_MAX && { Time: new Date(timestamp) }),
      })),
    });
    const { Entries = [] } = await this.#client.send(command, { abortSignal: signal });
    return Entries.flatMap(({ ErrorCode, ErrorMessage = '' }, index) =>
      ErrorCode === undefined ? [] : [{ index, code: ErrorCode, message: ErrorMessage }],
    );
  }
}
