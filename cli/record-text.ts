import { isUtf8 } from 'node:buffer';

/** A record as `consume` gets it: bytes as they are stored. */
export interface ConsumedRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** Epoch ms, −1: none. */
  readonly timestamp: number;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly headers: readonly (readonly [name: string, value: string | Uint8Array | null])[];
  /** Where an uploaded value lies, until the link expires. */
  readonly upload?: { readonly url: string; readonly size: number; readonly sha256: string } | null;
  /** Why there is no value although there should be one. */
  readonly unreadable?: string;
}

/** Bytes as text: as they are where they are UTF-8, else in base64. */
export function textOf(bytes: Uint8Array | null): string {
  return bytes === null ? '' : Buffer.from(bytes).toString(isUtf8(bytes) ? 'utf8' : 'base64');
}

/**
 * A record as one line of JSON, in the API's own shape. A JSON value stands there in its own text, so that no digit is
 * lost; other text as a string, other bytes in base64, with the encoding beside them.
 */
export function jsonLine(record: ConsumedRecord): string {
  const { topic, partition, offset, timestamp, key, headers, upload, unreadable } = record;
  const before = JSON.stringify({ topic, partition, offset, timestamp, ...keyFields(key) }).slice(0, -1);
  const after = JSON.stringify({ headers: headers.map(([name, value]) => [name, headerValue(value)]) }).slice(1);
  if (unreadable !== undefined)
    return `${before},"value":null,"error":${JSON.stringify({ code: unreadable })},${after}`;
  if (upload) return `${before},"value":${JSON.stringify(upload)},"valueEncoding":"url",${after}`;
  return `${before},${valueFields(record.value)},${after}`;
}

function keyFields(key: Uint8Array | null): object {
  return key !== null && !isUtf8(key) ? { key: textOf(key), keyEncoding: 'base64' } : { key: key && textOf(key) };
}

function valueFields(value: Uint8Array | null): string {
  if (value === null) return '"value":null';
  const text = textOf(value);
  if (!isUtf8(value)) return `"value":"${text}","valueEncoding":"base64"`;
  if (isJson(value)) return `"value":${onOneLine(text)}`;
  return `"value":${JSON.stringify(text)},"valueEncoding":"utf8"`;
}

export function isJson(value: Uint8Array): boolean {
  if (!isUtf8(value)) return false;
  try {
    JSON.parse(textOf(value));
    return true;
  } catch {
    return false;
  }
}

/** JSON text without line breaks: between its tokens one is as good as a blank, and within a string it cannot be. */
export function onOneLine(json: string): string {
  return json.replace(/[\r\n]/g, ' ');
}

function headerValue(value: string | Uint8Array | null): unknown {
  return value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value;
}
