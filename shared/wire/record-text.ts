import { JsonCursor } from './json-text.ts';

/** Value start and end, key start and end, where headers that are an object begin, and how many members they have. */
export const FIELDS = 6;
export const ABSENT = -1;

/**
 * How `JSON.parse` was given a body: as its text, or each byte as a character. The latter is the same JSON, only that
 * strings have bytes for characters, as long as no `\u` escape writes a character of its own; and it is faster.
 */
export type BodyEncoding = 'utf8' | 'latin1';

/** Where the values, keys and headers of a produce request's records stand in its text. */
export class RecordText {
  readonly #spans: Int32Array;

  /** @param spans of each record, `FIELDS` places in `body`; what it does not have is `ABSENT` */
  constructor(
    readonly body: Uint8Array,
    readonly encoding: BodyEncoding,
    spans: Int32Array,
  ) {
    this.#spans = spans;
  }

  /** @param body a JSON text that `JSON.parse` has accepted, whose member `records` has `count` elements */
  static of(body: Uint8Array, count: number, encoding: BodyEncoding): RecordText {
    const text = new RecordText(body, encoding, new Int32Array(count * FIELDS).fill(ABSENT));
    const cursor = new JsonCursor(body);
    cursor.peek();
    cursor.enter();
    while (cursor.nextMember()) {
      if (cursor.nameIs('records') && cursor.atArray()) text.#records(cursor, count);
      else cursor.skipValue();
    }
    return text;
  }

  /** The source of the record's value, as it was sent; its last one when it has several. */
  value(i: number): Uint8Array {
    return this.#view(this.#spans[i * FIELDS]!, this.#spans[i * FIELDS + 1]!);
  }

  /** The bytes of the record's key; undefined when it is no string or has escapes, so that its text must be decoded. */
  key(i: number): Uint8Array | undefined {
    const start = this.#spans[i * FIELDS + 2]!;
    return start === ABSENT ? undefined : this.#view(start, this.#spans[i * FIELDS + 3]!);
  }

  /**
   * The members of the record's headers, which `JSON.parse` made the object `parsed`, in the order sent and repeated names
   * repeated: an object keeps one of equal names, and puts names that are integers first.
   */
  headers(i: number, parsed: object): [name: string, value: unknown][] {
    const entries = Object.entries(parsed);
    const kept = entries.length === this.#spans[i * FIELDS + 5] && !/^\d/.test(entries[0]?.[0] ?? '');
    return kept ? entries : this.#members(this.#spans[i * FIELDS + 4]!);
  }

  #records(cursor: JsonCursor, count: number): void {
    this.#spans.fill(ABSENT); // an earlier member of this name does not count
    cursor.enter();
    for (let i = 0; cursor.nextElement(); i++) {
      if (i < count && cursor.atObject()) this.#record(cursor, i * FIELDS);
      else cursor.skipValue();
    }
  }

  #record(cursor: JsonCursor, at: number): void {
    const spans = this.#spans;
    cursor.enter();
    while (cursor.nextMember()) {
      if (cursor.nameIs('value')) {
        spans[at] = cursor.position;
        cursor.skipValue();
        spans[at + 1] = cursor.position;
      } else if (cursor.nameIs('key')) {
        spans[at + 2] = ABSENT;
        if (cursor.atString()) this.#key(cursor, at + 2);
        else cursor.skipValue();
      } else if (cursor.nameIs('headers') && cursor.atObject()) this.#headers(cursor, at + 4);
      else cursor.skipValue();
    }
  }

  #headers(cursor: JsonCursor, at: number): void {
    this.#spans[at] = cursor.position;
    let count = 0;
    cursor.enter();
    for (; cursor.nextMember(); count++) cursor.skipValue();
    this.#spans[at + 1] = count;
  }

  #members(start: number): [name: string, value: unknown][] {
    const cursor = new JsonCursor(this.body, start);
    const members: [string, unknown][] = [];
    cursor.enter();
    while (cursor.nextElement()) {
      const from = cursor.position;
      cursor.nextMember();
      cursor.skipValue();
      const member = Buffer.from(this.#view(from, cursor.position)).toString(this.encoding);
      members.push(...Object.entries<unknown>(JSON.parse(`{${member}}`)));
    }
    return members;
  }

  #key(cursor: JsonCursor, at: number): void {
    const start = cursor.position + 1;
    if (cursor.skipString()) return;
    this.#spans[at] = start;
    this.#spans[at + 1] = cursor.position - 1;
  }

  #view(start: number, end: number): Uint8Array {
    return new Uint8Array(this.body.buffer, this.body.byteOffset + start, end - start);
  }
}
