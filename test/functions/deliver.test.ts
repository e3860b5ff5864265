import { SQSClient } from '@aws-sdk/client-sqs';
import { expect, it } from 'vitest';
import { openDeliver } from '../../functions/deliver.ts';
import type { GroupsBackbone } from '../../functions/groups-backbone.ts';
import type { Subscription } from '../../shared/domain/subscription.ts';
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
