/** Content of an element: text, elements by name (an array repeats its name), or nothing. */
export type XmlContent =
  | string
  | number
  | boolean
  | undefined
  | { readonly [name: string]: XmlContent | readonly XmlContent[] };

const NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/';

/** A document with this root. */
export function document(name: string, content: XmlContent): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${name} xmlns="${NAMESPACE}">${inner(content)}</${name}>`;
}

/** An element by itself, as errors are answered. */
export function element(name: string, content: XmlContent): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${name}>${inner(content)}</${name}>`;
}

function inner(content: XmlContent): string {
  if (content === undefined) return '';
  if (typeof content !== 'object') return escaped(String(content));
  return Object.entries(content)
    .flatMap(([name, value]) => (Array.isArray(value) ? value : [value]).map((one: XmlContent) => [name, one] as const))
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `<${name}>${inner(value)}</${name}>`)
    .join('');
}

function escaped(text: string): string {
  // Control characters must be written as references, or a reader would normalise or refuse them.
  return text.replace(/[&<>"\r\n\t]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Texts of all elements of this name, in order; enough for the flat documents that S3 is sent. */
export function textsOf(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))].map((match) => unescaped(match[1]!));
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function unescaped(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([0-9a-fA-F]+)|(\w+));/g, (whole, decimal, hex, name) =>
    decimal
      ? String.fromCodePoint(Number(decimal))
      : hex
        ? String.fromCodePoint(Number.parseInt(hex, 16))
        : (ENTITIES[name] ?? whole),
  );
}
