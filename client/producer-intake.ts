import type { Connection } from './connection.ts';
import { Closed, DeliveryTimeout, VertebraError } from './errors.ts';
import { CALL_OVERHEAD_BYTES, RECORD_OVERHEAD_BYTES } from './limits.ts';
import { type Budget, Turnstile } from './producer-buffer.ts';
import type { ProducerSettings } from './producer-options.ts';
import { type EncodedRecord, encodeMessage } from './producer-record.ts';
import type { Tally } from './producer-tally.ts';
import type { ProducerTopic } from './producer-topic.ts';
import { eitherSignal, LATE, within } from './surroundings.ts';

export interface IntakePorts<T> {
  readonly connection: Connection;
  readonly settings: ProducerSettings<T>;
  readonly budget: Budget;
  /** Aborted when the producer gives up on everything. */
  readonly cut: AbortSignal;
  topic(name: string): ProducerTopic<T>;
  /** Called when a topic could not be looked up: there may be none of this name. */
  forget(name: string): void;
  /** Called before it waits for room: what lingers is in the way. */
  onFull(): void;
}

/**
 * Takes calls in, one after the other, so that their order is the order of their records: looks topics up, encodes,
 * waits for room, and hands over to the lanes.
 */
export class Intake<T> {
  readonly #ports: IntakePorts<T>;
  readonly #turnstile = new Turnstile();

  constructor(ports: IntakePorts<T>) {
    this.#ports = ports;
  }

  /**
   * @returns once every message is buffered, or known not to be: then the tally says so
   * @throws {ValidationError} @throws {RecordTooLarge} naming a message that cannot be sent: none of the call was
   * @throws {VertebraError} what keeps a topic from being looked up @throws {Aborted}
   */
  async take(tally: Tally<T>, until: number, signal: AbortSignal | undefined): Promise<void> {
    const topics = new Set(tally.entries.map(({ topic }) => topic));
    await this.#turnstile.pass(async () => {
      if (tally.isDone) return; // nobody waits any more
      if (this.#leftMs(until) === 0) throw this.#late('calls before it took all of the time');
      const stop = eitherSignal(this.#ports.cut, signal);
      try {
        for (const topic of topics) await this.#lookUp(topic, until, stop.signal);
        const kept = await this.#encodeAll(tally, until, stop.signal);
        for (const [index, encoded] of kept.entries()) this.#handOver(tally, index, encoded, until);
        for (let index = kept.length; index < tally.entries.length; index++) {
          await this.#whenThereIsRoom(tally, index, until, stop.signal);
        }
      } finally {
        stop.forget();
      }
    });
  }

  async #lookUp(topic: string, until: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#ports.topic(topic).ready(this.#leftMs(until), signal);
    } catch (error) {
      this.#ports.forget(topic);
      throw error;
    }
  }

  /** What kept messages from being taken, as it is told: what may have passed, but did not in time, is a matter of time. */
  failureOf(error: unknown): VertebraError {
    const { cut, settings } = this.#ports;
    if (cut.aborted) return new Closed('producer');
    if (!(error instanceof VertebraError)) {
      return new VertebraError('internal', `The messages could not be taken: ${error}`, { cause: error });
    }
    return error.retryable ? new DeliveryTimeout(settings.deliveryTimeoutMs, 'none', error) : error;
  }

  /**
   * Encodes everything, to know that all of it can be sent before any of it is. What fits into the buffer is kept, the
   * rest is encoded again when there is room: memory stays bounded however much one call brings.
   */
  async #encodeAll(tally: Tally<T>, until: number, signal: AbortSignal): Promise<readonly EncodedRecord[]> {
    const { budget } = this.#ports;
    const kept: EncodedRecord[] = [];
    try {
      for (const index of tally.entries.keys()) {
        const maybe = this.#encode(tally, index);
        const encoded = maybe instanceof Promise ? await this.#inTime(maybe, until, signal) : maybe;
        if (encoded.partition !== undefined) {
          await this.#topicOf(tally, index).check(encoded.partition, this.#leftMs(until), signal);
        }
        if (kept.length === index && budget.tryTake(bytesOf(encoded, tally))) kept.push(encoded);
      }
    } catch (error) {
      for (const encoded of kept) budget.release(bytesOf(encoded, tally));
      throw error;
    }
    return kept;
  }

  async #whenThereIsRoom(tally: Tally<T>, index: number, until: number, signal: AbortSignal): Promise<void> {
    const { budget, connection, onFull } = this.#ports;
    try {
      if (tally.isSettled(index)) return;
      const encoded = await this.#inTime(Promise.resolve(this.#encode(tally, index)), until, signal);
      if (!budget.tryTake(bytesOf(encoded, tally))) {
        onFull();
        await budget.take(bytesOf(encoded, tally), this.#leftMs(until), connection.surroundings, signal);
      }
      this.#handOver(tally, index, encoded, until);
    } catch (error) {
      tally.settle(index, { error: this.failureOf(error) });
    }
  }

  /** Gives a record, for which room is taken, to its lane. */
  #handOver(tally: Tally<T>, index: number, encoded: EncodedRecord, until: number): void {
    const bytes = bytesOf(encoded, tally);
    try {
      if (tally.isSettled(index)) {
        this.#ports.budget.release(bytes);
        return;
      }
      const topic = this.#topicOf(tally, index);
      const since = this.#ports.connection.surroundings.now();
      topic.add(topic.place(encoded), { encoded, bytes, since, until, tally, index });
    } catch (error) {
      this.#ports.budget.release(bytes);
      tally.settle(index, { error: this.failureOf(error) });
    }
  }

  #topicOf(tally: Tally<T>, index: number): ProducerTopic<T> {
    return this.#ports.topic(tally.entries[index]!.topic);
  }

  #encode(tally: Tally<T>, index: number): EncodedRecord | Promise<EncodedRecord> {
    const { settings, connection } = this.#ports;
    const { topic, message } = tally.entries[index]!;
    const { traceHeaders } = tally;
    return encodeMessage(settings.codec, message, { topic, index, now: connection.surroundings.now(), traceHeaders });
  }

  /** A codec that never ends must not keep all others waiting. */
  async #inTime<R>(work: Promise<R>, until: number, signal: AbortSignal): Promise<R> {
    const done = await within(work, this.#leftMs(until), this.#ports.connection.surroundings, signal);
    if (done === LATE) throw this.#late('the codec did not end');
    return done;
  }

  #late(why: string): DeliveryTimeout {
    return new DeliveryTimeout(this.#ports.settings.deliveryTimeoutMs, 'none', new Error(why));
  }

  #leftMs(until: number): number {
    return Math.max(0, until - this.#ports.connection.surroundings.now());
  }
}

/** What a record takes of the buffer: its own bytes, and its share in those of its call. */
function bytesOf<T>({ frameBytes }: EncodedRecord, { entries }: Tally<T>): number {
  return frameBytes + RECORD_OVERHEAD_BYTES + Math.ceil(CALL_OVERHEAD_BYTES / entries.length);
}
