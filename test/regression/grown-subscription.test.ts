import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { Vertebra } from '../../client/index.ts';
import { startLocalBackbone } from '../../local/embedding.ts';

const after: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of after.splice(0).reverse()) await close();
});

async function endpoint() {
  const taken: string[] = [];
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    for (const { id } of JSON.parse(Buffer.concat(pieces).toString()) as { id: string }[]) taken.push(id);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after.push(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, taken };
}

it('what is pushed of partitions that were added is seen, and sought, as that of the others', async () => {
  const backbone = await startLocalBackbone();
  after.push(() => backbone.dispose());
  const vertebra = new Vertebra({ endpoint: backbone.url });
  const [admin, producer] = [vertebra.admin(), vertebra.producer()];
  after.push(() => producer.close());
  const { url, taken } = await endpoint();
  await admin.createTopics({ topics: [{ topic: 'orders', numPartitions: 1 }] });
  await admin.putSubscription('s', { topics: ['orders'], target: { http: { url } }, from: 'earliest' });
  await admin.createPartitions({ topicPartitions: [{ topic: 'orders', count: 3 }] });
  const messages = [0, 1, 2].map((partition) => ({ partition, value: `${partition}` }));
  await producer.send({ topic: 'orders', messages });
  await expect.poll(() => taken.length, { timeout: 5_000 }).toBe(3);

  const committed = async () => (await admin.describeSubscription('s')).partitions.map((one) => one.committed);
  await expect.poll(committed).toEqual([1, 1, 1]);
  expect(await admin.describeSubscription('s')).toMatchObject({ lag: 0 });
  await admin.seekSubscription({ name: 's', to: 'earliest' });
  await expect
    .poll(() => taken.slice(3).sort(), { timeout: 5_000 })
    .toEqual(['orders-0:0', 'orders-1:0', 'orders-2:0']);
});
