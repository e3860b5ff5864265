import { SQSClient } from '@aws-sdk/client-sqs';
import { expect, it } from 'vitest';
import { type DeliverBackbone, deliverHandler, openDeliver } from '../../functions/deliver.ts';
import type { GroupsBackbone } from '../../functions/groups-backbone.ts';
import { Unavailable } from '../../shared/domain/errors.ts';
import { WAKE_PAUSE_S } from '../../shared/domain/limits.ts';
import type { Subscription } from '../../shared/domain/subscription.ts';
import type { WakeUp } from '../../shared/domain/wake-up.ts';
import { deliveryBatch } from '../support/deliveries.ts';

it.each([-120_000, 0, 120_000])(
  'a call has the time that it is given where the host’s clock is %i ms off',
  async (offMs) => {
    const clock = { now: () => Date.now() - offMs };
    const givenMs: number[] = [];
    const { callOf } = openDeliver(
      { clock } as GroupsBackbone,
      new SQSClient({ region: 'us-east-1' }),
      { wakeQueueUrl: 'https://queue.example' },
      () => async (_, deadline) => {
        givenMs.push(deadline - Date.now());
        return { kind: 'done' };
      },
    );
    await callOf({} as Subscription)(deliveryBatch([{}]), clock.now() + 15_000);
    expect(Math.abs(givenMs[0]! - 15_000)).toBeLessThan(1_000);
  },
);

it('what is handed aside and fails there is sent back, and tried again after a pause', async () => {
  const sent: [readonly WakeUp[], number | undefined][] = [];
  const failing = async () => {
    throw new Unavailable('no answer');
  };
  const ports = {
    clock: Date,
    subscriptions: { read: failing },
    positions: { read: failing },
    wakeQueue: { wake: async (...wake: (typeof sent)[number]) => void sent.push(wake) },
  };
  const handler = deliverHandler(() => ports as unknown as DeliverBackbone);
  const to = { group: { name: 's', id: '01BX5ZZKBKACTAV9WEVGEMMVRY' }, topic: 't', known: 1 };
  const aside = { topicId: '01ARZ3NDEKTSV4RRFFQ69G5FAV', partition: 0, last: 4, hop: 0, to };
  await handler({ aside }, { getRemainingTimeInMillis: () => 60_000 });
  const { last: _, ...insisting } = aside;
  expect(sent).toEqual([[[{ ...insisting, hop: 1 }], WAKE_PAUSE_S * 1_000]]);
});
