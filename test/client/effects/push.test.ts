import { afterEach, beforeEach, expect, it } from 'vitest';
import { DeliveryFenced } from '../../../client/effects/errors.ts';
import { type DeliveredRecord, deliveriesOf, type LambdaEvent } from '../../../client/effects/lambda.ts';
import { processOnce } from '../../../client/effects/process-once.ts';
import type { DeliveryBatch } from '../../../shared/domain/delivery.ts';
import { kafkaEvent, kafkaRecord } from '../../../shared/wire/kafka-event.ts';
import { laneOf } from '../../../shared/wire/lane-of.ts';
import { Charges } from '../../support/charges.ts';
import { openPushBench, type PushBench } from '../../support/push-bench.ts';

let bench: PushBench;
let charged: Charges;
beforeEach(async () => {
  bench = await openPushBench();
  await bench.subscribe();
  charged = await Charges.open(bench.tables.dynamodb);
});
afterEach(() => bench.close());

const charges = () => charged.all();

/** The records of a batch, as the function finds them in its event. */
function recordsOf(batch: DeliveryBatch): DeliveredRecord[] {
  const event = kafkaEvent(
    batch,
    batch.records.map((record) => kafkaRecord(batch, record)),
  );
  return deliveriesOf(JSON.parse(event) as LambdaEvent);
}
const chargeOnce = (delivered: DeliveredRecord) =>
  processOnce(delivered, [Charges.of(delivered.record.offset)], {
    dynamodb: bench.tables.dynamodb,
    stateTable: bench.tables.stateTable,
  });

const failed = { kind: 'failed', error: { name: 'Error', message: 'crashed' } } as const;

it('a function that fails after its effects charges each record once, and the position has moved with them', async () => {
  await bench.append(['a', 'b', 'c']);
  let calls = 0;
  bench.scripts.set('s', async (batch) => {
    for (const delivered of recordsOf(batch)) await chargeOnce(delivered);
    return ++calls < 3 ? failed : { kind: 'done' };
  });
  await bench.wake();
  await bench.drain(120_000);
  expect(await charges()).toEqual({ 0: 1, 1: 1, 2: 1 });
  expect((await bench.position()).committed).toBe(3);
});

it('a function that fails behind what it has processed is called again after its back-off, and attempts are those of what fails', async () => {
  await bench.append(['a', 'b', 'c']);
  const tried: number[][] = [];
  bench.scripts.set('s', async (batch) => {
    tried.push(batch.records.map(({ offset }) => offset));
    for (const delivered of recordsOf(batch)) {
      if (delivered.record.offset === 2 && tried.length < 4) return failed;
      await chargeOnce(delivered);
    }
    return { kind: 'done' };
  });
  await bench.wake();
  await bench.drain(10_000); // a lease would last for 45 s
  expect(tried).toEqual([[0, 1, 2], [2], [2], [2]]);
  expect(await charges()).toEqual({ 0: 1, 1: 1, 2: 1 });
  expect(bench.letters).toEqual([]);
  expect(await bench.position()).toMatchObject({ committed: 3, push: { lastError: { message: 'crashed' } } });
  expect((await bench.position()).owner).toBeUndefined();
});

it('a function that fails in the midst of a batch is called with the rest at once, not when a lease is over', async () => {
  await bench.append(['a', 'b', 'c', 'd']);
  const sent: number[][] = [];
  bench.scripts.set('s', async (batch) => {
    sent.push(batch.records.map(({ offset }) => offset));
    for (const delivered of recordsOf(batch)) {
      if (sent.length === 1 && delivered.record.offset === 2) return failed;
      await chargeOnce(delivered);
    }
    return { kind: 'done' };
  });
  await bench.wake();
  await bench.drain(10_000);
  expect(sent).toEqual([
    [0, 1, 2, 3],
    [2, 3],
  ]);
  expect(await charges()).toEqual({ 0: 1, 1: 1, 2: 1, 3: 1 });
  expect((await bench.position()).committed).toBe(4);
});

