import { describe, expect, it } from 'vitest';
import {
  deadLetterKey,
  deadLetterObjectKey,
  deadLettersOf,
  parseDeadLetterSort,
} from '../../../shared/store/dead-letter-keys.ts';
import {
  assignmentKey,
  batchObjectKey,
  claimKey,
  deletedGroupKey,
  groupEntryKey,
  groupKey,
  groupTopicKey,
  headKey,
  intentKey,
  leftoverKey,
  logKey,
  memberKey,
  parseHeadKey,
  parseLogItemKey,
  parseLogKey,
  positionKey,
  SWEEP_LEASE,
  topicKey,
  uploadKey,
  uploadLogKey,
  uploadObjectKey,
} from '../../../shared/store/keys.ts';
import { parsePendingSort, pendingKey, subscriberKey, touchedKey } from '../../../shared/store/push-keys.ts';

const partition = { topicId: '01ARZ3NDEKTSV4RRFFQ69G5FAV', partition: 1_023 };

describe('keys', () => {
  it('of a log and of a head lead back to the partition', () => {
    expect(logKey(partition)).toBe('01ARZ3NDEKTSV4RRFFQ69G5FAV.1023');
    expect(parseLogKey(logKey(partition))).toEqual(partition);
    expect(parseHeadKey(headKey(partition))).toEqual(partition);
  });

  it('of items of the Log table tell what each is', () => {
    const uploadId = '01BX5ZZKBKACTAV9WEVGEMMVRY';
    const { topicId } = partition;
    expect(parseLogItemKey(logKey(partition), 7)).toEqual({ kind: 'slot', last: 7, ...partition });
    expect(parseLogItemKey(intentKey(partition), 7)).toEqual({ kind: 'intent', last: 7, ...partition });
    expect(parseLogItemKey(uploadLogKey({ topicId, uploadId }), 0)).toEqual({ kind: 'upload', topicId, uploadId });
    for (const key of ['orders', `${topicId}#upload.x`, `${topicId}.0#spill#spill`]) {
      expect(() => parseLogItemKey(key, 0)).toThrow(/not the key/);
    }
  });

  it('of objects sort as their offsets do, and no topic can reach the uploads', () => {
    const keys = [9, 10, Number.MAX_SAFE_INTEGER].map((last) => batchObjectKey(partition, last));
    expect(keys.toSorted()).toEqual(keys);
    const { topicId } = partition;
    expect(uploadObjectKey({ topicId, uploadId: '01BX5ZZKBKACTAV9WEVGEMMVRY' })).toBe(
      'uploads/01ARZ3NDEKTSV4RRFFQ69G5FAV/01BX5ZZKBKACTAV9WEVGEMMVRY',
    );
  });

  it('that are none are refused', () => {
    for (const key of [
      '',
      'orders.0',
      `${partition.topicId}.01`,
      `${partition.topicId}.0#spill`,
      `${partition.topicId}`,
    ]) {
      expect(() => parseLogKey(key)).toThrow(/not the key/);
    }
    expect(() => parseHeadKey(topicKey('orders'))).toThrow(/not the key/);
    expect(() => parseHeadKey({ ...headKey(partition), sk: 'tail' })).toThrow(/not the key/);
  });

  describe('of a group’s items', () => {
    const group = { name: 'order-mail', id: '01BX5ZZKBKACTAV9WEVGEMMVRY' };
    const letter = { ...partition, offset: 41 };

    it('begin with its name and its incarnation, but for the group itself', () => {
      const keys = [
        memberKey(group, 'i.YQ'),
        assignmentKey(group, 7),
        groupTopicKey(group, partition.topicId),
        positionKey({ group, ...partition }),
        deadLetterKey(group, letter),
      ];
      for (const { pk } of keys) expect(pk.startsWith(`${group.name}#${group.id}#`), pk).toBe(true);
      expect(new Set(keys.map(({ pk }) => pk)).size).toBe(keys.length);
    });

    it('tell what they are of', () => {
      expect(memberKey(group, 'i.YQ').sk).toBe('i.YQ');
      expect(groupEntryKey(group.name).sk).toBe(group.name);
      expect(deletedGroupKey(group.id).sk).toBe(group.id);
      expect(groupTopicKey(group, partition.topicId).sk).toBe(partition.topicId);
      expect(groupKey(group.name)).toEqual({ pk: 'group#order-mail', sk: 'group' });
      expect(parseLogKey(positionKey({ group, ...partition }).pk.split('#')[2]!)).toEqual(partition);
      expect(parseDeadLetterSort(deadLetterKey(group, letter).sk)).toEqual(letter);
      expect(() => parseDeadLetterSort(`${partition.topicId}.1023.41`)).toThrow(/not the key/);
    });

    it('of a pending position tell which, but for the name of its group', () => {
      const { pk, sk } = pendingKey({ group, ...partition });
      expect(pk).toBe('pending');
      expect(parsePendingSort(sk)).toEqual({ groupId: group.id, ...partition, isRedrive: false });
      const redrive = pendingKey({ group, ...partition }, true);
      expect(parsePendingSort(redrive.sk)).toEqual({ groupId: group.id, ...partition, isRedrive: true });
      expect(() => parsePendingSort(`${group.name}#${sk}`)).toThrow(/not the key/);
      expect(subscriberKey(partition.topicId, group.name)).toEqual({
        pk: `subscribers#${partition.topicId}`,
        sk: group.name,
      });
    });

    it('sort as versions and offsets do', () => {
      const versions = [0, 9, 10, 9_999_999_999].map((version) => assignmentKey(group, version).sk);
      expect(versions.toSorted()).toEqual(versions);
      const letters = [
        { ...letter, partition: 9, offset: Number.MAX_SAFE_INTEGER },
        { ...letter, partition: 10, offset: 9 },
        { ...letter, partition: 10, offset: 10 },
      ].map((id) => deadLetterKey(group, id).sk);
      expect(letters.toSorted()).toEqual(letters);
      expect(letters.map((sk) => sk.startsWith(deadLettersOf({ ...letter, partition: 10 })))).toEqual([
        false,
        true,
        true,
      ]);
      expect(letters.every((sk) => sk.startsWith(deadLettersOf({ topicId: letter.topicId })))).toBe(true);
    });

    it('of one incarnation are none of another’s, and its objects are no batches', () => {
      const again = { ...group, id: partition.topicId };
      expect(positionKey({ group: again, ...partition })).not.toEqual(positionKey({ group, ...partition }));
      expect(deadLetterObjectKey(group, letter)).toBe(
        'dead-letters/01BX5ZZKBKACTAV9WEVGEMMVRY/01ARZ3NDEKTSV4RRFFQ69G5FAV.1023.0000000000000041',
      );
      expect(deadLetterObjectKey(group, letter, 'ab')).toBe(`${deadLetterObjectKey(group, letter)}.ab`);
    });

    it('meet no others, whatever the group is called', () => {
      const id = partition.topicId;
      const others = [
        headKey(partition).pk,
        claimKey(id, 'k'.repeat(43)).pk,
        uploadKey({ topicId: id, uploadId: id }).pk,
        groupKey(id).pk,
        groupKey('members').pk,
        groupEntryKey('group').pk,
        deletedGroupKey(id).pk,
        subscriberKey(id, 'x').pk,
        touchedKey(500_000),
        pendingKey({ group, ...partition }).pk,
      ];
      for (const name of [
        'head',
        'claim',
        'uploads',
        'group',
        'groups',
        'deleted-groups',
        'topics',
        'sweep',
        'subscribers',
        'touched',
        'pending',
      ]) {
        const called = { name, id };
        const own = [memberKey(called, 'a'), assignmentKey(called, 1), groupTopicKey(called, id)];
        for (const { pk } of [...own, positionKey({ group: called, ...partition }), deadLetterKey(called, letter)]) {
          expect(others).not.toContain(pk);
        }
      }
    });
  });

  it('of a topic, of a leftover, of a head and of the lease never meet', () => {
    const keys = [
      ...[topicKey('head'), topicKey('lease'), topicKey(partition.topicId)],
      ...[leftoverKey(partition.topicId), headKey(partition), SWEEP_LEASE],
    ];
    expect(new Set(keys.map(({ pk, sk }) => `${pk} ${sk}`)).size).toBe(keys.length);
  });
});
