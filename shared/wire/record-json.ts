import { isUtf8 } from 'node:buffer';
import { jsonKindOf } from './json-kind.ts';
import { hasLoneSurrogateEscape } from './json-text.ts';
import { base64Bytes, type JsonWriter, measureString } from './json-writer.ts';
import type { RecordSpans } from './record-spans.ts';

/** How values come: as JSON where they are JSON, or all in one encoding. */
export type ValueForm = 'json' | 'utf8' | 'base64';

const [OFFSET, TIMESTAMP, KEY, VALUE, HEADERS, END, NO_HEADERS] = pieces(
  '{"offset":',
  ',"timestamp":',
  ',"key":',
  ',"value":',
  ',"headers":[',
  ']}',
  ',"headers":[]}',
);
const [KEY_BASE64, VALUE_UTF8, VALUE_BASE64, VALUE_URL] = pieces(
  ',"keyEncoding":"base64"',
  ',"valueEncoding":"utf8"',
  ',"valueEncoding":"base64"',
  ',"valueEncoding":"url"',
);
const [NULL, OPEN, COMMA, CLOSE, OPEN_BASE64, CLOSE_OBJECT] = pieces('null', '[', ',', ']', '{"base64":', '}');
const [ERROR, CLOSE_ERROR] = pieces(',"error":{"code":', '}}');

/** Writes records as the API shows them. */
export class RecordJson {
  readonly #writer: JsonWriter;
  readonly #values: ValueForm;
  #lastTimestamp: number | undefined;
  #lastPiece: Uint8Array | undefined;

  constructor(writer: JsonWriter, values: ValueForm) {
    this.#writer = writer;
    this.#values = values;
  }

  /**
   * @param value what is known of the value: that it is a JSON text or null; or, of an upload, what to show in its place
   * @param force everything that may be base64 is
   */
  record(batch: RecordSpans, i: number, offset: number, value: boolean | Uint8Array, force?: 'base64'): void {
    const writer = this.#writer;
    writer.piece(OFFSET);
    writer.integer(offset);
    this.#timestamp(batch.timestamps[i]!);
    if (batch.keyStart(i) < 0) writer.piece(NULL);
    else if (!this.#text(batch.data, batch.keyStart(i), batch.keyEnd(i), force)) writer.piece(KEY_BASE64);
    writer.piece(VALUE);
    if (typeof value === 'boolean') {
      this.#value(batch.data, batch.valueStart(i), batch.valueEnd(i), value && !force, force ?? this.#values);
    } else {
      writer.copy(value, 0, value.length);
      writer.piece(VALUE_URL);
    }
    if (batch.headerCount(i) === 0) writer.piece(NO_HEADERS);
    else this.#headers(batch.data, batch.headers(i), force);
  }

  /** A record that cannot be shown. It has no value, so that nobody takes it for a tombstone. */
  error(offset: number, code: 'payload_missing' | 'payload_corrupt' | 'record_too_large'): void {
    this.#writer.piece(OFFSET);
    this.#writer.integer(offset);
    this.#writer.piece(ERROR);
    this.#writer.piece(Buffer.from(JSON.stringify(code)));
    this.#writer.piece(CLOSE_ERROR);
  }

  /** The timestamp and what follows up to the key: in one piece where it is that of the record before, as it often is. */
  #timestamp(timestamp: number): void {
    if (timestamp === this.#lastTimestamp) {
      this.#lastPiece ??= new Uint8Array(Buffer.from(`,"timestamp":${timestamp},"key":`));
      this.#writer.piece(this.#lastPiece);
      return;
    }
    this.#lastTimestamp = timestamp;
    this.#lastPiece = undefined;
    this.#writer.piece(TIMESTAMP);
    this.#writer.integer(timestamp);
    this.#writer.piece(KEY);
  }

  #value(data: Buffer, start: number, end: number, json: boolean, form: ValueForm): void {
    if (start < 0) this.#writer.piece(NULL);
    else if (form === 'json' && (json || isJsonText(data.subarray(start, end)))) this.#writer.copy(data, start, end);
    else this.#writer.piece(this.#text(data, start, end, form) ? VALUE_UTF8 : VALUE_BASE64);
  }

  /** A string when the bytes are UTF-8 and that is not longer than base64, unless base64 is asked for. @returns whether */
  #text(data: Buffer, start: number, end: number, form: ValueForm | undefined): boolean {
    const measured = measureString(data, start, end);
    const text = form !== 'base64' && measured.bytes <= base64Bytes(end - start);
    if (text && (measured.ascii || isUtf8(data.subarray(start, end)))) {
      this.#writer.string(data, start, end, measured.bytes);
      return true;
    }
    this.#writer.base64(data, start, end);
    return false;
  }

  #headers(data: Buffer, spans: readonly number[], force: 'base64' | undefined): void {
    const writer = this.#writer;
    writer.piece(HEADERS);
    for (let k = 0; k < spans.length; k += 4) {
      if (k > 0) writer.piece(COMMA);
      writer.piece(OPEN);
      this.#headerPart(data, spans[k]!, spans[k + 1]!, undefined);
      writer.piece(COMMA);
      if (spans[k + 2]! < 0) writer.piece(NULL);
      else this.#headerPart(data, spans[k + 2]!, spans[k + 3]!, force);
      writer.piece(CLOSE);
    }
    writer.piece(END);
  }

  /** A string when the bytes are UTF-8, else `{"base64"}`: of names too, which only a raw batch can make so. */
  #headerPart(data: Buffer, start: number, end: number, force: 'base64' | undefined): void {
    const measured = measureString(data, start, end);
    if (force === undefined && (measured.ascii || isUtf8(data.subarray(start, end)))) {
      this.#writer.string(data, start, end, measured.bytes);
      return;
    }
    this.#writer.piece(OPEN_BASE64);
    this.#writer.base64(data, start, end);
    this.#writer.piece(CLOSE_OBJECT);
  }
}

/**
 * Whether a value whose origin is unknown may stand in an answer as it is. `null` may not: it would look like a
 * tombstone; nor may half of a surrogate pair: JSON readers disagree about it.
 */
function isJsonText(value: Buffer): boolean {
  return isUtf8(value) && jsonKindOf(value) === 'value' && !hasLoneSurrogateEscape(value);
}

function pieces<Texts extends readonly string[]>(...texts: Texts): { [K in keyof Texts]: Uint8Array } {
  return texts.map((text) => new Uint8Array(Buffer.from(text))) as { [K in keyof Texts]: Uint8Array };
}
