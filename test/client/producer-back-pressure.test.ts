import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import type { NotDelivered } from '../../client/errors.ts';
import type { ProducerOptions } from '../../client/producer-words.ts';
import { Vertebra } from '../../client/vertebra.ts';
import { type LocalBackbone, startLocalBackbone } from '../../local/embedding.ts';
import { readPartition } from '../support/api-client.ts';

let backbone: LocalBackbone;
let refusals: { reason?: string }[];
beforeAll(async () => {
  backbone = await startLocalBackbone();
});
afterAll(() => backbone.dispose());
beforeEach(() => {
  refusals = [];
});

/** A client that tells of refusals that its user never hears of. */
function open(options: ProducerOptions = {}) {
  const vertebra = new Vertebra({
    endpoint: backbone.url,
    fetch: async (...request: Parameters<typeof fetch>) => {
      const response = await fetch(...request);
      if (response.status === 429) refusals.push((await response.clone().json()) as { reason?: string });
      return response;
    },
  });
  const producer = vertebra.producer(options);
  onTestFinished(async () => void (await producer.close({ timeoutMs: 10 })));
  return { producer, admin: vertebra.admin() };
}

it('a producer that sends more than the quota becomes slower, and loses, doubles and refuses nothing', async () => {
  const { producer, admin } = open();
  const [numPartitions, perPartition, recordsPerSecond] = [6, 15, 30];
  await admin.createTopics({ topics: [{ topic: 'orders', numPartitions, quota: { recordsPerSecond } }] });
  const count = numPartitions * perPartition;
  const messages = Array.from({ length: count }, (_, i) => ({ partition: i % numPartitions, value: i }));
  const began = Date.now();
  await producer.send({ topic: 'orders', messages });
  // One second of it is saved, and what the last batch takes is paid by whoever comes next.
  const tookLeastMs = ((count - perPartition) / recordsPerSecond - 1) * 1_000;
  expect(Date.now() - began).toBeGreaterThanOrEqual(tookLeastMs - 50);
  for (let partition = 0; partition < numPartitions; partition++) {
    const values = (await readPartition(backbone.url, 'orders', partition)).map(({ value }) => Number(value));
    expect(values).toEqual(messages.filter((message) => message.partition === partition).map(({ value }) => value));
  }
  // Those that were under way when the first was refused, and then one or two for each that is let through.
  expect(refusals.length).toBeLessThanOrEqual(3 * numPartitions);
  for (const { reason } of refusals) expect(reason).toBe('quota');
});

it('what the quota lets through too late fails as undelivered, with the reason, and is not stored', async () => {
  const { producer, admin } = open({ deliveryTimeoutMs: 30_000 });
  await admin.createTopics({ topics: [{ topic: 'slow', numPartitions: 1, quota: { recordsPerSecond: 1 } }] });
  await producer.send({ topic: 'slow', messages: Array.from({ length: 100 }, () => ({ value: 'paid for long' })) });
  const error = await producer.send({ topic: 'slow', messages: [{ value: 'late' }] }).then(
    () => expect.unreachable(),
    (thrown: unknown) => thrown as NotDelivered,
  );
  expect(error).toMatchObject({ code: 'delivery_timeout', effect: 'none' });
  expect(error.message).toContain("quota of topic 'slow' is used up");
  await admin.alterTopic({ topic: 'slow', quota: null });
  expect(await admin.describeTopic('slow')).not.toHaveProperty('quota');
  expect((await readPartition(backbone.url, 'slow', 0)).length).toBe(100);
});
