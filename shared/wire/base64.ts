/**
 * Bytes of a base64 text, RFC 4648 §4: padded, no line breaks, no other alphabet, unused bits zero.
 * @returns undefined when it is anything else
 */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}
