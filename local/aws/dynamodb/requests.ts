import { createRequire } from 'node:module';
import type { Checked, Store } from 'dynalite/db/index.js';
import validations from 'dynalite/validations/index.js';
import { exactComparisons } from './expressions.ts';
import { type Parser, rememberParsed } from './parsed-expressions.ts';
import type { Action } from './store-view.ts';

interface Validation {
  readonly types: Record<string, unknown>;
  readonly custom?: (data: Checked, store: Store) => string | undefined;
}

/** Operations that dynalite carries out. */
export type DynaliteOperation =
  | 'BatchGetItem'
  | 'BatchWriteItem'
  | 'CreateTable'
  | 'DeleteItem'
  | 'DeleteTable'
  | 'DescribeTable'
  | 'GetItem'
  | 'ListTables'
  | 'ListTagsOfResource'
  | 'PutItem'
  | 'Query'
  | 'Scan'
  | 'TagResource'
  | 'UntagResource'
  | 'UpdateItem'
  | 'UpdateTable';

/** Its modules are CommonJS, one per operation; they are loaded when they are first needed. */
const load = createRequire(import.meta.url);
const fileOf = (operation: DynaliteOperation) => `${operation[0]!.toLowerCase()}${operation.slice(1)}.js`;

export function actionOf(operation: DynaliteOperation): Action {
  return load(`dynalite/actions/${fileOf(operation)}`);
}

for (const kind of ['condition', 'update', 'projection'])
  rememberParsed(load(`dynalite/db/${kind}Parser.js`) as Parser);

/** Parameters that dynalite does not know and the front supplies. */
const ON_CONDITION_FAILURE = { ReturnValuesOnConditionCheckFailure: { type: 'String', enum: ['ALL_OLD', 'NONE'] } };
export const STREAM_SPECIFICATION = {
  StreamSpecification: {
    type: 'FieldStruct<StreamSpecification>',
    children: {
      StreamEnabled: { type: 'Boolean', notNull: true },
      StreamViewType: { type: 'String', enum: ['NEW_IMAGE', 'OLD_IMAGE', 'NEW_AND_OLD_IMAGES', 'KEYS_ONLY'] },
    },
  },
};
const ADDED: Partial<Record<DynaliteOperation, Record<string, unknown>>> = {
  PutItem: ON_CONDITION_FAILURE,
  UpdateItem: ON_CONDITION_FAILURE,
  DeleteItem: ON_CONDITION_FAILURE,
  CreateTable: STREAM_SPECIFICATION,
};

const known = new Map<DynaliteOperation, Validation>();

function validationOf(operation: DynaliteOperation): Validation {
  let validation = known.get(operation);
  if (!validation) {
    const own: Validation = load(`dynalite/validations/${fileOf(operation)}`);
    validation = { ...own, types: { ...own.types, ...ADDED[operation] } };
    known.set(operation, validation);
  }
  return validation;
}

/** Checks a request body as dynalite does, types first, and makes its comparisons exact. @throws the answer AWS gives */
export function checked(operation: DynaliteOperation, body: unknown, store: Store): Checked {
  const { types, custom } = validationOf(operation);
  return check(body, types, custom, store);
}

/** Checks a request body against types written in dynalite's way. @throws the answer AWS gives */
export function check(body: unknown, types: Validation['types'], custom: Validation['custom'], store: Store): Checked {
  const data = validations.checkTypes(body, types);
  validations.checkValidations(data, types, custom, store);
  if (data._condition) exactComparisons(data._condition.expression);
  if (data._filter) exactComparisons(data._filter.expression);
  return data;
}
