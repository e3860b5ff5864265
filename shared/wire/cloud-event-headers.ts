import { isUtf8 } from 'node:buffer';
import type { Header } from '../domain/record.ts';
import { instantOf } from './instant.ts';
import { textOf } from './utf8.ts';

/*
 * A record that is a CloudEvent: the Kafka protocol binding's binary mode.
 *
 *   ce_<name>      an attribute, as text
 *   content-type   the attribute datacontenttype
 */
export const EVENT_HEADER_PREFIX = 'ce_';
export const CONTENT_TYPE_HEADER = 'content-type';

/** Source: CloudEvents, "Naming Conventions" and "Type System". */
export const ATTRIBUTE_NAME = /^[a-z0-9]+$/;
const TEXT = /^[^\p{Cc}\ufffe\uffff]+$/u;
const URI_REFERENCE = /^(?:[!#$&-;=?-[\]_a-z~]|%[0-9a-f]{2})+$/i;
/** Not attributes but what the data is called in the JSON format. */
const DATA = 'data';

export interface OwnAttributes {
  readonly attributes: Readonly<Record<string, string>>;
  /** Headers that are none of the event's. */
  readonly others: readonly Header[];
}

/** The attributes that a record's headers hold. @returns undefined when it is no event, or not one that is valid */
export function ownAttributes(headers: readonly Header[]): OwnAttributes | undefined {
  if (!headers.some(({ name }) => name === `${EVENT_HEADER_PREFIX}specversion`)) return undefined;
  const attributes: Record<string, string> = {};
  const others: Header[] = [];
  for (const header of headers) {
    const name = header.name.toLowerCase() === CONTENT_TYPE_HEADER ? 'datacontenttype' : attributeName(header.name);
    const text = header.value !== null && isUtf8(header.value) ? textOf(header.value) : '';
    if (name !== undefined && isAttributeText(text)) attributes[name] = text;
    else others.push(header);
  }
  return isEvent(attributes) ? { attributes, others } : undefined;
}

/** Whether an attribute can have this text: it is not empty, and without control characters. */
export function isAttributeText(text: string): boolean {
  return TEXT.test(text);
}

/** Source: RFC 3986 §4.1. */
export function isUriReference(text: string): boolean {
  return URI_REFERENCE.test(text);
}

function attributeName(header: string): string | undefined {
  if (!header.startsWith(EVENT_HEADER_PREFIX)) return undefined;
  const name = header.slice(EVENT_HEADER_PREFIX.length);
  return ATTRIBUTE_NAME.test(name) && name !== DATA ? name : undefined;
}

function isEvent({ specversion, id, source, type, time }: Record<string, string>): boolean {
  if (specversion !== '1.0' || id === undefined || type === undefined) return false;
  return isUriReference(source ?? '') && (time === undefined || instantOf(time) !== undefined);
}
