import { constants, crc32, deflateRawSync } from 'node:zlib';

/*
 * One gzip member, RFC 1952, numbers little-endian:
 *
 *   0  1f 8b             magic
 *   2  08                deflate
 *   3  00                no name, no comment
 *   4  uint32 0          no time: the same bytes give the same gzip
 *   8  04                the fastest compression
 *   9  ff                made on no particular system
 *  10                    deflate blocks (RFC 1951): those of each piece, which end at a byte; an empty last one, 03 00
 *  −8  uint32            CRC-32 of what was compressed
 *  −4  uint32            bytes of it
 */
const HEAD = Buffer.from('1f8b08000000000004ff', 'hex');
const LAST_BLOCK = Buffer.from('0300', 'hex');
const TRAILER_BYTES = 8;

/** The fastest level; higher ones cost twice the time for a tenth of the size. */
export const GZIP_LEVEL = 1;
/** All the memory that deflate can use: a seventh faster than the default, and no larger. */
export const GZIP_MEMORY_LEVEL = 9;
/** What is compressed at a time: each piece knows nothing of the one before, which makes it a hundredth larger. */
export const PIECE_BYTES = 256 * 1024;
/** More than deflate ever adds to a piece that it cannot make smaller. */
const ADDED_BYTES_MAX = 1_024;

/** Compresses what is too large to be held in one piece. */
export class GzipPieces {
  readonly #pieces: Uint8Array[] = [];
  #crc = 0;
  #taken = 0;
  #bytes = HEAD.length + LAST_BLOCK.length + TRAILER_BYTES;

  /** Takes bytes, which may change afterwards. */
  add(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      const piece = bytes.subarray(at, at + PIECE_BYTES);
      const packed = deflateRawSync(piece, {
        level: GZIP_LEVEL,
        memLevel: GZIP_MEMORY_LEVEL,
        finishFlush: constants.Z_SYNC_FLUSH,
        chunkSize: piece.length + ADDED_BYTES_MAX,
      });
      this.#pieces.push(new Uint8Array(packed)); // not the chunk that it lies in
      this.#bytes += packed.length;
      this.#crc = crc32(piece, this.#crc);
    }
    this.#taken += bytes.length;
  }

  /** Bytes of the whole. */
  get length(): number {
    return this.#bytes;
  }

  /** Writes the whole. */
  writeTo(into: Buffer, at: number): void {
    let position = at;
    for (const part of [HEAD, ...this.#pieces, LAST_BLOCK]) {
      into.set(part, position);
      position += part.length;
    }
    position = into.writeUInt32LE(this.#crc, position);
    into.writeUInt32LE(this.#taken, position);
  }
}
