import type { Connection } from '../connection.ts';
import { TOPIC_AGE_MS_MAX } from '../limits.ts';
import { pathOf } from '../transport.ts';

interface Known {
  readonly partitions: Promise<number>;
  readonly learnedAt: number;
}

/** How many partitions each topic has, as last seen. */
export class RelayTopics {
  readonly #connection: Connection;
  readonly #known = new Map<string, Known>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** @throws {VertebraError} what keeps the topic from being looked up, also when its name is none */
  async partitions(topic: string, timeoutMs: number, signal: AbortSignal): Promise<number> {
    const now = this.#connection.surroundings.now();
    let known = this.#known.get(topic);
    if (known === undefined || now - known.learnedAt > TOPIC_AGE_MS_MAX) {
      known = { partitions: this.#learn(topic, timeoutMs, signal), learnedAt: now };
      this.#known.set(topic, known);
    }
    try {
      return await known.partitions;
    } catch (error) {
      if (this.#known.get(topic) === known) this.forget(topic);
      throw error;
    }
  }

  /** The topic is not what it was thought to be. */
  forget(topic: string): void {
    this.#known.delete(topic);
  }

  async #learn(topic: string, timeoutMs: number, signal: AbortSignal): Promise<number> {
    const call = { method: 'GET', path: pathOf('topics', topic), timeoutMs, signal } as const;
    return (await this.#connection.transport.call(call)).json<{ partitions: number }>().partitions;
  }
}
