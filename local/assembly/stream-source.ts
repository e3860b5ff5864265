import { setTimeout as sleep } from 'node:timers/promises';
import type { ChangeRecord } from '../aws/dynamodb/change-feed.ts';
import { ServiceRefusal } from './aws-calls.ts';
import { EventSource, type SourceOptions } from './event-source.ts';
import { filterOf } from './filter-pattern.ts';
import { failuresIn } from './queue-source.ts';

export interface StreamSourceOptions extends SourceOptions {
  /** Calls back when the stream has something new. @returns what ends that */
  readonly onChange: (listener: () => void) => () => void;
  /** Epoch ms by the services' clock. */
  readonly now: () => number;
  /** Pause before records that failed are tried again. */
  readonly retryPauseMs?: number;
}

/** Source: AWS, "Using Lambda with DynamoDB": a hundred records unless the mapping says otherwise. */
const BATCH_DEFAULT = 100;
/** Changes are gathered for this long, whatever the mapping says: here somebody may be looking. */
const GATHER_MS = 200;
const RETRY_PAUSE_MS_DEFAULT = 1_000;

type Streamed = Omit<ChangeRecord, 'eventSourceARN'>;

/**
 * Hands the changes of a table to a function, in order: what fails is tried again, in halves if the mapping says so, until
 * it is older or was tried more often than the mapping allows; then its position goes to the destination for failures.
 */
export class StreamSource extends EventSource {
  readonly #stream: StreamSourceOptions;
  /** Where the next read begins; absent before the first one, and when it has expired. */
  #iterator: string | undefined;
  /** Number of the last record that was handed on, or passed over. */
  #after: string | undefined;

  constructor(options: StreamSourceOptions) {
    super(options);
    this.#stream = options;
  }

  override switch(on: boolean): void {
    // Who is switched on again after a while begins where the mapping says.
    if (!on) {
      this.#iterator = undefined;
      this.#after = undefined;
    }
    super.switch(on);
  }

  protected override async read(ending: AbortSignal): Promise<void> {
    let changed = () => {};
    const stop = this.#stream.onChange(() => changed());
    ending.addEventListener('abort', () => changed());
    try {
      this.#iterator ??= await this.#begin();
      while (!ending.aborted) {
        const waiting = new Promise<void>((resolve) => {
          changed = resolve;
        });
        const records = await this.#next();
        if (records.length > 0) {
          await this.#handOn(records, ending);
          this.#after = records.at(-1)!.dynamodb.SequenceNumber;
        } else await waiting;
        await sleep(GATHER_MS, undefined, { ref: false, signal: ending }).catch(() => {});
      }
    } catch (error) {
      this.#iterator = undefined;
      // The clock was set ahead: it goes on where it was.
      if (!(error instanceof ServiceRefusal && error.code === 'ExpiredIteratorException')) throw error;
    } finally {
      stop();
    }
  }

  async #begin(): Promise<string> {
    const { call, properties } = this.options;
    const StreamArn = properties.EventSourceArn;
    // Lambda wants this right, too, on the stream. Source: AWS, "Process DynamoDB records with Lambda", execution role.
    await call('DynamoDBStreams_20120810.ListStreams', { ExclusiveStartStreamArn: StreamArn });
    const { StreamDescription } = await call('DynamoDBStreams_20120810.DescribeStream', { StreamArn });
    const { Shards } = StreamDescription as { readonly Shards: readonly { readonly ShardId: string }[] };
    const from =
      this.#after === undefined
        ? { ShardIteratorType: properties.StartingPosition ?? 'LATEST' }
        : { ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', SequenceNumber: this.#after };
    const shard = { StreamArn, ShardId: Shards[0]!.ShardId };
    const { ShardIterator } = await call('DynamoDBStreams_20120810.GetShardIterator', { ...shard, ...from });
    return ShardIterator as string;
  }

  async #next(): Promise<readonly Streamed[]> {
    const { call, properties } = this.options;
    const { Records, NextShardIterator } = await call('DynamoDBStreams_20120810.GetRecords', {
      ...{ ShardIterator: this.#iterator, Limit: Math.min(properties.BatchSize ?? BATCH_DEFAULT, 1_000) },
    });
    this.#iterator = NextShardIterator as string;
    return Records as Streamed[];
  }

  async #handOn(records: readonly Streamed[], ending: AbortSignal): Promise<void> {
    const passes = filterOf(this.options.properties.FilterCriteria);
    const wanted = records.filter((record) => passes(record));
    if (wanted.length > 0) await this.#deliver(wanted, 0, ending);
  }

  async #deliver(records: readonly Streamed[], attempts: number, ending: AbortSignal): Promise<void> {
    const { properties, fn } = this.options;
    const event = { Records: records.map((record) => ({ ...record, eventSourceARN: properties.EventSourceArn })) };
    const { payload, failed } = await fn.invoke(JSON.stringify(event));
    if (!failed) {
      const reports = properties.FunctionResponseTypes?.includes('ReportBatchItemFailures');
      const [first] = reports ? failuresIn(payload) : [];
      if (first === undefined) return;
      // From the first one that failed on, all come again.
      const from = records.findIndex(({ dynamodb }) => dynamodb.SequenceNumber === first);
      return this.#again(records.slice(Math.max(0, from)), attempts, ending);
    }
    this.tell(payload);
    return this.#again(records, attempts, ending);
  }

  async #again(records: readonly Streamed[], attempts: number, ending: AbortSignal): Promise<void> {
    const { BisectBatchOnFunctionError: bisects, MaximumRetryAttempts = -1 } = this.options.properties;
    if (ending.aborted) return;
    if (this.#isTooOld(records) || (MaximumRetryAttempts >= 0 && attempts >= MaximumRetryAttempts)) {
      await this.#giveUp(records);
      return;
    }
    const pauseMs = this.#stream.retryPauseMs ?? RETRY_PAUSE_MS_DEFAULT;
    await sleep(pauseMs, undefined, { ref: false, signal: ending }).catch(() => {});
    if (!bisects || records.length === 1) return this.#deliver(records, attempts + 1, ending);
    const middle = records.length >> 1;
    await this.#deliver(records.slice(0, middle), attempts, ending);
    await this.#deliver(records.slice(middle), attempts, ending);
  }

  #isTooOld(records: readonly Streamed[]): boolean {
    const { MaximumRecordAgeInSeconds: most = -1 } = this.options.properties;
    const oldest = records[0]!.dynamodb.ApproximateCreationDateTime;
    return most >= 0 && this.#stream.now() / 1_000 - oldest > most;
  }

  /** Source: AWS, "Retain discarded batches": the position of the records, not what is in them. */
  async #giveUp(records: readonly Streamed[]): Promise<void> {
    const { properties, call, fn } = this.options;
    const destination = properties.DestinationConfig?.OnFailure?.Destination;
    if (destination === undefined) return;
    const body = {
      requestContext: { functionArn: fn.arn, condition: 'RetryAttemptsExhausted' },
      DDBStreamBatchInfo: {
        startSequenceNumber: records[0]!.dynamodb.SequenceNumber,
        endSequenceNumber: records.at(-1)!.dynamodb.SequenceNumber,
        batchSize: records.length,
        streamArn: properties.EventSourceArn,
      },
    };
    await call('AmazonSQS.SendMessage', {
      QueueUrl: `/${destination.split(':').at(-1)}`,
      MessageBody: JSON.stringify(body),
    });
  }
}
