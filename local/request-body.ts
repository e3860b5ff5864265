import type { IncomingMessage } from 'node:http';

/** A client that sends this many times too much is cut off instead of being read to its end. */
const DISCARDED_TIMES_MAX = 8;

/**
 * Reads a request's body. One that is too large is read to its end all the same and thrown away, so that the client, which
 * may look for an answer only after it has sent everything, sees the refusal instead of a broken connection.
 * @returns `gone` when the client went away before the end
 */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | 'too large' | 'gone'> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) chunks.push(chunk);
      else chunks.length = 0;
      if (bytes > maxBytes * DISCARDED_TIMES_MAX) resolve('too large');
    });
    request.on('end', () => resolve(bytes > maxBytes ? 'too large' : Buffer.concat(chunks, bytes)));
    request.on('error', () => resolve('gone'));
    request.on('close', () => resolve('gone'));
  });
}
