import { expect, it, onTestFinished } from 'vitest';
import type { ProducerOptions } from '../../client/producer-words.ts';
import { Vertebra } from '../../client/vertebra.ts';
import { startedBackbone } from '../support/command-line.ts';
import { type FaultyProxy, openFaultyProxy, problem } from '../support/faulty-proxy.ts';

/** A producer for a topic of two partitions, and what stands between them. */
async function opened(options: ProducerOptions) {
  const { url } = await startedBackbone();
  const proxy = await openFaultyProxy(url);
  onTestFinished(() => proxy.close());
  const client = new Vertebra({ endpoint: proxy.url, retry: { minBackoffMs: 1, maxBackoffMs: 20 } });
  await client.admin().createTopics({ topics: [{ topic: 'orders', numPartitions: 2 }] });
  const producer = client.producer(options);
  onTestFinished(async () => void (await producer.close({ timeoutMs: 10 })));
  await producer.send({ topic: 'orders', messages: [{ partition: 0, value: 'first' }] }); // the topic is known now
  const send = (partition: number) => producer.send({ topic: 'orders', messages: [{ partition, value: 1 }] });
  return { proxy, send };
}
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const appends = (proxy: FaultyProxy) => proxy.passed.filter(({ method }) => method === 'POST').length;

it('a record that came late has its own time, not what is left of those that wait before it', async () => {
  const { proxy, send } = await opened({ deliveryTimeoutMs: 2_000 });
  let isAway = true;
  proxy.fault = ({ method }) => (method === 'POST' && isAway ? problem(503, 'unavailable') : undefined);
  const results = [send(0)];
  await pause(200);
  results.push(send(0)); // waits behind the first one
  await pause(1_600);
  results.push(send(0)); // has been there for some 400 ms when the second one is given up
  const settled = Promise.allSettled(results);
  await results[1]!.catch(() => {});
  isAway = false;
  expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
});

it('a record that waits for the requests of others is given up in time, and is not sent any more', async () => {
  const { proxy, send } = await opened({ deliveryTimeoutMs: 3_000, maxInFlightRequests: 1 });
  const before = appends(proxy);
  let later: Promise<unknown> = Promise.resolve();
  let [nth, isLaterOver] = [0, false];
  proxy.fault = async ({ method }) => {
    if (method !== 'POST') return undefined;
    if (nth++ > 0) return 'hang';
    await pause(1_500);
    later = send(1).catch(() => (isLaterOver = true)); // has the only request as soon as this one has failed
    await pause(250);
    return problem(503, 'unavailable');
  };
  await expect(send(0)).rejects.toMatchObject({ code: 'delivery_timeout', effect: 'none' });
  expect(isLaterOver).toBe(false); // it hangs for 1,500 ms more
  await later;
  expect(appends(proxy) - before).toBe(2);
});
