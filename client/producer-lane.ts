import { setImmediate } from 'node:timers/promises';
import { ApiError } from './api-error.ts';
import type { Connection } from './connection.ts';
import { Closed, type Delivery, DeliveryTimeout, type Effect, VertebraError } from './errors.ts';
import { BATCH_TIME_SHARE } from './limits.ts';
import { type BatchRequest, type BufferedRecord, batchRequest } from './producer-batch.ts';
import type { Brake } from './producer-brake.ts';
import type { Budget, Slots } from './producer-buffer.ts';
import { retrying } from './retry.ts';
import { LATE } from './surroundings.ts';

/** What the lanes of one producer share, but the brake, which is its topic's. */
export interface LanePorts {
  readonly connection: Connection;
  readonly budget: Budget;
  readonly slots: Slots;
  readonly brake: Brake;
  readonly lingerMs: number;
  readonly batchBytes: number;
  readonly batchRecords: number;
  readonly deliveryTimeoutMs: number;
  /** Aborted when the producer gives up on everything. */
  readonly cut: AbortSignal;
  /** Whether somebody waits for all that is buffered. */
  isHurried(): boolean;
}

/** What a lane tells its topic. */
export interface LaneEvents {
  /** A batch is complete: what has no key may go elsewhere from now on. */
  onComplete(): void;
  /** The topic or the partition is not what it was thought to be. */
  onMissing(): void;
  /** Nothing waits any more. */
  onIdle(): void;
}

const MISSING = new Set(['topic_not_found', 'partition_not_found']);

/** Records on their way to one partition: in order, one request at a time, over retries too. */
export class PartitionLane<T> {
  readonly #topic: string;
  readonly #partition: number;
  readonly #ports: LanePorts;
  readonly #events: LaneEvents;
  #queue: BufferedRecord<T>[] = [];
  #queuedBytes = 0;
  #running = false;
  #wake = new AbortController();

  constructor(topic: string, partition: number, ports: LanePorts, events: LaneEvents) {
    this.#topic = topic;
    this.#partition = partition;
    this.#ports = ports;
    this.#events = events;
  }

  add(record: BufferedRecord<T>): void {
    this.#queue.push(record);
    this.#queuedBytes += record.encoded.frameBytes;
    if (this.#isFull()) {
      this.#events.onComplete();
      this.hurry();
    }
    if (!this.#running) {
      this.#running = true;
      this.#run();
    }
  }

