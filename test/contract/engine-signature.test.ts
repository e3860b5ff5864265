import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { DynamoDBStreamsClient, ListStreamsCommand } from '@aws-sdk/client-dynamodb-streams';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { contractEngine, type Engine } from '../support/engine.ts';

let engine: Engine;

beforeAll(async () => {
  engine = await contractEngine();
});
afterAll(() => engine.close());

/** Sends a request that was signed this long ago; negative: by a clock that is ahead. */
const listTables = (agoMs: number, maxAttempts = 1) =>
  new DynamoDBClient({ ...engine.config, maxAttempts, systemClockOffset: -agoMs }).send(new ListTablesCommand());
const listStreams = (agoMs: number) =>
  new DynamoDBStreamsClient({ ...engine.config, maxAttempts: 1, systemClockOffset: -agoMs }).send(
    new ListStreamsCommand(),
  );

const MINUTE = 60_000;

it.each([
  ['DynamoDB', listTables],
  ['DynamoDB Streams', listStreams],
])('%s takes a signature of the last 15 minutes and no older one', async (_, send) => {
  await send(14 * MINUTE);
  const error = await send(15 * MINUTE + 2_000).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'InvalidSignatureException', $metadata: { httpStatusCode: 400 } });
  expect((error as Error).message).toMatch(
    /^Signature expired: \d{8}T\d{6}Z is now earlier than \d{8}T\d{6}Z \(\d{8}T\d{6}Z - 15 min\.\)$/,
  );
});

it('a signature may be 15 minutes ahead and no more', async () => {
  await listTables(-14 * MINUTE);
  const error = await listTables(-16 * MINUTE).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'InvalidSignatureException' });
  expect((error as Error).message).toMatch(/^Signature not yet current: /);
});

it('a client that may try again learns the time from the refusal', async () => {
  const { $metadata } = await listTables(60 * MINUTE, 2);
  expect($metadata.attempts).toBe(2);
});
