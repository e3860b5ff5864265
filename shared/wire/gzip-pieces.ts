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

/** Room beyond what the pieces so far let expect of all: less leads to another growth of the buffer, which holds it twice. */
const EXPECTED_FACTOR = 1.03;
const GROWTH_FACTOR_MIN = 1.25;

/** Compresses what is too large to be held in one piece, into one buffer. */
export class GzipPieces {
  readonly #expected: number;
  #bytes: Buffer;
  #at: number;
  #crc = 0;
  #taken = 0;

  /**
   * @param expectedBytes that will be compressed, about
   * @param roomBytes for what is to stand before the gzip
   */
  constructor(expectedBytes: number, roomBytes = 0) {
    this.#expected = expectedBytes;
    this.#bytes = Buffer.allocUnsafe(roomBytes + HEAD.length);
    this.#bytes.set(HEAD, roomBytes);
    this.#at = this.#bytes.length;
  }

  /** Takes bytes, which may change afterwards. */
  add(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      const piece = bytes.subarray(at, at + PIECE_BYTES);
      this.#taken += piece.length;
      this.#crc = crc32(piece, this.#crc);
      this.#append(
        deflateRawSync(piece, {
          level: GZIP_LEVEL,
          memLevel: GZIP_MEMORY_LEVEL,
          finishFlush: constants.Z_SYNC_FLUSH,
          chunkSize: piece.length + ADDED_BYTES_MAX,
        }),
      );
    }
  }

  /** The room and the whole gzip. Nothing is added after that. */
  finish(): Buffer {
    const trailer = Buffer.alloc(TRAILER_BYTES);
    trailer.writeUInt32LE(this.#crc);
    trailer.writeUInt32LE(this.#taken, 4);
    this.#append(LAST_BLOCK);
    this.#append(trailer);
    return this.#bytes.subarray(0, this.#at);
  }

  #append(part: Uint8Array): void {
    const end = this.#at + part.length;
    if (end > this.#bytes.length) {
      const left = Math.max(0, this.#expected - this.#taken);
      const ahead = this.#taken < PIECE_BYTES / 2 ? PIECE_BYTES : (end / this.#taken) * left;
      const bytes = Math.max((end + ahead) * EXPECTED_FACTOR, this.#at * GROWTH_FACTOR_MIN);
      const grown = Buffer.allocUnsafe(Math.ceil(bytes) + LAST_BLOCK.length + TRAILER_BYTES);
      this.#bytes.copy(grown, 0, 0, this.#at);
      this.#bytes = grown;
    }
    this.#bytes.set(part, this.#at);
    this.#at = end;
  }
}
