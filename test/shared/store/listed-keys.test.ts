import { describe, expect, it } from 'vitest';
import { deadLetterObjectKey } from '../../../shared/store/dead-letter-keys.ts';
import { batchObjectKey, claimKey, uploadObjectKey } from '../../../shared/store/keys.ts';
import { CLAIMS, parseClaimKey, parseObjectKey } from '../../../shared/store/listed-keys.ts';

const TOPIC = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
const OTHER = '01BX5ZZKBKACTAV9WEVGEMMVRZ';

describe('a key that was met by listing', () => {
  it('of a claim tells topic and digest', () => {
    const digest = 'A-_z'.repeat(10).concat('abc');
    const { pk } = claimKey(TOPIC, digest);
    expect(pk.startsWith(CLAIMS)).toBe(true);
    expect(parseClaimKey(pk)).toEqual({ topicId: TOPIC, keyDigest: digest });
    expect(() => parseClaimKey(`claim#${TOPIC}`)).toThrow('is not the key of a claim');
  });

  it('of an object tells whose it is', () => {
    const partition = { topicId: TOPIC, partition: 12 };
    expect(parseObjectKey(batchObjectKey(partition, 41))).toEqual({ kind: 'batch', ...partition, last: 41 });
    const upload = { topicId: TOPIC, uploadId: OTHER };
    expect(parseObjectKey(uploadObjectKey(upload))).toEqual({ kind: 'upload', ...upload });
    const letter = { ...partition, offset: 7 };
    expect(parseObjectKey(deadLetterObjectKey({ name: 'g', id: OTHER }, letter))).toEqual({
      ...{ kind: 'dead letter', groupId: OTHER, letter },
    });
  });

  it.each([
    'notes.txt',
    `${TOPIC}/0/41`,
    `uploads/${TOPIC}`,
    `dead-letters/${OTHER}/x`,
    `x/${TOPIC}/0/0000000000000041`,
  ])('of an object that is no one of ours tells nothing: %s', (key) => expect(parseObjectKey(key)).toBeUndefined());
});
