import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { PARTITIONS_DEFAULT } from '../../../shared/domain/limits.ts';
import { firstSteps } from '../../../shared/wire/first-steps.ts';

const murmur2 = createRequire(import.meta.url)('kafkajs/src/producer/partitioners/default/murmur2.js') as (
  key: Buffer,
) => number;

it('gives one command each to make a topic, to produce and to read back', () => {
  expect(firstSteps('http://127.0.0.1:4510')).toEqual([
    'curl -X PUT http://127.0.0.1:4510/v1/topics/orders',
    `curl http://127.0.0.1:4510/v1/topics/orders/records -H 'Content-Type: application/json' -d '{"records":[{"key":"order-17","value":{"type":"OrderPlaced","total":12.5}}]}'`,
    "curl 'http://127.0.0.1:4510/v1/topics/orders/partitions/1/records?offset=earliest'",
  ]);
});

it('reads the partition where Kafka clients put the produced key in a topic of default size', () => {
  const partition = (murmur2(Buffer.from('order-17')) & 0x7fffffff) % PARTITIONS_DEFAULT;
  expect(firstSteps('http://h')[2]).toContain(`/partitions/${partition}/records`);
});

it('begins every command with the curl it is given', () => {
  for (const step of firstSteps('https://h', 'curl --aws-sigv4 x')) expect(step).toMatch(/^curl --aws-sigv4 x /);
});
