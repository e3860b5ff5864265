import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { StateKey } from './keys.ts';

export type Item = Record<string, AttributeValue>;

/** The key of an item in the State table, as calls name it. */
export function itemKey({ pk, sk }: StateKey): Item {
  return { pk: { S: pk }, sk: { S: sk } };
}
