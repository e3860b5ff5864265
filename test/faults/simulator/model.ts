import { type AttributeValue, TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { type Bindings, changesOf, compare, holds, type Item, nameIn } from './expressions.ts';
import { type Change, type DynamoModel, KEYS, keyOf, type Outcome } from './tables.ts';

interface Request extends Bindings {
  readonly TableName: string;
  readonly Item?: Item;
  readonly Key?: Item;
  readonly ConditionExpression?: string;
  readonly UpdateExpression?: string;
  readonly KeyConditionExpression?: string;
  readonly FilterExpression?: string;
  readonly ProjectionExpression?: string;
  readonly ExclusiveStartKey?: Item;
  readonly ScanIndexForward?: boolean;
  readonly Limit?: number;
  readonly ReturnValues?: string;
  readonly ReturnValuesOnConditionCheckFailure?: string;
  readonly RequestItems?: Readonly<Record<string, readonly { readonly DeleteRequest: { readonly Key: Item } }[]>>;
  readonly TransactItems?: readonly Readonly<Record<string, Request>>[];
}

/** A write that is ready to be made: its condition has held. */
interface Prepared {
  readonly table: string;
  readonly before: Item | undefined;
  readonly after: Item | undefined;
  readonly output: object;
}

class ConditionFailed extends Error {
  override readonly name = 'ConditionalCheckFailedException';
  readonly $metadata = { httpStatusCode: 400 };
  readonly Item?: Item;

  constructor(item: Item | undefined, { ReturnValuesOnConditionCheckFailure: asked }: Request) {
    super('The conditional request failed');
    if (asked === 'ALL_OLD' && item !== undefined) this.Item = item;
  }
}

/**
 * What the stores use of DynamoDB, and no more: what it does not know it refuses by throwing. It answers what the
 * embedded engine answers, to which whole runs are compared.
 */
export class Model implements DynamoModel {
  now = 0;
  onChange: (change: Change) => void = () => {};
  /** Items by partition key, each partition in the order of its sort keys. */
  readonly #tables = new Map<string, Map<string, Item[]>>();

  async empty(): Promise<void> {
    this.#tables.clear();
  }

  async items(): Promise<{ readonly table: string; readonly item: Item }[]> {
    const inOrder = <T>(entries: Iterable<[string, T]>) => [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
    return inOrder(this.#tables).flatMap(([table, partitions]) =>
      inOrder(partitions).flatMap(([, items]) => items.map((item) => ({ table, item }))),
    );
  }

  async run(operation: string, input: object): Promise<Outcome> {
    try {
      return { output: this.#answer(operation, input as Request) };
    } catch (error) {
      if (error instanceof Error && '$metadata' in error) return { error };
      throw error;
    }
  }

  #answer(operation: string, request: Request): object {
    switch (operation) {
      case 'GetItem': {
        const item = this.#find(request.TableName, request.Key!);
        return item === undefined ? {} : { Item: projected(item, request) };
      }
      case 'Query':
        return this.#query(request);
      case 'PutItem':
      case 'UpdateItem':
      case 'DeleteItem': {
        const prepared = this.#prepare(operation, request);
        this.#make(prepared);
        return prepared.output;
      }
      case 'BatchWriteItem':
        for (const [TableName, writes] of Object.entries(request.RequestItems!)) {
          for (const { DeleteRequest } of writes)
            this.#make(this.#prepare('DeleteItem', { TableName, ...DeleteRequest }));
        }
        return {};
      case 'TransactWriteItems':
        return this.#transact(request.TransactItems!);
      default:
        throw new Error(`the model has no ${operation}`);
    }
  }

  #prepare(operation: string, request: Request): Prepared {
    const { TableName: table, ConditionExpression, UpdateExpression } = request;
    const key = keyOf(table, request.Item ?? request.Key!);
    const before = this.#find(table, key);
    if (ConditionExpression !== undefined && !holds(ConditionExpression, before ?? {}, request)) {
      throw new ConditionFailed(before, request);
    }
    if (operation === 'PutItem') return { table, before, after: request.Item!, output: {} };
    if (operation === 'DeleteItem') return { table, before, after: undefined, output: goneOf(request, before) };
    if (operation === 'ConditionCheck') return { table, before, after: before, output: {} };
    const changes = changesOf(UpdateExpression!, before ?? {}, request);
    const after: Record<string, AttributeValue> = { ...(before ?? key) };
    for (const [name, value] of Object.entries(changes)) {
      if (value === undefined) delete after[name];
      else after[name] = value;
    }
    return { table, before, after, output: outputOf(request, Object.keys(changes), before, after) };
  }

  #transact(actions: readonly Readonly<Record<string, Request>>[]): object {
    const prepared: Prepared[] = [];
    const reasons = actions.map((action) => {
      const [[kind, request]] = Object.entries(action) as [[string, Request]];
      const operation = kind === 'ConditionCheck' ? kind : `${kind}Item`;
      try {
        prepared.push(this.#prepare(operation, request));
        return { Code: 'None' };
      } catch (error) {
        if (!(error instanceof ConditionFailed)) throw error;
        return { Code: 'ConditionalCheckFailed', ...(error.Item && { Item: error.Item }) };
      }
    });
    if (reasons.some(({ Code }) => Code !== 'None')) {
      const $metadata = { httpStatusCode: 400 };
      throw new TransactionCanceledException({ message: 'cancelled', $metadata, CancellationReasons: reasons });
    }
    for (const write of prepared) this.#make(write);
    return {};
  }

  #make({ table, before, after }: Prepared): void {
    if (before === after) return; // nothing was there, or only looked at
    const items = this.#partition(table, (after ?? before)!);
    const at = place(items, table, (after ?? before)!);
    if (after === undefined) items.splice(at, 1);
    else items.splice(at, before === undefined ? 0 : 1, after);
    this.onChange({ table, before, after });
  }

  #query(request: Request): object {
    const {
      TableName: table,
      KeyConditionExpression = '',
      Limit = Number.POSITIVE_INFINITY,
      ExclusiveStartKey,
    } = request;
    const [hash, range] = KEYS[table]!;
    const value = /(#?\w+) = (:\w+)/.exec(KeyConditionExpression)!;
    if (nameIn(value[1]!, request) !== hash) throw new Error(`the model cannot query by '${KeyConditionExpression}'`);
    const partition = this.#partition(table, { [hash]: request.ExpressionAttributeValues![value[2]!]! });
    const ordered = request.ScanIndexForward === false ? partition.toReversed() : partition;
    const start = ExclusiveStartKey?.[range];
    const sign = request.ScanIndexForward === false ? -1 : 1;
    const inRange = ordered.filter(
      (item) =>
        holds(KeyConditionExpression, item, request) &&
        (start === undefined || compare(item[range]!, start)! * sign > 0),
    );
    const page = inRange.slice(0, Limit);
    const found = page.filter(
      (item) => request.FilterExpression === undefined || holds(request.FilterExpression, item, request),
    );
    // A page that ends at its limit says "there may be more", even where there is none.
    const last = page.length === Limit ? page.at(-1) : undefined;
    return {
      Items: found.map((item) => projected(item, request)),
      ...(last === undefined ? {} : { LastEvaluatedKey: keyOf(table, last) }),
    };
  }

  #find(table: string, key: Item): Item | undefined {
    const items = this.#partition(table, key);
    const found = items[place(items, table, key)];
    return found !== undefined && compareRange(table, found, key) === 0 ? found : undefined;
  }

  #partition(table: string, key: Item): Item[] {
    const partitions = this.#tables.get(table) ?? new Map<string, Item[]>();
    this.#tables.set(table, partitions);
    const hash = key[KEYS[table]![0]]!.S!;
    const items = partitions.get(hash) ?? [];
    partitions.set(hash, items);
    return items;
  }
}

