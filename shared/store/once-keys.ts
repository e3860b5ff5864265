import type { PositionId } from '../domain/position.ts';
import { logKey, OFFSET_DIGITS, ownedBy, padded, type StateKey } from './keys.ts';

/*
 * State items by which things are done once: what a group's records have done, by the hands of whoever processes them (<group> as
 * in `keys.ts`), and the secret by which the backbone knows what it has handed out itself.
 *
 * item     key                                         one per            mutable  attributes
 * -------  ------------------------------------------  -----------------  -------  -----------------------------------
 * done     pk=<group>#done.<topicId>.<partition>,      record that was    never    v at expiresAt?
 *          sk=<offset, 16 digits>                      processed once
 * effect   pk=<group>#effects.<topicId>.<partition>,   effect of a        yes      v token at until result? expiresAt?
 *          sk=<offset, 16 digits>                      record outside
 * secret   pk=secrets, sk=settle                       backbone           never    v secret
 */

export function doneKey(position: PositionId, offset: number): StateKey {
  return { pk: `${ownedBy(position.group)}done.${logKey(position)}`, sk: padded(offset, OFFSET_DIGITS) };
}

export function effectKey(position: PositionId, offset: number): StateKey {
  return { pk: `${ownedBy(position.group)}effects.${logKey(position)}`, sk: padded(offset, OFFSET_DIGITS) };
}

export const SETTLE_SECRET: StateKey = { pk: 'secrets', sk: 'settle' };
