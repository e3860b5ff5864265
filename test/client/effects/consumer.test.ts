import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { processOnce } from '../../../client/effects/process-once.ts';
import { Vertebra } from '../../../client/vertebra.ts';
import { type Api, openApi } from '../../support/api.ts';
import { fetchOf } from '../../support/api-fetch.ts';
import { Charges } from '../../support/charges.ts';

let api: Api;
let charged: Charges;
let client: Vertebra;
beforeAll(async () => {
  api = await openApi();
  client = new Vertebra({ endpoint: 'http://127.0.0.1:1', fetch: fetchOf(api) });
  charged = await Charges.open(api.tables.dynamodb);
});
afterAll(() => api.close());

const charges = () => charged.all();

it('members that crash between effect and commit, and hand over, charge each order once', async () => {
  const [topic, groupId] = ['orders', 'payment'];
  await client.admin().createTopics({ topics: [{ topic, numPartitions: 3 }] });
  const messages = Array.from({ length: 60 }, (_, i) => ({ key: `order-${i}`, value: i }));
  const producer = client.producer();
  await producer.send({ topic, messages });
  await producer.close();

  let calls = 0;
  const run = async () => {
    const consumer = client.consumer<number>({
      groupId,
      maxPollMs: 100,
      handlerRetry: { maxAttempts: 100, minBackoffMs: 1, maxBackoffMs: 2 },
    });
    onTestFinished(() => consumer.stop({ timeoutMs: 0 }));
    await consumer.subscribe({ topic });
    await consumer.run({
      eachMessage: async ({ message }) => {
        const once = { dynamodb: api.tables.dynamodb, stateTable: api.tables.stateTable };
        await processOnce(message, [Charges.of(message.keyText!)], once);
        // The effect is there, and nobody knows of it: it comes again.
        if (++calls % 3 === 0) throw new Error('crashed');
      },
    });
    return consumer;
  };
  const first = await run();
  const second = await run();
  await expect.poll(() => calls, { timeout: 20_000 }).toBeGreaterThan(20);
  await first.stop({ timeoutMs: 0 });
  await expect.poll(charges, { timeout: 20_000 }).toEqual(Object.fromEntries(messages.map(({ key }) => [key, 1])));
  await second.stop();
  expect(await charges()).toEqual(Object.fromEntries(messages.map(({ key }) => [key, 1])));
});
