import { setMaxListeners } from 'node:events';
import type { Header } from '../shared/domain/record.ts';
import { traceContext } from '../shared/wire/trace-context.ts';
import type { Connection } from './connection.ts';
import { Closed, type Delivery, NotDelivered, RecordTooLarge, ValidationError, type VertebraError } from './errors.ts';
import { CLOSE_TIMEOUT_MS_DEFAULT } from './limits.ts';
import { AbortWatch } from './producer-aborts.ts';
import { Budget, Slots } from './producer-buffer.ts';
import { Intake } from './producer-intake.ts';
import { type ProducerSettings, settingsOf } from './producer-options.ts';
import { Tally } from './producer-tally.ts';
import { ProducerTopic } from './producer-topic.ts';
import type { Message, ProducerOptions, Sending, SendingBatch, Undelivered } from './producer-words.ts';
import { LATE, within } from './surroundings.ts';
import { pathOf } from './transport.ts';
import { type Upload, type UploadOptions, upload } from './upload.ts';

/** After everything was cut off: for the last words of what was on its way. */
const FAREWELL_MS = 250;

/**
 * Sends records: in batches, each under an idempotency key, so that a repeat stores nothing twice; in order per
 * partition, over retries too. What was never answered is told as such.
 */
export class Producer<T = unknown> {
  readonly #connection: Connection;
  readonly #settings: ProducerSettings<T>;
  readonly #budget: Budget;
  readonly #intake: Intake<T>;
  readonly #topics = new Map<string, ProducerTopic<T>>();
  readonly #open = new Set<Tally<T>>();
  readonly #cut = new AbortController();
  readonly #watch = new AbortWatch<T>();
  #hurrying = 0;
  #closing: Promise<{ undelivered: Undelivered<T>[] }> | undefined;

