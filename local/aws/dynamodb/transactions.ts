import { createHash } from 'node:crypto';
import type { Item, Operation } from 'dynalite/db/index.js';
import { itemBytes, readUnits, withUnits, writeUnits } from './capacity.ts';
import type { Change, Database } from './database.ts';
import {
  type CancellationReason,
  idempotentParameterMismatch,
  isServiceError,
  nameOf,
  transactionCanceled,
  validationError,
} from './errors.ts';
import { bindOldValues } from './expressions.ts';
import { StoreView } from './store-view.ts';
import { readRequest, type Step, type TransactRequest, writeRequest } from './transact-request.ts';

/** Source: AWS, DynamoDB quotas, "Transactions": "the aggregate size of the items in the transaction". */
const BYTES_MAX = 4 * 1024 * 1024;
/** How long a client request token is remembered. Source: AWS, TransactWriteItems, `ClientRequestToken`. */
const TOKEN_LIFE_MS = 10 * 60_000;
/** Every item is read or written twice, to prepare and to commit. Source: AWS, "Transactions", capacity management. */
const CAPACITY_FACTOR = 2;

/** What a transaction did, by its token. */
interface Remembered {
  readonly hash: string;
  /** Epoch ms. */
  readonly at: number;
}

interface Outcome {
  readonly answer?: { readonly Item?: Item; readonly ConsumedCapacity?: { readonly CapacityUnits: number } };
  readonly reason: CancellationReason;
}

/**
 * Transactions over dynalite's actions: all items are locked, in sorted order, before the first is looked at, and all
 * changes are stored at one stroke. Plain requests take the same locks, so that they come before or after a
 * transaction, never between; where AWS would refuse one of the two with a conflict, here one waits.
 */
export class Transactions {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /** TransactWriteItems. */
  async write(body: unknown): Promise<unknown> {
    const request = await writeRequest(body, new StoreView(this.#database));
    const tokenKey = request.token && `token~${request.token}`;
    return this.#holding(request, tokenKey, async () => {
      const hash = createHash('sha256').update(request.text).digest('base64');
      const earlier = tokenKey ? await this.#database.get<Remembered>(tokenKey) : undefined;
      if (earlier && earlier.at + TOKEN_LIFE_MS > this.#now()) {
        if (earlier.hash !== hash) throw idempotentParameterMismatch();
        return this.#repeated(request);
      }
      const changes: Change[] = [];
      const operations: Operation[] = [];
      const outcomes = await this.#outcomes(request, { changes, operations });
      if (tokenKey)
        operations.push({ type: 'put', key: tokenKey, value: { hash, at: this.#now() } satisfies Remembered });
      limitBytes(changes.map((change) => change.after ?? change.before));
      await this.#database.store(changes, operations);
      return { ConsumedCapacity: capacity(request, outcomes, 'WriteCapacityUnits') };
    });
  }

  /** TransactGetItems. */
  async get(body: unknown): Promise<unknown> {
    const request = await readRequest(body, new StoreView(this.#database));
    for (const step of request.steps) step.data.ConsistentRead = true;
    return this.#holding(request, undefined, async () => {
      const outcomes = await this.#outcomes(request);
      limitBytes(outcomes.map(({ answer }) => answer?.Item));
      return {
        Responses: outcomes.map(({ answer }) => (answer?.Item ? { Item: answer.Item } : {})),
        ConsumedCapacity: capacity(request, outcomes, 'ReadCapacityUnits'),
      };
    });
  }

  /** Forgets tokens that nobody can use any more. */
  async forgetTokens(): Promise<void> {
    for await (const [token, { at }] of this.#database.entries<Remembered>('token~')) {
      if (at + TOKEN_LIFE_MS <= this.#now()) await this.#database.del(`token~${token}`);
    }
  }

  #holding<T>(request: TransactRequest, token: string | undefined, work: () => Promise<T>): Promise<T> {
    const keys = request.steps.flatMap((step) => step.item ?? []);
    return this.#database.locks.holding(token ? [...keys, token] : keys, work);
  }

  /** What each step answers; nothing is stored yet. @throws TransactionCanceledException when one of them fails */
  async #outcomes(
    request: TransactRequest,
    collected: { changes: Change[]; operations: Operation[] } = { changes: [], operations: [] },
  ): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    for (const step of request.steps) outcomes.push(await this.#outcome(step, collected));
    const reasons = outcomes.map(({ reason }) => reason);
    if (reasons.some(({ Code }) => Code !== 'None')) throw transactionCanceled(reasons);
    return outcomes;
  }

  async #outcome(step: Step, collect: { changes: Change[]; operations: Operation[] }): Promise<Outcome> {
    const view = new StoreView(this.#database, {
      collect,
      onRead: (item) => bindOldValues(step.data._updates?.sections ?? [], item),
    });
    try {
      const told = await view.run<NonNullable<Outcome['answer']>>(step.action, step.data);
      const { found, written } = view;
      const answer = withUnits(told, () =>
        step.data.ConsistentRead ? readUnits([found ?? {}], true) : writeUnits(found, written),
      );
      return { answer, reason: { Code: 'None' } };
    } catch (error) {
      return { reason: reasonOf(error, step, view.found) };
    }
  }

  /** The answer to a transaction that was done before: what reading its items costs. */
  async #repeated(request: TransactRequest): Promise<unknown> {
    const outcomes: Outcome[] = [];
    for (const { item } of request.steps) {
      const found = item ? await this.#database.get<Item>(item) : undefined;
      const ConsumedCapacity = { CapacityUnits: readUnits([found ?? {}], true) };
      outcomes.push({ answer: { ConsumedCapacity }, reason: { Code: 'None' } });
    }
    return { ConsumedCapacity: capacity(request, outcomes, 'ReadCapacityUnits') };
  }
}

function reasonOf(error: unknown, step: Step, found: Item | undefined): CancellationReason {
  if (!isServiceError(error)) throw error;
  switch (nameOf(error)) {
    case 'ConditionalCheckFailedException': {
      const shown = step.data.ReturnValuesOnConditionCheckFailure === 'ALL_OLD' && found;
      return { Code: 'ConditionalCheckFailed', Message: error.message, ...(shown && { Item: shown }) };
    }
    case 'ValidationException':
      return { Code: 'ValidationError', Message: error.message };
    default:
      throw error;
  }
}

function limitBytes(items: readonly (Item | undefined)[]): void {
  const bytes = items.reduce((sum, item) => sum + (item ? itemBytes(item) : 0), 0);
  if (bytes > BYTES_MAX) throw validationError('The aggregate size of the items in the transaction exceeds 4 MB');
}

/** Units by table, in the order in which the tables were named. Undefined when nobody asked. */
function capacity(
  { steps, wantsCapacity }: TransactRequest,
  outcomes: readonly Outcome[],
  kind: 'ReadCapacityUnits' | 'WriteCapacityUnits',
): unknown {
  if (wantsCapacity !== 'TOTAL' && wantsCapacity !== 'INDEXES') return undefined;
  const units = new Map<string, number>();
  steps.forEach(({ data }, index) => {
    const own = CAPACITY_FACTOR * (outcomes[index]!.answer?.ConsumedCapacity?.CapacityUnits ?? 0);
    units.set(data.TableName, (units.get(data.TableName) ?? 0) + own);
  });
  return [...units].map(([TableName, CapacityUnits]) => ({
    TableName,
    CapacityUnits,
    [kind]: CapacityUnits,
    ...(wantsCapacity === 'INDEXES' && { Table: { CapacityUnits, [kind]: CapacityUnits } }),
  }));
}
