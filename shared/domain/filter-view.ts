import type { FilterView } from './filter.ts';
import type { Header } from './record.ts';

/** What a filter is asked about, as it is stored. */
export interface FilteredRecord {
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly headers: readonly Header[];
  /** The value is an upload, which no filter reads. */
  readonly upload?: boolean;
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A record as filters see it. What a pattern does not ask for is not decoded. */
export function filterView(record: FilteredRecord): FilterView {
  const key = once(() => textOrNull(record.key));
  const headers = once(() => headersOf(record.headers));
  const value = once(() => (record.upload ? undefined : jsonOrText(record.value)));
  return {
    get key() {
      return key();
    },
    get headers() {
      return headers();
    },
    get value() {
      return value();
    },
  };
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function headersOf(headers: readonly Header[]): FilterView['headers'] {
  const byName: Record<string, (string | null)[]> = Object.create(null);
  for (const { name, value } of headers) {
    const text = textOrNull(value);
    if (text === undefined) continue;
    const known = byName[name];
    if (known === undefined) byName[name] = [text];
    else known.push(text);
  }
  return byName;
}

function jsonOrText(bytes: Uint8Array | null): unknown {
  const text = textOrNull(bytes);
  if (typeof text !== 'string') return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** @returns undefined when the bytes are no UTF-8 */
function textOrNull(bytes: Uint8Array | null): string | null | undefined {
  if (bytes === null) return null;
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}
