import { describe, expect, it } from 'vitest';
import {
  batchObjectKey,
  headKey,
  intentKey,
  leftoverKey,
  logKey,
  parseHeadKey,
  parseLogItemKey,
  parseLogKey,
  SWEEP_LEASE,
  topicKey,
  uploadLogKey,
  uploadObjectKey,
} from '../../../shared/store/keys.ts';

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

  it('of a topic, of a leftover, of a head and of the lease never meet', () => {
    const keys = [
      ...[topicKey('head'), topicKey('lease'), topicKey(partition.topicId)],
      ...[leftoverKey(partition.topicId), headKey(partition), SWEEP_LEASE],
    ];
    expect(new Set(keys.map(({ pk, sk }) => `${pk} ${sk}`)).size).toBe(keys.length);
  });
});
