import { createHash } from 'node:crypto';
import type { Bucket } from '../domain/quota.ts';
import type { StateKey } from './keys.ts';

/*
 * Keys of what holds appends back, in the State table.
 *
 * item    key                                               one per                   mutable  attributes
 * ------  ------------------------------------------------  ------------------------  -------  -------------------------
 * bucket  pk=append-quota#<topicId>, of a caller also       topic, or caller of it,   yes      v until expiresAt
 *         #<SHA-256 of the principal, base64url>,           and rates: new rates
 *         sk=<bytes a second>.<records a second>, 0: any    begin with a new bucket
 * lag     pk=append-lag#<topicId>, sk=lag                   topic with `maxLag`       yes      v measuringAt at? groups?
 *                                                                                              expiresAt
 */

export function bucketKey({ topicId, caller, rates }: Bucket): StateKey {
  // No user text enters a key.
  const whose = caller === undefined ? '' : `#${createHash('sha256').update(caller).digest('base64url')}`;
  return { pk: `append-quota#${topicId}${whose}`, sk: `${rates.bytesPerSecond ?? 0}.${rates.recordsPerSecond ?? 0}` };
}

export function lagKey(topicId: string): StateKey {
  return { pk: `append-lag#${topicId}`, sk: 'lag' };
}