  /** Sends what it has without waiting for more. */
  hurry(): void {
    this.#wake.abort('hurry');
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#ripen();
      const batch = this.#take();
      if (batch.length === 0) continue;
      this.#events.onComplete();
      await this.#deliver(batch);
    }
    this.#running = false;
    this.#events.onIdle();
  }

  #isFull(): boolean {
    return this.#queue.length >= this.#ports.batchRecords || this.#queuedBytes >= this.#ports.batchBytes;
  }

  /** Waits until the oldest record has waited long enough, or somebody hurries. */
  async #ripen(): Promise<void> {
    const { lingerMs, connection, cut } = this.#ports;
    const { now, sleep } = connection.surroundings;
    this.#wake = new AbortController();
    await setImmediate(); // what is sent in the same breath goes along
    const waitMs = this.#queue[0]!.since + lingerMs - now();
    if (waitMs <= 0 || this.#isFull() || this.#ports.isHurried() || cut.aborted) return;
    await sleep(waitMs, this.#wake.signal).catch(() => {});
  }

  /** The next records that fit into one batch and are of one kind; those that nobody waits for any more are dropped. */
  #take(): BufferedRecord<T>[] {
    const { batchBytes, batchRecords, deliveryTimeoutMs } = this.#ports;
    const batch: BufferedRecord<T>[] = [];
    let bytes = 0;
    let seen = 0;
    for (const record of this.#queue) {
      const { encoded, tally, index } = record;
      if (tally.isSettled(index)) this.#release([record]);
      else {
        const isOther =
          batch[0] !== undefined && (batch[0].encoded.upload === undefined) !== (encoded.upload === undefined);
        const isFull = batch.length >= batchRecords || (batch.length > 0 && bytes + encoded.frameBytes > batchBytes);
        // Its time ends with the batch's, which is that of its first record: little of it is to be lost.
        const isLater = batch[0] !== undefined && record.until - batch[0].until > deliveryTimeoutMs * BATCH_TIME_SHARE;
        if (isOther || isFull || isLater) break;
        tally.take(index);
        batch.push(record);
        bytes += encoded.frameBytes;
      }
      this.#queuedBytes -= encoded.frameBytes;
      seen++;
    }
    this.#queue = this.#queue.slice(seen);
    return batch;
  }

  /** Sends one batch until it is stored, refused, or too late, and tells its records. */
  async #deliver(batch: readonly BufferedRecord<T>[]): Promise<void> {
    const { connection, deliveryTimeoutMs, cut } = this.#ports;
    const { until } = batch[0]!;
    const attempts = new Attempts();
    // While it is on its way, the request is all that is kept of the records' bytes.
    const places = batch.map(({ tally, index, bytes }) => ({ tally, index, bytes }));
    try {
      const withinMs = until - connection.surroundings.now();
      if (cut.aborted) throw new Closed('producer');
      if (withinMs <= 0) throw new DeliveryTimeout(deliveryTimeoutMs, 'none');
      const request = this.#requestOf(batch);
      const deliveries = await retrying(() => attempts.make(() => this.#send(request, until)), {
        ...{ ...connection.retry, withinMs, signal: cut, surroundings: connection.surroundings },
        onRetry: (error, pauseMs, tries) =>
          connection.logger.warn('A batch was not stored, it is sent again', {
            ...{ topic: this.#topic, partition: this.#partition, records: places.length, error, pauseMs, tries },
          }),
      });
      for (const [i, { tally, index }] of places.entries()) tally.settle(index, deliveries[i]!);
    } catch (thrown) {
      const error = this.#failureOf(thrown, attempts.effect);
      for (const { tally, index } of places) tally.settle(index, { error });
    } finally {
      this.#release(places);
    }
  }

  #requestOf(batch: readonly BufferedRecord<T>[]): BatchRequest {
    const records = batch.map(({ encoded }) => encoded);
    return batchRequest(this.#topic, this.#partition, records);
  }

  async #send(request: BatchRequest, until: number): Promise<Delivery[]> {
    const { connection, slots, brake, cut, deliveryTimeoutMs } = this.#ports;
    const { transport, surroundings } = connection;
    const leftMs = () => until - surroundings.now();
    const act = async () => {
      if (leftMs() <= 0) return LATE;
      const timeoutMs = Math.min(leftMs(), transport.timeoutMs);
      return request.deliveries(await transport.call({ ...request.call, signal: cut, timeoutMs }));
    };
    const turn = () => slots.hold(act, leftMs(), surroundings, cut);
    const deliveries = await brake.pass(turn, until, cut);
    if (deliveries !== LATE) return deliveries;
    throw new DeliveryTimeout(deliveryTimeoutMs, 'none', new Error('other requests took all of the time'));
  }

  #release(records: readonly { readonly bytes: number }[]): void {
    this.#ports.budget.release(records.reduce((sum, { bytes }) => sum + bytes, 0));
  }

  #failureOf(error: unknown, effect: Effect): VertebraError {
    const { cut, deliveryTimeoutMs } = this.#ports;
    if (error instanceof ApiError && MISSING.has(error.code)) this.#events.onMissing();
    if (cut.aborted) return new Closed('producer', effect);
    if (!(error instanceof VertebraError)) {
      return new VertebraError('internal', `The batch could not be sent: ${error}`, { effect, cause: error });
    }
    if (error.retryable) return new DeliveryTimeout(deliveryTimeoutMs, effect, error);
    if (error.effect === effect) return error;
    const { code, message, data } = error; // an earlier attempt leaves more open than the last one tells
    return new VertebraError(code, message, { effect, data, cause: error });
  }
}

/** What is known of a request that was made several times: nothing less than of any attempt. */
class Attempts {
  effect: Effect = 'none';

  async make<R>(act: () => Promise<R>): Promise<R> {
    try {
      return await act();
    } catch (error) {
      if (error instanceof VertebraError && error.effect === 'unknown') this.effect = 'unknown';
      throw error;
    }
  }
}
