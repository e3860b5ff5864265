/** What the embedded DynamoDB uses of dynalite 4, which ships no types. Items are as on the wire: binary is base64 text. */
declare module 'dynalite/db/index.js' {
  export interface AttributeValue {
    S?: string;
    N?: string;
    B?: string;
    BOOL?: boolean;
    NULL?: boolean;
    SS?: string[];
    NS?: string[];
    BS?: string[];
    L?: AttributeValue[];
    M?: Item;
  }
  export type Item = Record<string, AttributeValue>;

  export interface Table {
    TableName: string;
    TableArn: string;
    TableStatus: string;
    KeySchema: { AttributeName: string; KeyType: 'HASH' | 'RANGE' }[];
    AttributeDefinitions: { AttributeName: string; AttributeType: 'S' | 'N' | 'B' }[];
    StreamSpecification?: { StreamEnabled: boolean; StreamViewType?: string };
    LatestStreamArn?: string;
    LatestStreamLabel?: string;
    [more: string]: unknown;
  }

  /** Answers once; the error may carry `statusCode` and `body`, the answer that AWS gives. */
  export type Callback = (error: unknown, value?: unknown) => void;

  export type Operation = { type: 'put'; key: string; value: unknown } | { type: 'del'; key: string };

  /** Range of keys; `limit` −1: all of it. */
  export interface Range {
    gt?: string;
    gte?: string;
    lt?: string;
    lte?: string;
    reverse?: boolean;
    limit?: number;
  }

  /** One ordered set of keys and values. */
  export interface Collection {
    get(key: string, answer: Callback): void;
    put(key: string, value: unknown, answer: Callback): void;
    del(key: string, answer: Callback): void;
    batch(operations: Operation[], answer: Callback): void;
    lock(key: string, take: (release: (answer: Callback) => Callback) => void): void;
    createKeyStream(range?: Range): NodeJS.ReadableStream;
    createValueStream(range?: Range): NodeJS.ReadableStream;
  }

  /** What dynalite's actions are given to read and write. */
  export interface Store {
    options: { maxItemSize: number; createTableMs: number; deleteTableMs: number; updateTableMs: number };
    tableDb: Collection & { awsAccountId: string; awsRegion: string };
    getTable(name: string, checkStatus: boolean | Callback, answer?: Callback): void;
    getItemDb(table: string): Collection;
    getIndexDb(type: string, table: string, index: string): Collection;
    getTagDb(table: string): Collection;
    deleteItemDb(table: string, answer: Callback): void;
    deleteIndexDb(type: string, table: string, index: string, answer: Callback): void;
    deleteTagDb(table: string, answer: Callback): void;
  }

  /** A path into an item (names and list indexes), a literal, or an operation on others. */
  export type Operand = (string | number)[] | AttributeValue | Expression;
  export interface Expression {
    /** `and`, `or`, `not`, `=`, `<>`, `<`, …, `between`, `in`, `function`; in updates also `add` and `subtract`. */
    type: string;
    name?: string;
    args: Operand[];
  }
  export interface UpdateSection {
    type: 'set' | 'add' | 'remove' | 'delete';
    path: (string | number)[];
    val: Operand;
    attrType?: string;
  }

  /** A request body, checked; expressions are parsed into the fields with an underscore. */
  export interface Checked {
    TableName: string;
    Key?: Item;
    Item?: Item;
    ReturnConsumedCapacity?: string;
    ReturnValuesOnConditionCheckFailure?: string;
    _condition?: { expression: Expression };
    _filter?: { expression: Expression };
    _updates?: { sections: UpdateSection[] };
    [more: string]: unknown;
  }

  const db: {
    createKey(item: Item, table: Table): string;
    validateKey(key: Item, table: Table): Error | undefined;
    validateItem(item: Item, table: Table): Error | undefined;
    checkConditional(data: Checked, item: Item | undefined): Error | null | undefined;
    addConsumedCapacity(
      data: Checked,
      isRead: boolean,
      item?: Item,
      other?: Item,
    ): { CapacityUnits: number } | undefined;
    itemSize(item: Item): number;
    mapPath(path: (string | number)[], item: Item): AttributeValue | undefined;
    validationError(message: string): Error & { statusCode: number; body: { __type: string; message: string } };
  };
  export default db;
}

declare module 'dynalite/validations/index.js' {
  import type { Checked, Store } from 'dynalite/db/index.js';

  type Types = Record<string, unknown>;
  const validations: {
    checkTypes(data: unknown, types: Types): Checked;
    checkValidations(
      data: Checked,
      types: Types,
      custom: ((data: Checked, store: Store) => string | undefined) | undefined,
      store: Store,
    ): void;
  };
  export default validations;
}

declare module 'dynalite/validations/*.js' {
  import type { Checked, Store } from 'dynalite/db/index.js';

  const validation: {
    types: Record<string, unknown>;
    custom?: (data: Checked, store: Store) => string | undefined;
  };
  export default validation;
}

declare module 'dynalite/actions/*.js' {
  import type { Callback, Checked, Store } from 'dynalite/db/index.js';

  const action: (store: Store, data: Checked, answer: Callback) => void;
  export default action;
}
