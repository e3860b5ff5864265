import { describe, expect, it } from 'vitest';
import { headKey, leftoverKey, logKey, parseHeadKey, parseLogKey, topicKey } from '../../../shared/store/keys.ts';

const partition = { topicId: '01ARZ3NDEKTSV4RRFFQ69G5FAV', partition: 1_023 };

describe('keys', () => {
  it('of a log and of a head lead back to the partition', () => {
    expect(logKey(partition)).toBe('01ARZ3NDEKTSV4RRFFQ69G5FAV.1023');
    expect(parseLogKey(logKey(partition))).toEqual(partition);
    expect(parseHeadKey(headKey(partition))).toEqual(partition);
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

  it('of a topic, of a leftover and of a head never meet', () => {
    const keys = [topicKey('head'), leftoverKey(partition.topicId), headKey(partition), topicKey(partition.topicId)];
    expect(new Set(keys.map(({ pk, sk }) => `${pk} ${sk}`)).size).toBe(keys.length);
  });
});
