import { EventBridgeClient, PutEventsCommand, type PutEventsCommandInput } from '@aws-sdk/client-eventbridge';
import { mockClient } from 'aws-sdk-client-mock';
import { describe, expect, it, onTestFinished } from 'vitest';
import { deliveryBatch, soon } from '../../support/deliveries.ts';
import { target } from '../../support/target-ports.ts';

const SPEC = { eventBridge: { eventBusName: 'orders-bus' } };
const KB = 1024;

function mockedBus() {
  const client = new EventBridgeClient({ region: 'eu-central-1' });
  const mock = mockClient(client);
  onTestFinished(() => {
    mock.restore();
    client.destroy();
  });
  const sent = () => mock.commandCalls(PutEventsCommand).map(({ args }) => args[0].input as PutEventsCommandInput);
  return { eventBridge: client, mock, sent };
}

describe('a bus', () => {
  it('gets every record as an event whose detail is its CloudEvent', async () => {
    const { eventBridge, mock, sent } = mockedBus();
    mock.on(PutEventsCommand).resolves({ FailedEntryCount: 0, Entries: [{ EventId: '1' }] });
    const batch = deliveryBatch([
      { key: 'k', value: '{"a":1}' },
      { value: '2', timestamp: -1 },
    ]);
    expect(await target(SPEC, { eventBridge }).send(batch, soon())).toEqual({ kind: 'done' });
    const [{ Entries = [] }] = sent() as [PutEventsCommandInput];
    expect(Entries).toMatchObject([
      { EventBusName: 'orders-bus', Source: 'vertebra', DetailType: 'orders', Time: new Date(1_767_225_600_012) },
      { EventBusName: 'orders-bus', Source: 'vertebra', DetailType: 'orders' },
    ]);
    expect(Entries[1]).not.toHaveProperty('Time');
    expect(JSON.parse(Entries[0]!.Detail!)).toMatchObject({ id: 'orders-3:41', partitionkey: 'k', data: { a: 1 } });
  });

  it('gets at most ten entries and 256 KB by one call', async () => {
    const { eventBridge, mock, sent } = mockedBus();
    mock.on(PutEventsCommand).resolves({ FailedEntryCount: 0, Entries: [] });
    const small = Array.from({ length: 12 }, () => ({ value: '1' }));
    const large = [{ value: 'x'.repeat(150 * KB) }, { value: 'y'.repeat(150 * KB) }];
    expect(await target(SPEC, { eventBridge }).send(deliveryBatch([...small, ...large]), soon())).toEqual({
      kind: 'done',
    });
    expect(sent().map(({ Entries }) => Entries!.length)).toEqual([10, 3, 1]);
    for (const { Entries } of sent()) {
      const bytes = Entries!.reduce(
        (sum, { Detail }) => sum + Buffer.byteLength(Detail!) + 'vertebra'.length + 'orders'.length + 14,
        0,
      );
      expect(bytes).toBeLessThanOrEqual(256 * KB);
    }
  });

  it('gets a link to a value that is too large for an event, or is sent what comes before it', async () => {
    const { eventBridge, mock, sent } = mockedBus();
    mock.on(PutEventsCommand).resolves({ FailedEntryCount: 0, Entries: [] });
    const batch = deliveryBatch([{ value: '1' }, { value: 'x'.repeat(256 * KB) }]);
    expect(await target(SPEC, { eventBridge }).send(batch, soon())).toEqual({ kind: 'too_large', at: 42 });
    expect(sent().map(({ Entries }) => Entries!.length)).toEqual([1]);
    const link = async () => ({ url: 'https://payloads.example/42', size: 1, sha256: 'ab' });
    expect(await target(SPEC, { eventBridge, link }).send(batch, soon())).toEqual({ kind: 'done' });
    expect(JSON.parse(sent().at(-1)!.Entries![1]!.Detail!)).toMatchObject({ dataref: 'https://payloads.example/42' });
  });

  it.each([
    ['ThrottlingException', 'away'],
    ['InternalFailure', 'away'],
    ['InternalException', 'away'],
    ['MalformedDetail', 'failed'],
    ['NotAuthorizedForSourceException', 'cannot'],
  ])('is believed about each entry: %s is %s', async (ErrorCode, kind) => {
    const { eventBridge, mock } = mockedBus();
    mock.on(PutEventsCommand).resolves({
      FailedEntryCount: 2,
      Entries: [{ EventId: '1' }, { ErrorCode, ErrorMessage: 'why' }, { ErrorCode: 'MalformedDetail' }],
    });
    const batch = deliveryBatch([{ value: '1' }, { value: '2' }, { value: '3' }]);
    expect(await target(SPEC, { eventBridge }).send(batch, soon())).toEqual({
      ...{ kind, at: 42 },
      error: { name: ErrorCode, message: 'why' },
    });
  });

  it.each([
    ['AccessDeniedException', 400, 'cannot'],
    ['ResourceNotFoundException', 400, 'cannot'],
    ['InternalException', 500, 'away'],
    ['ValidationException', 400, 'failed'],
  ])('that refuses a call with %s (%i): %s', async (name, httpStatusCode, kind) => {
    const { eventBridge, mock } = mockedBus();
    mock.on(PutEventsCommand).rejects(Object.assign(new Error(name), { name, $metadata: { httpStatusCode } }));
    expect(await target(SPEC, { eventBridge }).send(deliveryBatch([{ value: '1' }]), soon())).toMatchObject({
      kind,
      at: 41,
    });
  });
});
