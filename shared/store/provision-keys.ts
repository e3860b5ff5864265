import type { ProvisionedThing } from '../domain/provision.ts';
import type { StateKey } from './keys.ts';

/*
 * Key of what deployments look after, in the State table.
 *
 * item       key                                one per                              mutable  attributes
 * ---------  ---------------------------------  -----------------------------------  -------  ---------------
 * provision  pk=provisions, sk=<kind>#<name>    topic or subscription that an app    yes      v owner adopted?
 *                                               names
 */

/** Topics and subscriptions have names without `#`. */
export function provisionKey({ kind, name }: ProvisionedThing): StateKey {
  return { pk: 'provisions', sk: `${kind}#${name}` };
}
