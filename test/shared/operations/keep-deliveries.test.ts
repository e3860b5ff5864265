import { describe, expect, it } from 'vitest';
import { keepDeliveries } from '../../../shared/operations/keep-deliveries.ts';

describe('what wakes deliveries', () => {
  const keep = async (is: { subscriptions: number[]; isEmpty: boolean; isOn: boolean }) => {
    const switched: boolean[] = [];
    const found = [...is.subscriptions];
    await keepDeliveries({
      subscriptions: {
        list: async () => ({
          items: Array.from({ length: found.length > 1 ? found.shift()! : found[0]! }, () => ({})),
        }),
      },
      wakeQueue: { isEmpty: async () => is.isEmpty },
      deliveries: { is: async (on) => on === is.isOn, switch: async (on) => void switched.push(on) },
    });
    return switched;
  };

  it('is switched on where somebody subscribes, whatever set it back', async () => {
    expect(await keep({ subscriptions: [1], isEmpty: true, isOn: false })).toEqual([true]);
  });

  it('is switched on for what removals left in the wake queue, where nobody subscribes', async () => {
    expect(await keep({ subscriptions: [0], isEmpty: false, isOn: false })).toEqual([true]);
  });

  it('is switched off once there is neither', async () => {
    expect(await keep({ subscriptions: [0], isEmpty: true, isOn: true })).toEqual([false]);
  });

  it.each([
    [[1], true, true],
    [[0], false, true],
    [[0], true, false],
  ])('with subscriptions %j, empty queue %s is left alone when on is %s', async (subscriptions, isEmpty, isOn) => {
    expect(await keep({ subscriptions, isEmpty, isOn })).toEqual([]);
  });

  it('is on again when somebody subscribed while it was switched off', async () => {
    expect(await keep({ subscriptions: [0, 1], isEmpty: true, isOn: true })).toEqual([false, true]);
  });
});
