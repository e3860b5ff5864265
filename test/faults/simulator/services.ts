import { Bucket } from './bucket.ts';
import type { Item } from './expressions.ts';
import type { Random } from './random.ts';
import { type Change, type DynamoModel, keyOf, type Outcome } from './tables.ts';

/** How old an eventually consistent read may be at most, ms. */
const STALE_MS = 1_000;

interface Before {
  readonly at: number;
  readonly item: Item | undefined;
}

/** The services that a backbone calls, whole and without a network. One request is one step: nothing is in between. */
export class Services {
  readonly #dynamodb: DynamoModel;
  readonly #random: Random;
  readonly bucket = new Bucket();
  /** Images from before the last change, by table and key: what a stale read may still see. */
  readonly #before = new Map<string, Before>();

  constructor(dynamodb: DynamoModel, random: Random) {
    this.#dynamodb = dynamodb;
    this.#random = random;
  }

  remember({ table, before, after }: Change): void {
    const item = (after ?? before)!;
    this.#before.set(this.#nameOf(table, item), { at: this.#dynamodb.now, item: before });
  }

  async run(operation: string, input: object): Promise<Outcome> {
    if (operation.includes('Object')) return this.bucket.run(operation, input as { Bucket: string; Key: string });
    if (operation === 'BatchWriteItem') return this.#writeSome(input as { RequestItems: Record<string, object[]> });
    const outcome = await this.#dynamodb.run(operation, input);
    const weak =
      (operation === 'Query' || operation === 'GetItem') &&
      (input as { ConsistentRead?: boolean }).ConsistentRead !== true;
    if (!weak || 'error' in outcome) return outcome;
    return { output: this.#staleView((input as { TableName: string }).TableName, outcome.output) };
  }

  /** A batch of writes may be done in part, and says so: for lack of throughput, as it is meant. */
  async #writeSome({ RequestItems }: { readonly RequestItems: Record<string, object[]> }): Promise<Outcome> {
    const [[table, writes]] = Object.entries(RequestItems) as [[string, object[]]];
    const done = this.#random.chance(0.2) ? this.#random.between(0, writes.length - 1) : writes.length;
    if (done > 0) await this.#dynamodb.run('BatchWriteItem', { RequestItems: { [table]: writes.slice(0, done) } });
    return { output: { UnprocessedItems: done < writes.length ? { [table]: writes.slice(done) } : {} } };
  }

  /** Every item that was read may be shown as it was before its last change, if that is not long ago. */
  #staleView(table: string, body: { Item?: Item; Items?: Item[] }): object {
    const seen = (item: Item): Item | undefined => {
      const before = this.#before.get(this.#nameOf(table, item));
      const old = before !== undefined && this.#dynamodb.now - before.at < STALE_MS && this.#random.chance(0.3);
      return old ? before.item : item;
    };
    if (body.Item !== undefined) return { ...body, Item: seen(body.Item) };
    if (body.Items === undefined) return body;
    return { ...body, Items: body.Items.map(seen).filter((item) => item !== undefined) };
  }

  #nameOf(table: string, item: Item): string {
    return `${table} ${JSON.stringify(keyOf(table, item))}`;
  }
}
