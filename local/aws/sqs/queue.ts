import { randomUUID } from 'node:crypto';
import type { Operation } from 'dynalite/db/index.js';
import type { Records } from '../storage/records.ts';
import type { MessageContent } from './message.ts';
import { numberOf, type QueueAttributes } from './queue-attributes.ts';
import { invalidValue, SqsError } from './sqs-error.ts';

/** What becomes of a message; written anew at each receive. */
export interface Delivery {
  /** Epoch ms: nobody receives it before. */
  readonly visibleAt: number;
  readonly receives: number;
  /** Epoch ms. */
  readonly firstReceivedAt?: number;
  /** Handle of the last receive: only it deletes the message. */
  readonly receipt?: string;
}

export interface Message {
  readonly id: string;
  readonly content: MessageContent;
  /** Epoch ms. */
  readonly sentAt: number;
  delivery: Delivery;
}

/** Longest that a message can be kept invisible, seconds. */
export const VISIBILITY_SECONDS_MAX = 43_200;

/**
 * The messages of one queue, oldest first, in memory and in these records:
 *
 * sqs-message~<queue>~<id>     content and time, written once
 * sqs-delivery~<queue>~<id>    {@link Delivery}
 */
export class Queue {
  readonly #records: Records;
  readonly #now: () => number;
  readonly #messages = new Map<string, Message>();
  /** Whoever waits for a message to come or to become visible. */
  readonly #waiting = new Set<() => void>();

  constructor(
    readonly name: string,
    public attributes: QueueAttributes,
    readonly createdAt: number,
    records: Records,
    now: () => number,
  ) {
    this.#records = records;
    this.#now = now;
  }

  async open(): Promise<void> {
    const found: Message[] = [];
    for await (const [id, message] of this.#records.entries<Omit<Message, 'delivery'>>(`sqs-message~${this.name}~`)) {
      const delivery = await this.#records.get<Delivery>(`sqs-delivery~${this.name}~${id}`);
      if (delivery === undefined) continue;
      // Whoever had received it ended with the process before this one.
      const visibleAt = delivery.receives === 0 ? delivery.visibleAt : Math.min(delivery.visibleAt, this.#now());
      found.push({ ...message, delivery: { ...delivery, visibleAt } });
    }
    found.sort((a, b) => a.sentAt - b.sentAt);
    for (const message of found) this.#messages.set(message.id, message);
  }

  /** Messages that can be received, that somebody has, and that are delayed. */
  counts(): { visible: number; inFlight: number; delayed: number } {
    this.#expire();
    const now = this.#now();
    const counts = { visible: 0, inFlight: 0, delayed: 0 };
    for (const { delivery } of this.#messages.values()) {
      if (delivery.visibleAt <= now) counts.visible += 1;
      else counts[delivery.receives > 0 ? 'inFlight' : 'delayed'] += 1;
    }
    return counts;
  }

  async send(content: MessageContent, delaySeconds: number): Promise<Message> {
    const now = this.#now();
    const delivery = { visibleAt: now + delaySeconds * 1_000, receives: 0 };
    const message: Message = { id: randomUUID(), content, sentAt: now, delivery };
    await this.#records.batch(this.#written(message));
    this.#messages.set(message.id, message);
    this.#wake();
    return message;
  }

  /** Up to `most` visible messages, hidden from others for `visibilitySeconds`. */
  async take(most: number, visibilitySeconds: number): Promise<Message[]> {
    this.#expire();
    const now = this.#now();
    const taken: Message[] = [];
    for (const message of this.#messages.values()) {
      if (taken.length === most) break;
      const { delivery } = message;
      if (delivery.visibleAt > now) continue;
      const receives = delivery.receives + 1;
      message.delivery = {
        visibleAt: now + visibilitySeconds * 1_000,
        receives,
        firstReceivedAt: delivery.firstReceivedAt ?? now,
        receipt: Buffer.from(`${message.id}#${receives}#${randomUUID()}`).toString('base64'),
      };
      taken.push(message);
    }
    if (taken.length > 0) await this.#records.batch(taken.map((message) => this.#delivered(message)));
    return taken.map((message) => ({ ...message }));
  }

  /** Waits until a message may have become visible, at most `waitMs`. */
  async wait(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
    const now = this.#now();
    let ms = waitMs;
    for (const { delivery } of this.#messages.values()) ms = Math.min(ms, delivery.visibleAt - now);
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#waiting.delete(end);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.#waiting.add(end);
      signal?.addEventListener('abort', end);
      if (signal?.aborted) end();
    });
  }

