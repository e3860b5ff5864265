import { randomBytes } from 'node:crypto';
import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openParkingBench, type ParkingBench } from '../support/parking-bench.ts';

let bench: ParkingBench;
beforeEach(async () => {
  bench = await openParkingBench();
});
afterEach(() => bench.close());

it.each([
  ['lose-answer', 1],
  ['lose-answer', 3],
  ['throttle', 1],
  ['lose-request', 3],
  ['internal-error', 3],
] as const)(
  'a key is parked, and comes back, where either transaction has a fault: %s, %i times',
  async (fault, times) => {
    await bench.park();
    bench.bad.add('1');
    await bench.append(['a=0', 'K=1', 'b=2', 'K=3', 'c=4']);
    const host = bench.host();
    const by = { ...host, ports: host.aside };
    const transactions = () => host.faults.calls.filter((operation) => operation === 'TransactWriteItems').length;
    /** One delivery whose transaction goes wrong, and the one that follows if its message comes back. */
    const wakeThrough = async (last?: number) => {
      const before = transactions();
      host.faults.next('TransactWriteItems', fault, times);
      const wakeUp = { to: bench.to(), ...(last !== undefined && { last }) };
      await bench.wake(wakeUp, by).catch(() => {});
      expect(transactions()).toBeGreaterThan(before);
      bench.clock.pass(60_000);
      await bench.wake({ to: bench.to() }, by, true);
    };
    await wakeThrough(4);
    expect(bench.given).toEqual(['0', '2', '4']);
    expect(await bench.marks()).toEqual([bench.laneId().lane]);
    bench.bad.clear();
    await bench.getReady();
    await wakeThrough();
    await bench.append(['K=5']);
    // Who failed may have told nobody.
    expect(await bench.sweep()).toEqual([]);
    await bench.drain(60_000);
    await bench.wake({ to: bench.to() });
    expect(bench.given).toEqual(['0', '2', '4', '1', '3', '5']);
    expect(await bench.laneAt()).toBeUndefined();
    await bench.expectNoneParked();
  },
);

describe('of a spilled slot that a parked key has to be read from,', () => {
  const spilled = async () => {
    const large = (name: string) => `${name}${randomBytes(30_000).toString('base64')}`;
    await bench.appendSlot([
      ['K', large('2')],
      ['b', large('3')],
    ]);
  };

  it.each(['deny', 'throttle', 'internal-error', 'lose-answer'] as const)(
    'the payload cannot be had for now (%s): the key waits for it, and nobody else does',
    async (fault) => {
      await bench.park();
      bench.bad.add('0');
      await bench.append(['K=0', 'a=1']);
      await spilled();
      await bench.wake({ last: 3 });
      await bench.drain(1_000);
      bench.bad.clear();
      bench.clock.pass(20_000);
      bench.queue.length = 0;
      const host = bench.host();
      host.faults.next('GetObject', fault, 3);
      await bench.wakeLane('K', host).catch(() => {});
      expect(host.faults.calls).toContain('GetObject');
      await bench.append(['c=4']);
      await bench.wake({ last: 4 });
      expect(await bench.position()).toMatchObject({ committed: 5 });
      for (let minutes = 0; minutes < 2; minutes++) {
        bench.clock.pass(60_000);
        await bench.sweep();
        await bench.drain(60_000);
      }
      expect(bench.letters).toEqual([]);
      expect(bench.given.map(([name]) => name).filter((name) => '02'.includes(name!))).toEqual(['0', '2']);
      await bench.expectNoneParked();
    },
  );

  it('the payload is gone, behind a slot that has expired: the key is never ahead of its partition', async () => {
    await bench.park();
    bench.bad.add('0');
    await bench.deliver(['K=0', 'a=1']);
    await spilled();
    for (const Key of await bench.objects())
      await bench.tables.s3.send(new DeleteObjectCommand({ Bucket: bench.tables.bucket, Key }));
    await bench.removeSlot(bench.positionId(), 1);
    bench.bad.clear();
    await bench.getReady();
    const [lane, position] = [await bench.laneAt(), await bench.position()];
    expect(lane!.committed).toBe(position.committed);
    expect(bench.letters).toEqual([]);
    await bench.wake({ last: 3 });
    await bench.drain(1_000);
    expect(bench.letters.map(({ offset }) => offset)).toEqual([2, 3]);
    await bench.expectNoneParked();
  });
});