it('a function that fails once its one record is processed is not called with it again', async () => {
  await bench.append(['a', 'b']);
  const sent: number[][] = [];
  bench.scripts.set('s', async (batch) => {
    sent.push(batch.records.map(({ offset }) => offset));
    for (const delivered of recordsOf(batch)) await chargeOnce(delivered);
    return sent.length === 1 ? failed : { kind: 'done' };
  });
  await bench.wake();
  await bench.drain(10_000);
  expect(await charges()).toEqual({ 0: 1, 1: 1 });
  expect((await bench.position()).committed).toBe(2);
  expect(sent).toEqual([[0, 1]]);
});

it('a call that was given up charges nothing any more, whether its record was retried or is a dead letter', async () => {
  await bench.append(['a']);
  const late: DeliveredRecord[] = [];
  bench.scripts.set('s', async (batch) => {
    late.push(...recordsOf(batch));
    return failed; // for the backbone it has taken too long; it goes on by itself
  });
  await bench.wake();
  await bench.drain(300_000);
  expect(bench.letters).toHaveLength(1);
  expect(late).toHaveLength(3);
  for (const delivered of late) await expect(chargeOnce(delivered)).rejects.toThrow(DeliveryFenced);
  expect(await charges()).toEqual({});
});

it('a call whose lease is over charges nothing beside the one that followed it', async () => {
  await bench.append(['a']);
  let zombie: DeliveredRecord | undefined;
  bench.scripts.set('s', async (batch) => {
    const [delivered] = recordsOf(batch);
    if (zombie === undefined) {
      zombie = delivered;
      bench.clock.pass(100_000); // its process stands still
      await bench.wake({}, bench.host());
      return { kind: 'done' };
    }
    await chargeOnce(delivered!);
    return { kind: 'done' };
  });
  await bench.wake();
  await bench.drain(300_000);
  expect(await chargeOnce(zombie!)).toEqual({ done: false });
  expect(await charges()).toEqual({ 0: 1 });
});

it('the same record is processed by each of two groups', async () => {
  await bench.subscribe('other');
  await bench.append(['a']);
  for (const name of ['s', 'other']) {
    bench.scripts.set(name, async (batch) => {
      for (const delivered of recordsOf(batch)) await chargeOnce(delivered);
      return { kind: 'done' };
    });
  }
  await bench.wake();
  await bench.drain();
  expect(await charges()).toEqual({ 0: 2 });
});

it('effects of a parked key’s records move its lane, which is what has to be owned', async () => {
  const retry = { maxAttempts: 1, minBackoffMs: 10, maxBackoffMs: 20_000 };
  await bench.subscribe('p', { onFailure: 'park', retry });
  await bench.append(['K=0', 'a=1', 'K=2']);
  const seen: { readonly lane: string | undefined; readonly offsets: number[] }[] = [];
  let zombie: DeliveredRecord | undefined;
  let isMended = false;
  bench.scripts.set('p', async (batch) => {
    const records = recordsOf(batch);
    seen.push({ lane: records[0]!.delivery.lane, offsets: records.map(({ record }) => record.offset) });
    for (const delivered of records) {
      if (!isMended && Buffer.from(delivered.record.key!, 'base64').toString() === 'K') {
        zombie ??= delivered;
        return { ...failed, at: delivered.record.offset };
      }
      await chargeOnce(delivered);
    }
    // The first call of the lane crashes behind its effects.
    return seen.at(-1)!.offsets[0] === 0 ? failed : { kind: 'done' };
  });
  await bench.wake();
  await bench.drain(10_000);
  expect(await charges()).toEqual({ 1: 1 });
  await expect(chargeOnce(zombie!)).rejects.toThrow(DeliveryFenced);
  isMended = true;
  await bench.drain(60_000);
  expect(await charges()).toEqual({ 0: 1, 1: 1, 2: 1 });
  const lane = laneOf(Buffer.from('K'));
  expect(seen).toEqual([
    { lane: undefined, offsets: [0, 1, 2] },
    { lane: undefined, offsets: [1] },
    { lane, offsets: [0] },
    { lane, offsets: [2] },
  ]);
  expect(await bench.position(0, 'p')).toMatchObject({ committed: 3 });
  expect((await bench.position(0, 'p')).parked).toBeUndefined();
});
