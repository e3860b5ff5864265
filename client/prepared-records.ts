import { isUtf8 } from 'node:buffer';
import type { ProducedRecord } from '../shared/domain/record.ts';
import { hasLoneSurrogateEscape } from '../shared/wire/json-text.ts';

/** A record as the body of a request has it: a JSON value as its own text, anything else in base64. */
export function jsonOf({ key, value, headers, partition, timestamp }: ProducedRecord): string {
  const members = [
    ...(key === null ? [] : [`"key":${base64(key)},"keyEncoding":"base64"`]),
    ...(headers.length === 0 ? [] : [`"headers":${JSON.stringify(headers.map(headerOf))}`]),
    ...(partition === undefined ? [] : [`"partition":${partition}`]),
    ...(timestamp === undefined ? [] : [`"timestamp":${timestamp}`]),
    value === null || isJson(value)
      ? `"value":${value === null ? 'null' : Buffer.from(value).toString()}`
      : `"value":${base64(value)},"valueEncoding":"base64"`,
  ];
  return `{${members.join(',')}}`;
}

function headerOf({ name, value }: ProducedRecord['headers'][number]) {
  return [name, value && { base64: Buffer.from(value).toString('base64') }];
}

function base64(bytes: Uint8Array): string {
  return `"${Buffer.from(bytes).toString('base64')}"`;
}

/** Whether it may stand in the request as it is: the text `null` would be a tombstone there. */
function isJson(value: Uint8Array): boolean {
  if (!isUtf8(value) || hasLoneSurrogateEscape(value)) return false;
  try {
    return JSON.parse(Buffer.from(value).toString()) !== null;
  } catch {
    return false;
  }
}
