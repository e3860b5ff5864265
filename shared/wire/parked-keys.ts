import { isUtf8 } from 'node:buffer';
import { type ParkedKey, parkedKeyIdText, parseParkedKeyId } from '../domain/lane.ts';
import { REDRIVE_LETTERS_MAX } from '../domain/limits.ts';
import type { Page } from '../domain/topic.ts';
import { type PageRequest, pageOf } from './group-admin-requests.ts';
import { bodyFields, invalid, list, type Read } from './group-fields.ts';
import { type ApiAnswer, jsonAnswer } from './http-answer.ts';
import type { ApiRequest } from './http-request.ts';
import { base64Bytes, measureString } from './json-writer.ts';
import { toNextToken } from './next-token.ts';
import { parseQuery } from './query.ts';
import { subscriptionOf } from './subscription-requests.ts';
import { textOf } from './utf8.ts';

const parkedId: Read<string> = (value, field) => {
  if (typeof value === 'string' && parseParkedKeyId(value) !== undefined) return value;
  throw invalid(field, "must be a parked key's id, such as '01J00000000000000000000000.3.8f14e45fceea167a'");
};
const IDS = list(parkedId, REDRIVE_LETTERS_MAX, undefined, 1);

export interface ParkedRequest {
  readonly subscription: string;
  /** One may be named twice. Absent: all. */
  readonly ids?: readonly string[];
}

/** @throws {InvalidRequest} */
export function parseParkedListing(request: ApiRequest): PageRequest & { readonly subscription: string } {
  const query = parseQuery(request.rawQuery, ['limit', 'nextToken']);
  return { subscription: subscriptionOf(request), ...pageOf('parkedKeys', query) };
}

/** @throws {InvalidRequest} */
export function parseParkedRequest(request: ApiRequest): ParkedRequest {
  const subscription = subscriptionOf(request);
  const ids = bodyFields(request, ['ids']).optional('ids', IDS);
  return { subscription, ...(ids !== undefined && { ids }) };
}

export function parkedListAnswer({ items, next }: Page<ParkedKey>): ApiAnswer {
  return jsonAnswer({
    parked: items.map(parkedJson),
    ...(next !== undefined && { nextToken: toNextToken('parkedKeys', next) }),
  });
}

/** @param count in the words of what was done */
export function parkedActAnswer(
  count: { readonly resuming: number } | { readonly deadLettering: number },
  more: boolean,
) {
  return jsonAnswer({ ...count, more }, 202);
}

function parkedJson(parked: ParkedKey) {
  const { topic, partition, keyBytes, offset, waiting, attempts, error = null, parkedAt, nextRetryAt } = parked;
  const isCut = keyBytes > parked.key.length;
  return {
    ...{ id: parkedKeyIdText(parked), topic, partition },
    ...keyJson(isCut ? wholeCharacters(parked.key) : parked.key),
    ...(isCut && { keyBytes }),
    ...{ offset, waiting, attempts, error, parkedAt, nextRetryAt: nextRetryAt ?? null },
  };
}

/** As records show theirs: a string when the bytes are UTF-8 and that is not longer than base64. */
function keyJson(key: Uint8Array): { readonly key: string; readonly keyEncoding?: 'base64' } {
  const isText = isUtf8(key) && measureString(key, 0, key.length).bytes <= base64Bytes(key.length);
  return isText ? { key: textOf(key) } : { key: Buffer.from(key).toString('base64'), keyEncoding: 'base64' };
}

/** Without the beginning of a character of UTF-8 that was cut off. */
function wholeCharacters(bytes: Uint8Array): Uint8Array {
  const lead = bytes.findLastIndex((byte) => byte < 0x80 || byte >= 0xc0);
  const isWhole = lead < 0 || isUtf8(bytes.subarray(lead));
  return isWhole || bytes.length - lead > CONTINUED_BYTES_MAX ? bytes : bytes.subarray(0, lead);
}

/** Of a character's bytes, those that may stand at the end without the last. */
const CONTINUED_BYTES_MAX = 3;
