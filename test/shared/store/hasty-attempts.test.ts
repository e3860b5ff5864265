import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { expect, it, onTestFinished } from 'vitest';
import { CALLS } from '../../../functions/tables.ts';
import {
  HASTY_ATTEMPT_TIMEOUT_MS,
  REGISTER_LENGTH,
  SETTLE_AFTER_MS,
  STORE_ATTEMPT_TIMEOUT_MS,
} from '../../../shared/domain/limits.ts';
import { PartitionHeads } from '../../../shared/store/partition-head.ts';

/** More than a hasty attempt is given, and less than another one. */
const SLOW_MS = HASTY_ATTEMPT_TIMEOUT_MS + 100;

/** The SDK's own request handler, on a socket, asks for the timeout of each attempt. */
it('the first attempts of a reservation are given up early, and the last one is not', async () => {
  const register = Object.fromEntries(Array.from({ length: REGISTER_LENGTH }, (_, i) => [`r${i}`, { B: 'AA==' }]));
  const arrivals: number[] = [];
  const server = createServer((request, response) => {
    request.resume();
    arrivals.push(performance.now());
    if (arrivals.length < 3) return; // no answer, ever
    setTimeout(() => response.end(JSON.stringify({ Attributes: { next: { N: '7' }, ...register } })), SLOW_MS);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const client = new DynamoDBClient({
    ...CALLS,
    region: 'us-east-1',
    endpoint: `http://127.0.0.1:${port}`,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  onTestFinished(() => {
    client.destroy();
    server.closeAllConnections();
    server.close();
  });

  const reserved = { count: 1, time: 1, expiresAt: 0, settleMs: SETTLE_AFTER_MS };
  const partition = { topicId: '0'.repeat(26), partition: 0 };
  const heads = new PartitionHeads(client, 'state');
  expect(await heads.reserve(partition, 'ab'.repeat(12), reserved, () => false)).toMatchObject({ base: 7, last: 7 });
  expect(arrivals).toHaveLength(3);
  expect(arrivals[2]! - arrivals[0]!).toBeLessThan(2 * STORE_ATTEMPT_TIMEOUT_MS);
});
