import type { Connection } from './connection.ts';
import type { TopicPartitionOffset } from './consumer-errors.ts';
import { type ConsumerEvent, Emitter, type Listener } from './consumer-events.ts';
import { RUN_OPTIONS, type RunOptions } from './consumer-handlers.ts';
import { iterate } from './consumer-iterator.ts';
import { STOP_TIMEOUT_MS_DEFAULT } from './consumer-limits.ts';
import { type ConsumerOptions, type Settings, settingsOf } from './consumer-options.ts';
import { keyOf } from './consumer-partition.ts';
import { PauseList, type TopicPartitions } from './consumer-pauses.ts';
import { ConsumerSession, type StopOptions } from './consumer-session.ts';
import { Aborted, InvalidOptions } from './errors.ts';
import type { ReceivedMessage } from './messages.ts';
import { known } from './option-checks.ts';

/**
 * A member of a consumer group. Records of a partition come in order, to one member at a time; partitions move as members
 * come and go. Its words are KafkaJS's.
 */
export class Consumer<T = unknown> implements AsyncIterable<ReceivedMessage<T>> {
  readonly #connection: Connection;
  readonly #settings: Settings<T>;
  readonly #emitter: Emitter;
  readonly #pauses = new PauseList();
  readonly #seeks = new Map<string, number>();
  readonly #topics = new Set<string>();
  #session: ConsumerSession<T> | undefined;

  /** @throws {InvalidOptions} */
  constructor(connection: Connection, options: ConsumerOptions<T>) {
    this.#connection = connection;
    this.#settings = settingsOf(options, connection.retry);
    this.#emitter = new Emitter((event, error) =>
      connection.logger.error(`A listener of '${event}' failed`, { error }),
    );
  }

  /** Nothing is opened before `run`: here for those whose code says it. */
  async connect(): Promise<void> {}

  /** Adds topics, before `run`. @throws {InvalidOptions} */
  async subscribe(subscription: { readonly topic?: string; readonly topics?: readonly string[] }): Promise<void> {
    known("'subscribe'", subscription, ['topic', 'topics']);
    const { topic, topics = [] } = subscription;
    if (this.#session) throw new InvalidOptions('Subscribe before the consumer runs; stop it first');
    const named = topic === undefined ? topics : [topic, ...topics];
    if (!Array.isArray(topics) || named.length === 0) throw new InvalidOptions('Name at least one topic');
    const odd = named.find((name) => typeof name !== 'string' || name === '');
    if (odd !== undefined) throw new InvalidOptions(`A topic is subscribed to by its name, not by ${String(odd)}`);
    for (const name of named) this.#topics.add(name);
  }

  /**
   * Joins the group and hands records to a handler from then on. Resolves once it is a member.
   * @throws what keeps it from being one: `topic_not_found`, `group_full`, `no_committed_offset`, … or the last
   *   connection error after `retry.withinMs`
   */
  async run(options: RunOptions<T>): Promise<void> {
    this.#check(options);
    const { signal } = options;
    if (signal?.aborted) throw new Aborted(signal);
    const onAbort = () => void this.stop({ timeoutMs: 0 });
    signal?.addEventListener('abort', onAbort, { once: true });
    const onEnd = () => {
      signal?.removeEventListener('abort', onAbort);
      this.#session = undefined;
    };
    this.#session = new ConsumerSession<T>({
      ...{ connection: this.#connection, settings: this.#settings, topics: [...this.#topics], run: options },
      ...{ emitter: this.#emitter, pauses: this.#pauses, seeks: this.#seeks, onEnd },
    });
    await this.#session.start();
  }

  /**
   * Ends: handlers finish what they have in hand, the commit follows, partitions are released, the group is left. A
   * static member keeps its place for its next session, unless `leave` says otherwise. Handlers that take longer than
   * `timeoutMs` see their signal aborted; what they had in hand is not committed. A handler may call this, but must not
   * wait for it.
   */
  async stop({ timeoutMs = STOP_TIMEOUT_MS_DEFAULT, leave }: Partial<StopOptions> = {}): Promise<void> {
    const isStatic = this.#settings.instanceId !== undefined;
    await this.#session?.stop({ timeoutMs, leave: leave ?? !isStatic });
  }

  /** `stop`, in KafkaJS's word. */
  disconnect(options?: Partial<StopOptions>): Promise<void> {
    return this.stop(options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** @returns what takes the listener away again */
  on<E extends ConsumerEvent>(event: E, listener: Listener<E>): () => void {
    return this.#emitter.on(event, listener);
  }

  /** Its id in the group; undefined while it is no member. */
  get memberId(): string | undefined {
    return this.#session?.memberId;
  }

  /** The partitions it holds, and which record of each is the next to be handled. */
  assignment(): TopicPartitionOffset[] {
    const held = this.#session?.held ?? [];
    return held.map(({ topic, partition, processed }) => ({ topic, partition, offset: processed }));
  }

  /** Fetches no more of these; what is fetched and not begun is dropped, and fetched again after `resume`. */
  pause(places: readonly TopicPartitions[]): void {
    this.#pauses.pause(places);
    this.#session?.pausesChanged();
  }

  resume(places: readonly TopicPartitions[]): void {
    this.#pauses.resume(places);
    this.#session?.pausesChanged();
  }

  paused(): TopicPartitions[] {
    return this.#pauses.list();
  }

  /**
   * Goes on at an offset. Forward, what lies between is committed as if it were processed; backward, the committed
   * offset stays, and a rebalance goes on from there. A partition that is not held yet goes on there once it is assigned.
   */
  seek({ topic, partition, offset }: TopicPartitionOffset): void {
    if (!Number.isSafeInteger(offset) || offset < 0) {
      throw new InvalidOptions(`'offset' must be an integer of 0 or more, not ${String(offset)}`);
    }
    if (!this.#session?.seek({ topic, partition, offset })) this.#seeks.set(keyOf({ topic, partition }), offset);
  }

  /**
   * Commits at once; each offset is the next one to read.
   * @throws {PartitionNotHeld} @throws {ApiError} `fenced`, `commit_regressed`, `offset_out_of_range`
   */
  async commitOffsets(
    offsets: readonly (TopicPartitionOffset & { readonly metadata?: string })[],
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    if (!this.#session) throw new InvalidOptions('The consumer does not run');
    await this.#session.commit(offsets, signal);
  }

  /**
   * Runs, one message at a time: a message is processed once the next one is asked for. Leaving the loop stops the
   * consumer; the message that it was left at is not committed.
   */
  messages(options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<ReceivedMessage<T>, void, void> {
    return iterate(this, options);
  }

  /** `messages`. */
  [Symbol.asyncIterator](): AsyncGenerator<ReceivedMessage<T>, void, void> {
    return this.messages();
  }

  #check(options: RunOptions<T>): void {
    known("'run'", options, RUN_OPTIONS);
    const { eachMessage, eachBatch, partitionsConsumedConcurrently: concurrency = 1 } = options;
    if (this.#session) throw new InvalidOptions('The consumer runs already');
    if (this.#topics.size === 0) throw new InvalidOptions('Subscribe to a topic first');
    if ((eachMessage === undefined) === (eachBatch === undefined)) {
      throw new InvalidOptions("Give either 'eachMessage' or 'eachBatch'");
    }
    if (typeof (eachMessage ?? eachBatch) !== 'function') throw new InvalidOptions('A handler must be a function');
    if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
      throw new InvalidOptions(`'partitionsConsumedConcurrently' must be an integer above 0, not ${concurrency}`);
    }
  }
}
