import { parseJsonPointer } from '../shared/wire/json-pointer.ts';
import { CommandFailure, EXIT } from './exit-codes.ts';

/** What a template can ask for of a record. */
export interface Fields {
  /** Text of a field, empty where the record has none; `undefined`: there is no such field. */
  field(name: string): string | undefined;
  header(name: string): string;
  /** What a JSON pointer leads to in the value; empty where it leads nowhere. */
  valueAt(path: readonly string[]): string;
}

type Piece = (fields: Fields) => string;

const NAMES = ['topic', 'partition', 'offset', 'timestamp', 'time', 'key', 'value', 'headers'];
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '0': '\0', '\\': '\\', '{': '{' };

/**
 * `{partition}:{offset} {key} {value/order/total} {header.traceparent}\n` → what writes a record so.
 * @throws {CommandFailure} naming what it does not know
 */
export function parseTemplate(template: string): (fields: Fields) => string {
  const pieces = [...template.matchAll(/\\(.)|\{([^}]*)\}|[^\\{]+|[\\{]/gs)].map((found) => pieceOf(found));
  return (fields) => pieces.map((piece) => piece(fields)).join('');
}

function pieceOf([whole, escaped, place]: RegExpExecArray): Piece {
  if (escaped !== undefined) {
    const character = ESCAPES[escaped] ?? whole;
    return () => character;
  }
  return place === undefined ? () => whole : placeOf(place);
}

function placeOf(place: string): Piece {
  if (NAMES.includes(place)) return (fields) => fields.field(place) ?? '';
  if (place.startsWith('header.')) return (fields) => fields.header(place.slice('header.'.length));
  if (place.startsWith('value/')) {
    const path = parsePointer(place.slice('value'.length));
    return (fields) => fields.valueAt(path);
  }
  throw wrong(
    `--template has no {${place}}; it has ${NAMES.map((name) => `{${name}}`).join(' ')} {value/…} {header.…}`,
  );
}

function parsePointer(pointer: string): string[] {
  try {
    return parseJsonPointer(pointer, '--template');
  } catch (error) {
    throw wrong((error as Error).message);
  }
}

const wrong = (what: string) => new CommandFailure(what, EXIT.usage);
