import type { AttributeValue } from '@aws-sdk/client-dynamodb';

export type Item = Readonly<Record<string, AttributeValue>>;

/** Names and values that an expression's placeholders stand for. */
export interface Bindings {
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
  readonly ExpressionAttributeValues?: Item;
}

type Condition = (item: Item, bindings: Bindings) => boolean;
type Operand = (item: Item, bindings: Bindings) => AttributeValue | undefined;

const conditions = new Map<string, Condition>();
const updates = new Map<string, (item: Item, bindings: Bindings) => Record<string, AttributeValue | undefined>>();

/** Whether a condition, or a filter, holds for an item. Each text is read once. */
export function holds(text: string, item: Item, bindings: Bindings): boolean {
  let condition = conditions.get(text);
  if (condition === undefined) {
    const words = new Words(text);
    condition = readOr(words);
    words.end();
    conditions.set(text, condition);
  }
  return condition(item, bindings);
}

/** The attributes that an update sets, or, where undefined, removes; all are computed from the item as it was. */
export function changesOf(text: string, item: Item, bindings: Bindings): Record<string, AttributeValue | undefined> {
  let update = updates.get(text);
  if (update === undefined) {
    update = readUpdate(new Words(text));
    updates.set(text, update);
  }
  return update(item, bindings);
}

/** The attribute that a name or a placeholder stands for. */
export function nameIn(word: string, { ExpressionAttributeNames = {} }: Bindings): string {
  if (!word.startsWith('#')) return word;
  const name = ExpressionAttributeNames[word];
  if (name === undefined) throw new Error(`${word} stands for nothing`);
  return name;
}

/** Less than 0, 0, more than 0: as DynamoDB orders values of one type. Undefined: they are of different types. */
export function compare(a: AttributeValue, b: AttributeValue): number | undefined {
  if (a.N !== undefined && b.N !== undefined) return Number(a.N) - Number(b.N);
  if (a.S !== undefined && b.S !== undefined) return Buffer.compare(Buffer.from(a.S), Buffer.from(b.S));
  if (a.B !== undefined && b.B !== undefined) return Buffer.compare(a.B, b.B);
  if (a.BOOL !== undefined && b.BOOL !== undefined) return a.BOOL === b.BOOL ? 0 : 1;
  return undefined;
}

class Words {
  readonly #words: string[];
  #next = 0;