  /** @throws {InvalidOptions} */
  constructor(connection: Connection, options: ProducerOptions<T> = {}) {
    const settings = settingsOf(options);
    const budget = new Budget(settings.maxBufferBytes);
    const slots = new Slots(settings.maxInFlightRequests);
    const cut = this.#cut.signal;
    const lane = {
      ...settings,
      connection,
      budget,
      slots,
      cut,
      isHurried: () => this.#hurrying > 0 || budget.isWaitedFor,
    };
    const topic = (name: string) => {
      const known = this.#topics.get(name) ?? new ProducerTopic<T>(name, lane, settings.partitioner);
      this.#topics.set(name, known);
      return known;
    };
    const forget = (name: string) => {
      if (this.#topics.get(name)?.isIdle) this.#topics.delete(name);
    };
    setMaxListeners(0, cut); // one for each request under way
    this.#connection = connection;
    this.#settings = settings;
    this.#budget = budget;
    this.#intake = new Intake({ connection, settings, budget, cut, topic, forget, onFull: () => this.#hurry() });
  }

  /** Bytes of records that wait or are on their way. */
  get bufferedBytes(): number {
    return this.#budget.used;
  }

  /** Finds out whether the endpoint answers. Not needed before `send`. Throws as `Admin` does. */
  async connect({ signal }: { signal?: AbortSignal } = {}): Promise<void> {
    await this.#connection.call({ method: 'GET', path: pathOf('health'), signal });
  }

  /**
   * Sends messages to one topic; waits for room while the buffer is full. Calls keep their order, also when nobody
   * waits for the one before.
   * @returns where each message is, in the order given
   * @throws {ValidationError} @throws {RecordTooLarge} naming a message that cannot be sent: none of them was
   * @throws {NotDelivered} when some or all were not delivered: its `results` tell of each
   * @throws {Closed}
   */
  async send({ topic, messages, signal }: Sending<T>): Promise<Delivery[]> {
    return this.#dispatch(entriesOf(topic, messages), signal);
  }

  /** Sends messages to several topics. @returns for each entry, where its messages are. Throws as `send` does */
  async sendBatch({ topicMessages, signal }: SendingBatch<T>): Promise<Delivery[][]> {
    const entries = topicMessages.flatMap(({ topic, messages }) => entriesOf(topic, messages));
    const deliveries = await this.#dispatch(entries, signal);
    let at = 0;
    return topicMessages.map(({ messages }) => {
      at += messages.length;
      return deliveries.slice(at - messages.length, at);
    });
  }

  /**
   * Uploads a payload of up to 5 GB, past every limit on records. Send it as the value of one message of this topic,
   * within a day. `fs.openAsBlob(path)` makes a `Blob` of a file, which is not read into memory.
   * @throws {ValidationError} when it is empty or too large. Else as `Admin` does
   */
  upload(topic: string, payload: Uint8Array | Blob, options?: UploadOptions): Promise<Upload> {
    return upload(this.#connection, topic, payload, options);
  }

  /** Sends what is buffered without waiting for more. @returns once all that was sent before is answered, well or not */
  async flush(): Promise<void> {
    const open = [...this.#open].map(({ done }) => done);
    this.#hurrying++;
    this.#hurry();
    await Promise.all(open);
    this.#hurrying--;
  }

  /**
   * Sends what is buffered, waits for the answers, and takes no more.
   * @param timeoutMs then what is left is given up. Default: 30 s
   * @returns what was not delivered, and why: also told to those who wait for it
   */
  close({
    timeoutMs = CLOSE_TIMEOUT_MS_DEFAULT,
  }: {
    timeoutMs?: number;
  } = {}): Promise<{ undelivered: Undelivered<T>[] }> {
    this.#closing ??= this.#close(timeoutMs);
    return this.#closing;
  }

  /** The same as `close`. */
  disconnect(options?: { timeoutMs?: number }): Promise<{ undelivered: Undelivered<T>[] }> {
    return this.close(options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #dispatch(entries: { topic: string; message: Message<T> }[], signal?: AbortSignal): Promise<Delivery[]> {
    if (this.#closing !== undefined) throw new Closed('producer');
    const tally = new Tally<T>(entries, this.#traceHeaders());
    this.#open.add(tally);
    const unwatch = this.#watch.watch(tally, signal);
    let refusal: VertebraError | undefined;
    const until = this.#connection.surroundings.now() + this.#settings.deliveryTimeoutMs;
    this.#intake.take(tally, until, signal).catch((error: unknown) => {
      const told = this.#intake.failureOf(error);
      if (told instanceof ValidationError || told instanceof RecordTooLarge) refusal = told;
      tally.giveUp(() => told);
    });
    const results = await tally.done;
    unwatch();
    this.#open.delete(tally);
    if (refusal !== undefined) throw refusal;
    const deliveries = results.flatMap((result) => ('error' in result ? [] : [result]));
    if (deliveries.length < results.length) throw new NotDelivered(results);
    return deliveries;
  }

  async #close(timeoutMs: number): Promise<{ undelivered: Undelivered<T>[] }> {
    const open = [...this.#open];
    const all = this.flush();
    if (!(await this.#within(timeoutMs, all))) {
      this.#cut.abort();
      this.#hurry();
      await this.#within(FAREWELL_MS, all);
      for (const tally of open) tally.giveUp((effect) => new Closed('producer', effect));
    }
    const undelivered = open.flatMap(({ entries, results }) =>
      results.flatMap((result, i) => ('error' in result ? [{ ...entries[i]!, error: result.error }] : [])),
    );
    return { undelivered };
  }

  /** Asked before anything is waited for: then it is the caller's trace. */
  #traceHeaders(): Header[] {
    try {
      const { traceparent, tracestate } = this.#settings.traceContext?.() ?? {};
      return Object.entries(traceContext(traceparent, tracestate) ?? {}).map(([name, value]) => ({
        name,
        value: Buffer.from(value),
      }));
    } catch (error) {
      this.#connection.logger.warn("'traceContext' failed; the messages are sent without", { error });
      return [];
    }
  }

  #hurry(): void {
    for (const topic of this.#topics.values()) topic.hurry();
  }

  async #within(timeoutMs: number, work: Promise<void>): Promise<boolean> {
    return (await within(work, timeoutMs, this.#connection.surroundings)) !== LATE;
  }
}

/** @throws {ValidationError} */
function entriesOf<T>(topic: string, messages: readonly Message<T>[]): { topic: string; message: Message<T> }[] {
  if (!Array.isArray(messages)) throw new ValidationError(`'messages' for '${topic}' must be an array`);
  return messages.map((message) => ({ topic, message }));
}