/** Where an item with this key is, or belongs. */
function place(items: readonly Item[], table: string, key: Item): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareRange(table, items[middle]!, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function compareRange(table: string, a: Item, b: Item): number {
  const [, range] = KEYS[table]!;
  return compare(a[range]!, b[range]!)!;
}

function projected(item: Item, request: Request): Item {
  if (request.ProjectionExpression === undefined) return item;
  const names = request.ProjectionExpression.split(',').map((word) => nameIn(word.trim(), request));
  return Object.fromEntries(names.filter((name) => item[name] !== undefined).map((name) => [name, item[name]!]));
}

/** What a removal tells of what it removed. */
function goneOf({ ReturnValues }: Request, before: Item | undefined): object {
  return ReturnValues === 'ALL_OLD' && before !== undefined ? { Attributes: before } : {};
}

function outputOf(
  { ReturnValues = 'NONE' }: Request,
  changed: string[],
  before: Item | undefined,
  after: Item,
): object {
  if (ReturnValues === 'NONE') return {};
  const source = ReturnValues.endsWith('OLD') ? (before ?? {}) : after;
  if (ReturnValues.startsWith('ALL')) return { Attributes: source };
  return {
    Attributes: Object.fromEntries(
      changed.flatMap((name) => (source[name] === undefined ? [] : [[name, source[name]]])),
    ),
  };
}
