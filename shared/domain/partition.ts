/** Source: Kafka, `org.apache.kafka.common.utils.Utils.murmur2`. */
const SEED = 0x9747b28c | 0;
const MULTIPLIER = 0x5bd1e995;

/**
 * The partition that Kafka's Java client chooses for a record with this key, so that producers of both kinds agree.
 * The bytes are hashed as they are: no Unicode normalisation, no trimming. @returns 0 to `partitions` − 1
 */
export function partitionOf(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fffffff) % partitions;
}

/** MurmurHash 2 as Kafka computes it: 4 bytes at a time, little-endian. @returns a signed 32-bit integer */
export function murmur2(key: Uint8Array): number {
  let hash = SEED ^ key.length;
  const whole = key.length & ~3;
  for (let i = 0; i < whole; i += 4) {
    const word = key[i]! | (key[i + 1]! << 8) | (key[i + 2]! << 16) | (key[i + 3]! << 24);
    hash = Math.imul(hash, MULTIPLIER) ^ scramble(word);
  }
  const rest = key.length - whole;
  if (rest > 0) {
    if (rest === 3) hash ^= key[whole + 2]! << 16;
    if (rest >= 2) hash ^= key[whole + 1]! << 8;
    hash = Math.imul(hash ^ key[whole]!, MULTIPLIER);
  }
  hash = Math.imul(hash ^ (hash >>> 13), MULTIPLIER);
  return hash ^ (hash >>> 15);
}

function scramble(word: number): number {
  const product = Math.imul(word, MULTIPLIER);
  return Math.imul(product ^ (product >>> 24), MULTIPLIER);
}
