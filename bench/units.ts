import type { AttributeValue } from '@aws-sdk/client-dynamodb';

/** Source: AWS, "Read and write operations": a write unit takes 1 KB, a strongly consistent read unit 4 KB. */
const WRITE_UNIT_BYTES = 1024;
const READ_UNIT_BYTES = 4096;

/** Write units of one item of so many bytes. */
export function writeUnits(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / WRITE_UNIT_BYTES));
}

/** Units of one strongly consistent read of so many bytes in all. */
export function readUnits(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / READ_UNIT_BYTES));
}

/**
 * Size of an item as DynamoDB bills it, names included. Source: AWS, "DynamoDB item sizes and formats". Only of the
 * types that stored items have. @throws {Error} for others
 */
export function itemBytes(item: Readonly<Record<string, AttributeValue>>): number {
  return Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueBytes(value), 0);
}

function valueBytes(value: AttributeValue): number {
  if (value.S !== undefined) return Buffer.byteLength(value.S);
  if (value.B !== undefined) return value.B.length;
  if (value.N !== undefined) return numberBytes(value.N);
  if (value.L !== undefined) return value.L.reduce((sum, element) => sum + 1 + valueBytes(element), 3);
  if (value.M !== undefined) return 3 + Object.keys(value.M).length + itemBytes(value.M);
  if (value.BOOL !== undefined || value.NULL !== undefined) return 1;
  throw new Error(`no size is known for ${JSON.stringify(value)}`);
}

/** One byte, and one for every two significant digits, in pairs that begin at the decimal point; a sign takes another. */
function numberBytes(text: string): number {
  if (!/^-?\d+$/.test(text)) throw new Error(`no size is known for the number ${text}`);
  const digits = text.replace('-', '');
  const pairs = digits.padStart(digits.length + (digits.length % 2), '0').match(/../g)!;
  const first = pairs.findIndex((pair) => pair !== '00');
  if (first < 0) return 1;
  const last = pairs.findLastIndex((pair) => pair !== '00');
  return 1 + (last - first + 1) + (text.startsWith('-') ? 1 : 0);
}
