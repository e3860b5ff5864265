import db, { type Checked, type Store, type Table } from 'dynalite/db/index.js';
import { Database } from './database.ts';
import { ServiceError, validationError } from './errors.ts';
import { actionOf, check, checked, type DynaliteOperation } from './requests.ts';
import type { Action, StoreView } from './store-view.ts';

/** Source: AWS, DynamoDB quotas, "Transactions". */
const ACTIONS_MAX = 100;

/** One action of a transaction, checked, with the item that it is about. */
export interface Step {
  readonly action: Action;
  readonly data: Checked;
  readonly table: Table;
  /** The item's key in the database and the name of its lock; undefined when the action names no valid key. */
  readonly item: string | undefined;
}

interface Kind {
  readonly checkedAs: DynaliteOperation;
  readonly action: Action;
  readonly required?: string;
}

const WRITES: Record<string, Kind> = {
  ConditionCheck: { checkedAs: 'DeleteItem', action: checkCondition, required: 'ConditionExpression' },
  Put: { checkedAs: 'PutItem', action: actionOf('PutItem') },
  Delete: { checkedAs: 'DeleteItem', action: actionOf('DeleteItem') },
  Update: { checkedAs: 'UpdateItem', action: actionOf('UpdateItem'), required: 'UpdateExpression' },
};
const READS: Record<string, Kind> = { Get: { checkedAs: 'GetItem', action: actionOf('GetItem') } };

const ENVELOPE = {
  ReturnConsumedCapacity: { type: 'String', enum: ['INDEXES', 'TOTAL', 'NONE'] },
  ClientRequestToken: { type: 'String', lengthGreaterThanOrEqual: 1, lengthLessThanOrEqual: 36 },
};

/** A transaction as it was asked for: checked as far as that needs no item. */
export interface TransactRequest {
  readonly steps: readonly Step[];
  readonly token: string | undefined;
  readonly wantsCapacity: string | undefined;
  /** The actions as they came, to compare a repeated request with. */
  readonly text: string;
}

export const writeRequest = (body: unknown, view: StoreView) => transactRequest(body, WRITES, view);
export const readRequest = (body: unknown, view: StoreView) => transactRequest(body, READS, view);

/** @throws the answer AWS gives to the request as a whole */
async function transactRequest(body: unknown, kinds: Record<string, Kind>, view: StoreView): Promise<TransactRequest> {
  const { TransactItems: members, ...rest } = body as Record<string, unknown>;
  const text = JSON.stringify(members);
  const envelope = check(rest, ENVELOPE, undefined, view);
  const steps: Step[] = [];
  for (const member of membersOf(members))
    steps.push(await stepOf(member, kinds, envelope.ReturnConsumedCapacity, view));
  const items = steps.flatMap((step) => step.item ?? []);
  if (new Set(items).size < items.length) {
    throw validationError('Transaction request cannot include multiple operations on one item');
  }
  return {
    steps,
    token: envelope.ClientRequestToken as string | undefined,
    wantsCapacity: envelope.ReturnConsumedCapacity,
    text,
  };
}

function membersOf(members: unknown): Record<string, unknown>[] {
  const refused = (value: string, constraint: string) =>
    validationError(
      `1 validation error detected: Value ${value} at 'transactItems' failed to satisfy constraint: Member must ${constraint}`,
    );
  if (members == null) throw refused('null', 'not be null');
  if (!Array.isArray(members)) {
    throw new ServiceError({
      __type: 'com.amazon.coral.service#SerializationException',
      message: 'Unexpected field type',
    });
  }
  if (members.length === 0) throw refused("'[]'", 'have length greater than or equal to 1');
  if (members.length > ACTIONS_MAX) {
    throw refused(`'[${members.length} actions]'`, `have length less than or equal to ${ACTIONS_MAX}`);
  }
  return members;
}

async function stepOf(
  member: Record<string, unknown>,
  kinds: Record<string, Kind>,
  wantsCapacity: string | undefined,
  view: StoreView,
): Promise<Step> {
  const named = Object.keys(kinds).filter((kind) => member?.[kind] != null);
  if (named.length !== 1) throw validationError('TransactItems can only contain one of Check, Put, Update or Delete');
  const { checkedAs, action, required } = kinds[named[0]!]!;
  const data = checked(checkedAs, member[named[0]!], view);
  if (required && data[required] == null) {
    throw validationError(
      `The parameter '${required}' of '${named[0]}' is required but was not present in the request`,
    );
  }
  if (wantsCapacity) data.ReturnConsumedCapacity = wantsCapacity;
  const table = await view.table(data.TableName);
  const invalid = data.Item ? db.validateItem(data.Item, table) : db.validateKey(data.Key!, table);
  const item = invalid ? undefined : Database.itemKey(data.TableName, db.createKey((data.Item ?? data.Key)!, table));
  return { action, data, table, item };
}

/** An action that only looks: it fails when the condition does, and costs what writing the item would. */
function checkCondition(store: Store, data: Checked, answer: (error: unknown, value?: unknown) => void): void {
  store.getTable(data.TableName, (error, found) => {
    if (error) return answer(error);
    const table = found as Table;
    const invalid = db.validateKey(data.Key!, table);
    if (invalid) return answer(invalid);
    store.getItemDb(data.TableName).get(db.createKey(data.Key!, table), (failed, item) => {
      const refused = failed ?? db.checkConditional(data, item as Step['data']['Item']);
      answer(refused, { ConsumedCapacity: db.addConsumedCapacity(data, false, item as Step['data']['Item']) });
    });
  });
}
