import type { Records } from '../storage/records.ts';
import { Queue } from './queue.ts';
import { checkedAttributes, defaultAttributes, type QueueAttributes, redrivePolicyOf } from './queue-attributes.ts';
import { invalidValue, noSuchQueue, SqsError } from './sqs-error.ts';

interface StoredQueue {
  readonly attributes: QueueAttributes;
  /** Epoch ms. */
  readonly createdAt: number;
}

/** All queues, by name. `sqs-queue~<name>` holds a queue's attributes. */
export class Queues {
  readonly #records: Records;
  readonly #now: () => number;
  readonly #queues = new Map<string, Queue>();

  constructor(records: Records, now: () => number) {
    this.#records = records;
    this.#now = now;
  }

  async open(): Promise<void> {
    for await (const [name, { attributes, createdAt }] of this.#records.entries<StoredQueue>('sqs-queue~')) {
      const queue = new Queue(name, attributes, createdAt, this.#records, this.#now);
      await queue.open();
      this.#queues.set(name, queue);
    }
  }

  close(): void {
    const queues = [...this.#queues.values()];
    this.#queues.clear();
    for (const queue of queues) queue.close();
  }

  names(prefix: string): string[] {
    return [...this.#queues.keys()].filter((name) => name.startsWith(prefix)).sort();
  }

  /** @throws {SqsError} QueueDoesNotExist */
  named(name: string): Queue {
    const queue = this.#queues.get(name);
    if (!queue) throw noSuchQueue();
    return queue;
  }

  find(name: string): Queue | undefined {
    return this.#queues.get(name);
  }

  /** Whether a queue still exists. */
  has(queue: Queue): boolean {
    return this.#queues.get(queue.name) === queue;
  }

  /** Makes a queue, or finds the one that there is, if it is like this. @throws {SqsError} */
  async create(name: string, input: unknown): Promise<void> {
    if (!/^[A-Za-z0-9_-]{1,80}$/.test(name)) {
      throw invalidValue(
        name,
        'QueueName',
        'Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length',
      );
    }
    const asked = checkedAttributes(input);
    const existing = this.#queues.get(name);
    if (existing) {
      const other = Object.keys(asked).find((attribute) => asked[attribute] !== existing.attributes[attribute]);
      if (other === undefined) return;
      throw new SqsError(
        'QueueNameExists',
        `A queue already exists with the same name and a different value for attribute ${other}`,
      );
    }
    const queue = new Queue(name, { ...defaultAttributes(), ...asked }, this.#now(), this.#records, this.#now);
    this.#checkRedrive(queue.attributes);
    this.#queues.set(name, queue);
    await this.#store(queue);
  }

  async setAttributes(queue: Queue, input: unknown): Promise<void> {
    const merged = { ...queue.attributes, ...checkedAttributes(input) };
    const attributes = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== ''));
    this.#checkRedrive(attributes);
    queue.attributes = attributes;
    await this.#store(queue);
  }

  async delete(queue: Queue): Promise<void> {
    await this.#records.del(`sqs-queue~${queue.name}`);
    await queue.purge();
    this.#queues.delete(queue.name);
    queue.close();
  }

  #checkRedrive(attributes: QueueAttributes): void {
    const target = redrivePolicyOf(attributes)?.target;
    if (target !== undefined && !this.#queues.has(target)) {
      throw invalidValue(attributes.RedrivePolicy, 'RedrivePolicy', 'Dead letter target does not exist');
    }
  }

  async #store({ name, attributes, createdAt }: Queue): Promise<void> {
    await this.#records.put(`sqs-queue~${name}`, { attributes, createdAt } satisfies StoredQueue);
  }
}
