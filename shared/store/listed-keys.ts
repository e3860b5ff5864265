import type { DeadLetterId } from '../domain/dead-letter.ts';
import type { PartitionId } from '../domain/topic.ts';
import type { UploadId } from '../domain/upload.ts';
import { parseDeadLetterSort } from './dead-letter-keys.ts';

/*
 * Keys that are met by listing or scanning, taken apart: the reverse of what `keys.ts` builds. Nobody does that but the doctor:
 * everybody else goes from what is known to its key.
 */

/** How the partition keys of all claims begin. */
export const CLAIMS = 'claim#';

/** @throws {Error} when it is not the partition key of a claim */
export function parseClaimKey(pk: string): { readonly topicId: string; readonly keyDigest: string } {
  const match = /^claim#([0-9A-HJKMNP-TV-Z]{26})#([A-Za-z0-9_-]{43})$/.exec(pk);
  if (match === null) throw new Error(`'${pk}' is not the key of a claim`);
  return { topicId: match[1]!, keyDigest: match[2]! };
}

/** What an object of the bucket is, as its key tells. */
export type ObjectKey =
  | ({ readonly kind: 'batch'; readonly last: number } & PartitionId)
  | ({ readonly kind: 'upload' } & UploadId)
  | { readonly kind: 'dead letter'; readonly groupId: string; readonly letter: DeadLetterId };

/** @returns undefined when it is no key that the backbone makes */
export function parseObjectKey(key: string): ObjectKey | undefined {
  const batch = /^([0-9A-HJKMNP-TV-Z]{26})\/(0|[1-9][0-9]{0,3})\/(\d{16})$/.exec(key);
  if (batch !== null) {
    return { kind: 'batch', topicId: batch[1]!, partition: Number(batch[2]), last: Number(batch[3]) };
  }
  const upload = /^uploads\/([0-9A-HJKMNP-TV-Z]{26})\/([0-9A-HJKMNP-TV-Z]{26})$/.exec(key);
  if (upload !== null) return { kind: 'upload', topicId: upload[1]!, uploadId: upload[2]! };
  const letter = /^dead-letters\/([0-9A-HJKMNP-TV-Z]{26})\/([0-9A-HJKMNP-TV-Z]{26}\.\d{4}\.\d{16})$/.exec(key);
  if (letter === null) return undefined;
  return { kind: 'dead letter', groupId: letter[1]!, letter: parseDeadLetterSort(letter[2]!) };
}
