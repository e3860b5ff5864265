import type { IncomingMessage } from 'node:http';

/** A client that sends this many times too much is cut off instead of being read to its end. */
const DISCARDED_TIMES_MAX = 8;

/**
 * Reads a request's body. One that is too large is read to its end all the same and thrown away, so that the client, which
 * may look for an answer only after it has sent everything, sees the refusal instead of a broken connection.
 * @returns null when it has more than `maxBytes`. @throws when the client goes away before the end.
 */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) chunks.push(chunk);
      else chunks.length = 0;
      if (bytes > maxBytes * DISCARDED_TIMES_MAX) resolve(null);
    });
    request.on('end', () => resolve(bytes > maxBytes ? null : Buffer.concat(chunks, bytes)));
    request.on('error', reject);
    request.on('close', () => reject(new Error('the client went away')));
  });
}
