import { S3Error } from './s3-error.ts';

/**
 * A body in AWS's own chunks, as SDKs send streams whose checksum they learn while sending:
 *
 *   <size, hex>[;chunk-signature=…]\r\n <size bytes> \r\n   repeated; size 0 ends the data
 *   <trailer>:<value>\r\n                                   repeated, such as x-amz-checksum-crc32
 *   \r\n
 */
export async function* decodeAwsChunked(
  body: AsyncIterable<Uint8Array>,
  trailers: Record<string, string>,
): AsyncGenerator<Uint8Array> {
  const reader = new ByteReader(body);
  for (;;) {
    const size = Number.parseInt((await reader.line()).split(';')[0]!, 16);
    if (!(size >= 0)) throw incomplete();
    if (size === 0) break;
    yield* reader.bytes(size);
    if ((await reader.line()) !== '') throw incomplete();
  }
  for (;;) {
    const line = await reader.line();
    if (line === '') return;
    const colon = line.indexOf(':');
    trailers[line.slice(0, colon).trim().toLowerCase()] = line.slice(colon + 1).trim();
  }
}

/** Longest line between chunks; a signature takes 100 characters. */
const LINE_BYTES_MAX = 4_096;

class ByteReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(body: AsyncIterable<Uint8Array>) {
    this.#source = body[Symbol.asyncIterator]();
  }

  /** Text up to the next CRLF; at the end of the body: what is left. */
  async line(): Promise<string> {
    let line = Buffer.alloc(0);
    for (;;) {
      const end = this.#rest.indexOf(10);
      const taken = end < 0 ? this.#rest : this.#rest.subarray(0, end + 1);
      line = Buffer.concat([line, taken]);
      this.#rest = this.#rest.subarray(taken.length);
      if (line.length > LINE_BYTES_MAX) throw incomplete();
      if (end >= 0 || !(await this.#more())) return line.toString('latin1').replace(/\r?\n$/, '');
    }
  }

  async *bytes(size: number): AsyncGenerator<Uint8Array> {
    let left = size;
    while (left > 0) {
      if (this.#rest.length === 0 && !(await this.#more())) throw incomplete();
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#source.next();
    if (!done) this.#rest = value;
    return !done;
  }
}

function incomplete(): S3Error {
  return new S3Error(400, 'IncompleteBody', 'The request body terminated unexpectedly');
}
