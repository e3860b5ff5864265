import type { Header } from '../domain/record.ts';
import {
  ATTRIBUTE_NAME,
  CONTENT_TYPE_HEADER,
  EVENT_HEADER_PREFIX,
  isAttributeText,
  isUriReference,
} from './cloud-event-headers.ts';
import { instantOf } from './instant.ts';
import { FieldFault } from './record-fault.ts';

/** An event's attributes as texts, `datacontenttype` among them, by name. */
export type EventAttributes = ReadonlyMap<string, string>;

/** Source: CloudEvents, "Type System": integers have 32 bits. */
const INTEGER_MIN = -(2 ** 31);
const INTEGER_MAX = 2 ** 31 - 1;
/** Source: RFC 9110 §8.3, a media type with its parameters. */
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+*-]+(?:\s*;.*)?$/;
const URI = /^[a-z][a-z0-9+.-]*:/i;

/** Members of the JSON format that are the event's data. */
const DATA: ReadonlySet<string> = new Set(['data', 'data_base64']);

/** What each attribute that the specification names must be. @returns what is wrong with it */
const RULES: Readonly<Record<string, (text: string) => string | undefined>> = {
  specversion: (text) => (text === '1.0' ? undefined : "must be '1.0'"),
  source: (text) => (isUriReference(text) ? undefined : 'must be a URI reference'),
  time: (text) => (instantOf(text) === undefined ? 'must be a time as in RFC 3339' : undefined),
  dataschema: (text) => (URI.test(text) && isUriReference(text) ? undefined : 'must be an absolute URI'),
  datacontenttype: (text) => (MEDIA_TYPE.test(text) ? undefined : 'must be a media type'),
};
const REQUIRED = ['specversion', 'id', 'source', 'type'] as const;

/**
 * The attributes of an event in the JSON format; what is null is not there.
 * @throws {FieldFault} naming the attribute that is missing or wrong
 */
export function attributesOfJson(event: object): EventAttributes {
  const attributes = new Map<string, string>();
  for (const [name, value] of Object.entries(event)) {
    if (DATA.has(name) || value === null) continue;
    attributes.set(name, textOfValue(name, value));
  }
  return checked(attributes);
}

/** The same of texts that came as headers. @throws {FieldFault} */
export function checked(attributes: EventAttributes): EventAttributes {
  for (const name of REQUIRED) if (!attributes.has(name)) throw new FieldFault(name, 'is required');
  for (const [name, text] of attributes) {
    if (!ATTRIBUTE_NAME.test(name))
      throw new FieldFault(shown(name), 'is no name of an attribute: those have a-z and 0-9');
    if (!isAttributeText(text)) throw new FieldFault(name, 'must be a text without control characters, and not empty');
    const wrong = Object.hasOwn(RULES, name) ? RULES[name]!(text) : undefined;
    if (wrong !== undefined) throw new FieldFault(name, wrong);
  }
  return attributes;
}

/** As the Kafka protocol binding's binary mode keeps them. */
export function headersOf(attributes: EventAttributes): Header[] {
  return [...attributes].map(([name, text]) => ({
    name: name === 'datacontenttype' ? CONTENT_TYPE_HEADER : `${EVENT_HEADER_PREFIX}${name}`,
    value: Buffer.from(text),
  }));
}

function textOfValue(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (Number.isInteger(value) && (value as number) >= INTEGER_MIN && (value as number) <= INTEGER_MAX)
    return String(value);
  throw new FieldFault(shown(name), 'must be a text, a boolean or an integer of 32 bits');
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 60));
}
