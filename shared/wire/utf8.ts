import { isAscii } from 'node:buffer';

/** A text of these bytes, which are known to be valid UTF-8. ASCII, the usual case, needs no decoding. */
export function textOf(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return buffer.toString(isAscii(buffer) ? 'latin1' : 'utf8');
}

/** Half of a surrogate pair: no UTF-8 stands for it, so it would be stored as something else. */
const LONE_SURROGATE = /\p{Surrogate}/u;

export function hasLoneSurrogate(text: string): boolean {
  return LONE_SURROGATE.test(text);
}
