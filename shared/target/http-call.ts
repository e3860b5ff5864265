import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import {
  TARGET_ANSWER_BYTES_MAX,
  TARGET_ANSWER_HEADER_BYTES_MAX,
  TARGET_CONNECT_TIMEOUT_MS,
} from '../domain/limits.ts';

export interface HttpCall {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly lookup: LookupFunction;
  /** Epoch ms: the whole answer must be there by then. */
  readonly deadline: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The first `TARGET_ANSWER_BYTES_MAX` of it, as it came: nothing is inflated. */
  readonly body: Buffer;
  /** There was more, or it broke off. */
  readonly cut: boolean;
}

/** No answer came. */
export class CallFailed extends Error {
  /** @param sent the request may have reached somebody; false: there was no connection to send it on */
  constructor(
    readonly sent: boolean,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'CallFailed';
  }
}

/**
 * One POST on a connection of its own, from whose start to the end of its answer the deadline counts, whatever trickles in.
 * Redirects are answers like others.
 *
 * @throws {CallFailed} when there was no status line and headers
 */
export function post({ url, headers, body, lookup, deadline }: HttpCall): Promise<HttpAnswer> {
  const secure = url.protocol === 'https:';
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let [connected, size] = [false, 0];
    let response: IncomingMessage | undefined;

    const settle = (cut: boolean, error: Error) => {
      clearTimeout(timer);
      clearTimeout(connecting);
      if (response === undefined) reject(new CallFailed(connected, error.message, { cause: error }));
      else resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks), cut });
      request.destroy();
    };
    const giveUp = (why: string) => settle(true, new Error(why));
    const request = (secure ? httpsRequest : httpRequest)(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': body.length, 'accept-encoding': 'identity', connection: 'close' },
      lookup,
      agent: false, // a connection of its own, whose address was looked up for it
      maxHeaderSize: TARGET_ANSWER_HEADER_BYTES_MAX,
    });
    const timeoutMs = Math.max(0, deadline - Date.now());
    const timer = setTimeout(() => giveUp('no answer in time'), timeoutMs);
    const connectMs = Math.min(timeoutMs, TARGET_CONNECT_TIMEOUT_MS);
    const connecting = setTimeout(() => giveUp('no connection in time'), connectMs);
    request.on('socket', (socket: Socket) => {
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        connected = true;
        clearTimeout(connecting);
      });
    });
    request.on('error', (error) => settle(true, error));
    request.on('close', () => giveUp('the connection was closed without an answer'));
    request.on('response', (message: IncomingMessage) => {
      response = message;
      message.on('data', (chunk: Buffer) => {
        chunks.push(chunk.subarray(0, TARGET_ANSWER_BYTES_MAX - size));
        size += chunk.length;
        if (size > TARGET_ANSWER_BYTES_MAX) giveUp('too long an answer');
      });
      message.on('end', () => settle(!message.complete, new Error('ended')));
      message.on('error', (error) => settle(true, error));
    });
    request.end(body);
  });
}
