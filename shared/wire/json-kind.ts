import { passSpace, passValue } from './json-check.ts';

const LOWER_N = 0x6e;

/**
 * Whether bytes known to be UTF-8 are one JSON text, and whether that is `null`. No object is made of it unless it is
 * nested very deep: a text may have as many objects as bytes.
 * @returns undefined when it is no JSON
 */
export function jsonKindOf(text: Uint8Array): 'null' | 'value' | undefined {
  const start = passSpace(text, 0);
  const end = passValue(text, start);
  if (end >= 0 && passSpace(text, end) === text.length) return text[start] === LOWER_N ? 'null' : 'value';
  try {
    // A byte for a character: the text is not needed, and this is faster.
    const bytes = Buffer.from(text.buffer, text.byteOffset, text.byteLength);
    return JSON.parse(bytes.toString('latin1')) === null ? 'null' : 'value';
  } catch {
    return undefined;
  }
}