  constructor(text: string) {
    this.#words = text.match(/<>|<=|>=|[=<>(),+-]|[#:]?[A-Za-z0-9_]+/g) ?? [];
    if (this.#words.join('') !== text.replace(/\s/g, '')) throw new Error(`the model cannot read '${text}'`);
  }

  take(...wanted: string[]): string {
    const word = this.#words[this.#next++] ?? '';
    if (wanted.length > 0 && !wanted.includes(word)) throw new Error(`'${word}' instead of '${wanted.join("' or '")}'`);
    return word;
  }

  skip(word: string): boolean {
    if (this.#words[this.#next] !== word) return false;
    this.#next += 1;
    return true;
  }

  get more(): boolean {
    return this.#next < this.#words.length;
  }

  end(): void {
    if (this.more) throw new Error(`the model does not expect '${this.take()}'`);
  }
}

function readOr(words: Words): Condition {
  const first = readAnd(words);
  if (!words.skip('OR')) return first;
  const rest = readOr(words);
  return (item, bindings) => first(item, bindings) || rest(item, bindings);
}

function readAnd(words: Words): Condition {
  const first = readNot(words);
  if (!words.skip('AND')) return first;
  const rest = readAnd(words);
  return (item, bindings) => first(item, bindings) && rest(item, bindings);
}

function readNot(words: Words): Condition {
  if (words.skip('NOT')) {
    const negated = readNot(words);
    return (item, bindings) => !negated(item, bindings);
  }
  if (words.skip('(')) {
    const inner = readOr(words);
    words.take(')');
    return inner;
  }
  return readTerm(words);
}

function readTerm(words: Words): Condition {
  const word = words.take();
  switch (word) {
    case 'attribute_exists':
    case 'attribute_not_exists': {
      words.take('(');
      const name = words.take();
      words.take(')');
      return (item, bindings) => (item[nameIn(name, bindings)] !== undefined) === (word === 'attribute_exists');
    }
    case 'begins_with': {
      words.take('(');
      const whole = operand(words.take());
      words.take(',');
      const part = operand(words.take());
      words.take(')');
      return (item, bindings) => begins(whole(item, bindings), part(item, bindings));
    }
    default:
      return readComparison(operand(word), words);
  }
}

function readComparison(left: Operand, words: Words): Condition {
  const comparator = words.take('=', '<>', '<', '<=', '>', '>=', 'BETWEEN', 'IN');
  if (comparator === 'IN') return readList(left, words);
  const right = operand(words.take());
  if (comparator === 'BETWEEN') {
    words.take('AND');
    const upper = operand(words.take());
    return (item, bindings) => {
      const value = left(item, bindings);
      return isOrdered(value, '>=', right(item, bindings)) && isOrdered(value, '<=', upper(item, bindings));
    };
  }
  return (item, bindings) => isOrdered(left(item, bindings), comparator, right(item, bindings));
}

function readList(left: Operand, words: Words): Condition {
  words.take('(');
  const members = [operand(words.take())];
  while (words.skip(',')) members.push(operand(words.take()));
  words.take(')');
  return (item, bindings) => {
    const value = left(item, bindings);
    return members.some((member) => isOrdered(value, '=', member(item, bindings)));
  };
}

function isOrdered(a: AttributeValue | undefined, comparator: string, b: AttributeValue | undefined): boolean {
  // What is not there compares with nothing: only "is not equal" holds.
  const order = a === undefined || b === undefined ? undefined : compare(a, b);
  if (order === undefined) return comparator === '<>';
  if (order === 0) return comparator === '=' || comparator === '<=' || comparator === '>=';
  return comparator === '<>' || comparator.startsWith(order < 0 ? '<' : '>');
}

function begins(whole: AttributeValue | undefined, part: AttributeValue | undefined): boolean {
  if (whole?.S !== undefined && part?.S !== undefined) return whole.S.startsWith(part.S);
  if (whole?.B === undefined || part?.B === undefined) return false;
  return Buffer.compare(whole.B.subarray(0, part.B.length), part.B) === 0;
}

function operand(word: string): Operand {
  if (word.startsWith(':')) {
    return (_, { ExpressionAttributeValues = {} }) => {
      const value = ExpressionAttributeValues[word];
      if (value === undefined) throw new Error(`${word} stands for nothing`);
      return value;
    };
  }
  return (item, bindings) => item[nameIn(word, bindings)];
}

function readUpdate(words: Words): (item: Item, bindings: Bindings) => Record<string, AttributeValue | undefined> {
  const steps: { readonly name: string; readonly value: Operand }[] = [];
  while (words.more) {
    const section = words.take('SET', 'REMOVE', 'ADD', 'DELETE');
    do {
      const name = words.take();
      if (section === 'REMOVE') steps.push({ name, value: () => undefined });
      else if (section === 'DELETE') steps.push({ name, value: readSubset(name, words) });
      else if (section === 'ADD') steps.push({ name, value: readAddition(name, words) });
      else {
        words.take('=');
        steps.push({ name, value: readSum(words) });
      }
    } while (words.skip(','));
  }
  return (item, bindings) => {
    const changes: Record<string, AttributeValue | undefined> = {};
    for (const { name, value } of steps) changes[nameIn(name, bindings)] = value(item, bindings);
    return changes;
  };
}

/** Of a number, or of a set of bytes, to one that may not be there yet. */
function readAddition(name: string, words: Words): Operand {
  const added = operand(words.take());
  return (item, bindings) => {
    const [there, more] = [item[nameIn(name, bindings)], added(item, bindings)!];
    if (more.BS !== undefined) return bytesSet([...(there?.BS ?? []), ...more.BS]);
    return { N: String(Number(there?.N ?? 0) + Number(more.N)) };
  };
}

/** What is left of a set of bytes: an empty one is none. */
function readSubset(name: string, words: Words): Operand {
  const taken = operand(words.take());
  return (item, bindings) => {
    const gone = new Set(taken(item, bindings)!.BS!.map(hexOf));
    return bytesSet((item[nameIn(name, bindings)]?.BS ?? []).filter((bytes) => !gone.has(hexOf(bytes))));
  };
}

function bytesSet(members: readonly Uint8Array[]): AttributeValue | undefined {
  const distinct = new Map(members.map((bytes) => [hexOf(bytes), bytes]));
  return distinct.size === 0 ? undefined : { BS: [...distinct.values()] };
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

function readSum(words: Words): Operand {
  const word = words.take();
  if (word === 'if_not_exists') {
    words.take('(');
    const there = operand(words.take());
    words.take(',');
    const otherwise = operand(words.take());
    words.take(')');
    return (item, bindings) => there(item, bindings) ?? otherwise(item, bindings);
  }
  const left = operand(word);
  const sign = words.skip('+') ? 1 : words.skip('-') ? -1 : 0;
  if (sign === 0) return left;
  const right = operand(words.take());
  return (item, bindings) => ({ N: String(Number(left(item, bindings)!.N) + sign * Number(right(item, bindings)!.N)) });
}
