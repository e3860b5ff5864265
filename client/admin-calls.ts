import { LIST_LIMIT_MAX } from '../shared/domain/limits.ts';
import { JSON_TYPE } from '../shared/wire/media-type.ts';
import { ApiError } from './api-error.ts';
import type { Connection } from './connection.ts';
import { VertebraError } from './errors.ts';
import { retrying } from './retry.ts';
import type { Call } from './transport.ts';

/** Calls of the admin: JSON both ways, repeated while they fail in a way that may pass. */
export class AdminCalls {
  readonly #connection: Connection;
  readonly #signal: AbortSignal | undefined;

  constructor(connection: Connection, signal: AbortSignal | undefined) {
    this.#connection = connection;
    this.#signal = signal;
  }

  async get<T>(path: string, query: Call['query'] = {}): Promise<T> {
    return (await this.#connection.call({ method: 'GET', path, query, signal: this.#signal })).json<T>();
  }

  /** All pages. @param name of the answer's field that holds the items */
  async list<T>(path: string, name: string): Promise<T[]> {
    const items: T[] = [];
    let nextToken: string | undefined;
    do {
      const page: Record<string, T[]> & { nextToken?: string } = await this.get(path, {
        limit: LIST_LIMIT_MAX,
        nextToken,
      });
      items.push(...(page[name] ?? []));
      ({ nextToken } = page);
    } while (nextToken !== undefined);
    return items;
  }

  async send<T>(method: 'PUT' | 'POST', path: string, body: object): Promise<T> {
    return (await this.#connection.call(this.#withBody(method, path, body))).json<T>();
  }

  /** Makes one attempt: for what does more when it is done twice. */
  async once<T>(method: 'PUT' | 'POST', path: string, body: object): Promise<T> {
    return (await this.#connection.transport.call(this.#withBody(method, path, body))).json<T>();
  }

  /**
   * Deletes; that an attempt finds nothing any more is a success when the one before may have done it.
   * @param gone code that tells that there is nothing
   */
  async delete(path: string, gone: string): Promise<void> {
    const { retry, surroundings, transport } = this.#connection;
    let maybeDone = false;
    const attempt = async () => {
      try {
        await transport.call({ method: 'DELETE', path, signal: this.#signal });
      } catch (error) {
        if (maybeDone && error instanceof ApiError && error.code === gone) return;
        maybeDone ||= error instanceof VertebraError && error.effect === 'unknown';
        throw error;
      }
    };
    await retrying(attempt, { ...retry, surroundings, signal: this.#signal });
  }

  #withBody(method: 'PUT' | 'POST', path: string, body: object): Call {
    return { method, path, body: { type: JSON_TYPE, bytes: JSON.stringify(body) }, signal: this.#signal };
  }
}
