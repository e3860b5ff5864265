/** Castagnoli's polynomial, bits reversed. Source: RFC 3720, appendix B.4. */
const POLYNOMIAL = 0x82f63b78;
/** Bytes that one step takes: 16 tables of 256 entries (16 KB) were the fastest of 4, 8 and 16. */
const STEP_BYTES = 16;

/** Entry `k * 256 + byte`: what `byte` does to the checksum when `k` more bytes of the step follow it. */
const TABLE = slicingTable();
const NO_WORDS = new Int32Array(0);

/** CRC-32C, as Kafka's record batches carry it, of `bytes` from `start` to `end`. @returns an unsigned 32-bit integer */
export function crc32c(bytes: Uint8Array, start = 0, end = bytes.length): number {
  // Words are read as the machine stores them: every machine that Node and Lambda run on is little-endian.
  const aligned = Math.min(end, start + (-(bytes.byteOffset + start) & 3));
  const steps = Math.floor((end - aligned) / STEP_BYTES);
  const words = steps === 0 ? NO_WORDS : new Int32Array(bytes.buffer, bytes.byteOffset + aligned, steps * 4);
  let crc = bytewise(-1, bytes, start, aligned);
  for (let i = 0; i < words.length; i += 4) {
    const a = words[i]! ^ crc;
    const b = words[i + 1]!;
    const c = words[i + 2]!;
    const d = words[i + 3]!;
    crc =
      TABLE[2816 | (b & 0xff)]! ^
      TABLE[2560 | ((b >>> 8) & 0xff)]! ^
      TABLE[2304 | ((b >>> 16) & 0xff)]! ^
      TABLE[2048 | (b >>> 24)]! ^
      TABLE[1792 | (c & 0xff)]! ^
      TABLE[1536 | ((c >>> 8) & 0xff)]! ^
      TABLE[1280 | ((c >>> 16) & 0xff)]! ^
      TABLE[1024 | (c >>> 24)]! ^
      TABLE[768 | (d & 0xff)]! ^
      TABLE[512 | ((d >>> 8) & 0xff)]! ^
      TABLE[256 | ((d >>> 16) & 0xff)]! ^
      TABLE[d >>> 24]! ^
      TABLE[3840 | (a & 0xff)]! ^
      TABLE[3584 | ((a >>> 8) & 0xff)]! ^
      TABLE[3328 | ((a >>> 16) & 0xff)]! ^
      TABLE[3072 | (a >>> 24)]!;
  }
  return ~bytewise(crc, bytes, aligned + steps * STEP_BYTES, end) >>> 0;
}

function bytewise(before: number, bytes: Uint8Array, start: number, end: number): number {
  let crc = before;
  for (let i = start; i < end; i++) crc = TABLE[(crc ^ bytes[i]!) & 0xff]! ^ (crc >>> 8);
  return crc;
}

function slicingTable(): Int32Array {
  const table = new Int32Array(STEP_BYTES * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    table[byte] = crc;
  }
  for (let i = 256; i < table.length; i++) {
    const previous = table[i - 256]!;
    table[i] = table[previous & 0xff]! ^ (previous >>> 8);
  }
  return table;
}
