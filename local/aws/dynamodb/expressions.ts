import db, {
  type AttributeValue,
  type Expression,
  type Item,
  type Operand,
  type UpdateSection,
} from 'dynalite/db/index.js';

/**
 * Makes the comparisons of a parsed condition or filter exact. dynalite compares operands that it has looked up in the
 * item; here they are replaced, after the look-up, by operands that it compares right: bytes (it decodes them as UTF-8, so that different
 * ones look alike) and lists and maps (it compares them by identity).
 */
export function exactComparisons(expression: Expression): void {
  if (expression.type === 'and' || expression.type === 'or' || expression.type === 'not') {
    for (const part of expression.args) exactComparisons(part as Expression);
    return;
  }
  const operator = expression.type === 'function' ? expression.name! : expression.type;
  expression.args = new ExactOperands(operator, expression.args);
}

/** dynalite calls `map` with the function that looks an operand up in the item: that is where the answer is changed. */
class ExactOperands extends Array<Operand> {
  readonly #operator: string;

  constructor(operator: string, operands: readonly Operand[]) {
    super();
    this.#operator = operator;
    this.push(...operands);
  }

  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  override map<T>(lookUp: (operand: Operand, index: number, all: Operand[]) => T): T[] {
    return comparable(this.#operator, super.map(lookUp) as Found[]) as T[];
  }
}

type Found = AttributeValue | null | undefined;

function comparable(operator: string, found: Found[]): Found[] {
  if (operator === '=' || operator === '<>' || operator === 'in') return found.map(documentAsText);
  const [value, part] = found;
  if ((operator !== 'begins_with' && operator !== 'contains') || value == null || part?.B === undefined) return found;
  if (value.B !== undefined) return [byteText(value.B), byteText(part.B)];
  if (value.BS) return [{ SS: value.BS }, { S: part.B }];
  if (value.L) return [{ SS: value.L.flatMap((member) => member.B ?? []) }, { S: part.B }];
  return found;
}

/** One character per byte, so that text is compared as bytes are. */
function byteText(base64: string): AttributeValue {
  return { S: Buffer.from(base64, 'base64').toString('latin1') };
}

function documentAsText(value: Found): Found {
  if (value?.L) return { L: canonical(value) } as unknown as AttributeValue;
  if (value?.M) return { M: canonical(value) } as unknown as AttributeValue;
  return value;
}

/** Text that is the same for values that DynamoDB holds equal: maps and sets have no order, numbers are normalised already. */
export function canonical(value: AttributeValue): string {
  if (value.M)
    return `{${Object.keys(value.M)
      .sort()
      .map((name) => `${JSON.stringify(name)}:${canonical(value.M![name]!)}`)
      .join()}}`;
  if (value.L) return `[${value.L.map(canonical).join()}]`;
  const [type, content] = Object.entries(value)[0]!;
  return `${type}${JSON.stringify(Array.isArray(content) ? [...content].sort() : content)}`;
}

/** Whether two images of an item are equal; an update that leaves them so is none. */
export function sameItem(one: Item | undefined, other: Item | undefined): boolean {
  return (
    one === other || (one !== undefined && other !== undefined && canonical({ M: one }) === canonical({ M: other }))
  );
}

/**
 * Puts the old values of the item into a parsed update expression, as copies. DynamoDB evaluates all operands against
 * the item as it was; dynalite hands out references, so that `SET b = a ADD a :one` would change both.
 */
export function bindOldValues(sections: readonly UpdateSection[], item: Item | undefined): void {
  for (const section of sections) {
    if (section.type === 'set') section.val = bound(section.val, item ?? {});
  }
}

function bound(operand: Operand, item: Item): Operand {
  if (Array.isArray(operand)) {
    const value = db.mapPath(operand, item);
    return value ? structuredClone(value) : operand;
  }
  if (!isExpression(operand)) return operand;
  if (operand.name === 'if_not_exists') {
    const value = db.mapPath(operand.args[0] as (string | number)[], item);
    return value ? structuredClone(value) : bound(operand.args[1]!, item);
  }
  return { ...operand, args: operand.args.map((argument) => bound(argument, item)) };
}

function isExpression(operand: AttributeValue | Expression): operand is Expression {
  return 'type' in operand && 'args' in operand;
}