  /** Deletes what the receipt is the latest of; an outdated receipt deletes nothing. @throws {SqsError} */
  async delete(receipt: string): Promise<void> {
    const message = this.#messages.get(idOf(receipt));
    if (message?.delivery.receipt === receipt) await this.#remove([message]);
  }

  /** Hides a received message for another while, from now on. @throws {SqsError} */
  async changeVisibility(receipt: string, seconds: number): Promise<void> {
    const message = this.#messages.get(idOf(receipt));
    const now = this.#now();
    if (message?.delivery.receipt !== receipt || message.delivery.visibleAt <= now) {
      throw invalidValue(
        receipt,
        'ReceiptHandle',
        'Message does not exist or is not available for visibility timeout change',
      );
    }
    message.delivery = { ...message.delivery, visibleAt: now + seconds * 1_000 };
    await this.#records.batch([this.#delivered(message)]);
    this.#wake();
  }

  /** Hands messages over to another queue, each once. */
  async move(messages: readonly Message[], target: Queue, system: Record<string, string>): Promise<void> {
    const now = this.#now();
    const moved = messages.map(({ id, content, sentAt }) => ({
      id,
      sentAt,
      content: { ...content, system: { ...content.system, ...system } },
      delivery: { visibleAt: now, receives: 0 },
    }));
    await this.#records.batch([
      ...messages.flatMap(({ id }) => this.#removed(id)),
      ...moved.flatMap((m) => target.#written(m)),
    ]);
    for (const { id } of messages) this.#messages.delete(id);
    for (const message of moved) target.#messages.set(message.id, message);
    target.#wake();
  }

  async purge(): Promise<void> {
    await this.#remove([...this.#messages.values()]);
  }

  /** Releases everybody who waits: the queue goes away. */
  close(): void {
    this.#wake();
  }

  #wake(): void {
    for (const end of [...this.#waiting]) end();
  }

  #expire(): void {
    const oldest = this.#now() - numberOf(this.attributes, 'MessageRetentionPeriod') * 1_000;
    const expired: Message[] = [];
    for (const message of this.#messages.values()) if (message.sentAt < oldest) expired.push(message);
    if (expired.length > 0) {
      this.#remove(expired).catch((error) =>
        console.error(`expired messages of ${this.name} were not removed:`, error),
      );
    }
  }

  async #remove(messages: readonly Message[]): Promise<void> {
    for (const { id } of messages) this.#messages.delete(id);
    await this.#records.batch(messages.flatMap(({ id }) => this.#removed(id)));
  }

  #written(message: Message): Operation[] {
    const { id, content, sentAt } = message;
    return [
      { type: 'put', key: `sqs-message~${this.name}~${id}`, value: { id, content, sentAt } },
      this.#delivered(message),
    ];
  }

  #delivered({ id, delivery }: Message): Operation {
    return { type: 'put', key: `sqs-delivery~${this.name}~${id}`, value: delivery };
  }

  #removed(id: string): Operation[] {
    return ['message', 'delivery'].map((kind) => ({ type: 'del', key: `sqs-${kind}~${this.name}~${id}` }));
  }
}

function idOf(receipt: string): string {
  const parts = Buffer.from(receipt, 'base64').toString().split('#');
  if (parts.length !== 3)
    throw new SqsError(
      'ReceiptHandleIsInvalid',
      `The input receipt handle "${receipt}" is not a valid receipt handle.`,
    );
  return parts[0]!;
}
