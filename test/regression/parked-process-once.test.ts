import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deliveriesOf, type LambdaEvent } from '../../client/effects/lambda.ts';
import { processOnce } from '../../client/effects/process-once.ts';
import type { DeliveryBatch } from '../../shared/domain/delivery.ts';
import { kafkaEvent, kafkaRecord } from '../../shared/wire/kafka-event.ts';
import { Charges } from '../support/charges.ts';
import { error, openParkingBench, type ParkingBench, RETRY } from '../support/parking-bench.ts';

let bench: ParkingBench;
let charged: Charges;
beforeEach(async () => {
  bench = await openParkingBench();
  charged = await Charges.open(bench.tables.dynamodb);
});
afterEach(() => bench.close());

/** Charges for the first so many records of a batch, each once. */
async function charge(batch: DeliveryBatch, count = batch.records.length): Promise<void> {
  const records = batch.records.map((record) => kafkaRecord(batch, record));
  const event: LambdaEvent = JSON.parse(kafkaEvent(batch, records));
  for (const delivery of deliveriesOf(event).slice(0, count)) {
    await processOnce(delivery, [Charges.of(delivery.record.offset)], bench.tables);
  }
}
const charges = () => charged.all();

describe('a function that processes each record once, and fails then,', () => {
  it('though it names a record that it has processed, with those behind, does not hold up the partition', async () => {
    await bench.park({ retry: { ...RETRY, maxAttempts: 1 } });
    let calls = 0;
    bench.scripts.set('s', async (batch) => {
      await charge(batch);
      return ++calls === 1 ? { kind: 'failed', at: 0, error } : { kind: 'done' };
    });
    await bench.appendSlot([
      ['K', '0'],
      ['a', '1'],
      ['b', '2'],
    ]);
    await bench.append(['c=3']);
    await bench.wake({ last: 3 });
    await bench.drain(10_000);
    const position = await bench.position();
    expect(position).toMatchObject({ committed: 4 });
    expect(position).not.toHaveProperty('owner');
    expect(await charges()).toEqual({ 0: 1, 1: 1, 2: 1, 3: 1 });
    await bench.expectNoneParked();
  });

  it('at the last attempt of a record that it has processed, parks nothing', async () => {
    await bench.park();
    let calls = 0;
    bench.scripts.set('s', async (batch) => {
      calls += 1;
      if (calls === 1) return { kind: 'failed', error, at: 0 };
      await charge(batch, 1);
      return calls === 2 ? { kind: 'failed', error } : { kind: 'done' };
    });
    await bench.deliver(['K=0', 'a=1']);
    expect(bench.delivered()).toEqual([0, 1, 0, 1]);
    expect(await bench.list()).toEqual([]);
    await bench.expectNoneParked();
  });

  it('where a parked key is delivered, moves the lane, and processes nothing twice', async () => {
    await bench.park({ batch: { maxRecords: 10, maxBytes: 100_000 } });
    let calls = 0;
    bench.scripts.set('s', async (batch) => {
      if (batch.lane === undefined)
        return batch.records[0]!.offset === 0 ? { kind: 'failed', error, at: 0 } : { kind: 'done' };
      calls += 1;
      await charge(batch, calls === 2 ? 2 : undefined);
      return calls < 4 ? { kind: 'failed', error } : { kind: 'done' };
    });
    await bench.deliver(['K=0', 'K=1', 'a=2', 'K=3', 'b=4', 'K=5']);
    await bench.drain(200_000);
    expect(calls).toBeGreaterThanOrEqual(3);
    expect(await charges()).toEqual({ 0: 1, 1: 1, 3: 1, 5: 1 });
    await bench.expectNoneParked();
  });
});
