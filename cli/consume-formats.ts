import { spanAt } from '../shared/wire/json-text.ts';
import { type ConsumedRecord, isJson, jsonLine, onOneLine, textOf } from './record-text.ts';
import { type Fields, parseTemplate } from './template.ts';
import { type Output, plain } from './terminal.ts';

export const FORMATS = ['json', 'value', 'table', 'template'] as const;
export type Format = (typeof FORMATS)[number];

/** Writes records, one after the other. */
export interface RecordFormat {
  /** What comes before the first record. */
  readonly head: string;
  line(record: ConsumedRecord): string | Uint8Array;
}

/** Widths of the table's columns: what is longer moves the rest of its row. */
const PARTITION_CHARS = 24;
const OFFSET_CHARS = 10;
const TIME_CHARS = 24;
const KEY_CHARS = 16;
/** Width of a table that nobody's screen limits. */
const COLUMNS_DEFAULT = 160;
const NEWLINE = Buffer.from('\n');

/** @throws {CommandFailure} when the template is none */
export function formatOf(format: Format, template: string | undefined, output: Output): RecordFormat {
  switch (format) {
    case 'json':
      return { head: '', line: (record) => `${jsonLine(record)}\n` };
    case 'value':
      return { head: '', line: ({ value }) => Buffer.concat([value ?? Buffer.alloc(0), NEWLINE]) };
    case 'table':
      return tableFormat(output.columns ?? COLUMNS_DEFAULT);
    case 'template': {
      const write = parseTemplate(template ?? '{value}\\n');
      return { head: '', line: (record) => write(fieldsOf(record)) };
    }
  }
}

function tableFormat(columns: number): RecordFormat {
  const row = (place: string, offset: string, time: string, key: string, value: string) =>
    `${[
      place.padEnd(PARTITION_CHARS),
      offset.padStart(OFFSET_CHARS),
      time.padEnd(TIME_CHARS),
      key.padEnd(KEY_CHARS),
      value,
    ]
      .join('  ')
      .slice(0, columns)
      .trimEnd()}\n`;
  return {
    head: row('PARTITION', 'OFFSET', 'TIME', 'KEY', 'VALUE'),
    line(record) {
      const { topic, partition, offset, key } = record;
      const keyText = key === null ? '-' : plain(textOf(key));
      return row(`${topic}-${partition}`, String(offset), timeOf(record), keyText, shownValue(record));
    },
  };
}

function shownValue({ value, upload, unreadable }: ConsumedRecord): string {
  if (unreadable !== undefined) return `(${unreadable})`;
  if (upload) return `(upload of ${upload.size} bytes)`;
  return value === null ? '(tombstone)' : plain(textOf(value));
}

function timeOf({ timestamp }: ConsumedRecord): string {
  return timestamp < 0 ? '-' : new Date(timestamp).toISOString();
}

function fieldsOf(record: ConsumedRecord): Fields {
  const fields: Readonly<Record<string, () => string>> = {
    topic: () => record.topic,
    partition: () => String(record.partition),
    offset: () => String(record.offset),
    timestamp: () => String(record.timestamp),
    time: () => timeOf(record),
    key: () => textOf(record.key),
    value: () => textOf(record.value),
    headers: () => record.headers.map(([name, value]) => `${name}=${headerText(value)}`).join(','),
  };
  return {
    field: (name) => fields[name]?.(),
    header: (name) => headerText(record.headers.find(([candidate]) => candidate === name)?.[1] ?? null),
    valueAt: (path) => valueAt(record.value, path),
  };
}

function headerText(value: string | Uint8Array | null): string {
  return value instanceof Uint8Array ? textOf(value) : (value ?? '');
}

/** In the text that it was sent in, so that no digit is lost; a string without its quotes and escapes. */
function valueAt(value: Uint8Array | null, path: readonly string[]): string {
  if (value === null || !isJson(value)) return '';
  const span = spanAt(value, path);
  if (span === undefined) return '';
  const found = textOf(value.subarray(span.start, span.end));
  return found.startsWith('"') ? (JSON.parse(found) as string) : onOneLine(found);
}
