import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { BatchSlot } from '../../../shared/domain/slot.ts';
import { readBatches } from '../../../shared/operations/read-batches.ts';
import { append, type Host, type LogBench, makeTopic, openLogBench } from '../../support/log-bench.ts';

let bench: LogBench;
let host: Host;
let topic: string;
let made = 0;
beforeAll(async () => {
  bench = await openLogBench();
});
afterAll(() => bench.close());
beforeEach(async () => {
  host = bench.host();
  topic = `topic-${++made}`;
  await makeTopic(host, topic);
});

/** Reads up to `recordsMax` records. @returns how many came, and what each Query was limited to */
async function read(offset: number, recordsMax: number): Promise<{ records: number; limits: number[] }> {
  let records = 0;
  const take = (slot: BatchSlot, from: number) => {
    const taken = Math.min(slot.last - from + 1, recordsMax - records);
    records += taken;
    return from + taken;
  };
  const limits: number[] = [];
  const { log } = host.backbone;
  const spied = Object.assign(Object.create(log), {
    read: (...call: Parameters<typeof log.read>) => {
      limits.push(call[2].limit);
      return log.read(...call);
    },
  });
  const deadline = bench.clock.now() + 20_000;
  const request = { topic, partition: 0, offset, waitMs: 0, slotsMax: recordsMax, deadline };
  await readBatches({ ...host.backbone, log: spied }, request, { take, isFull: () => records >= recordsMax });
  return { records, limits };
}

it('asks for about as many slots as the last answer took, once it knows, and not for as many as it wants records', async () => {
  for (let i = 0; i < 40; i++) await append(host, topic, `r${i}`, 10);
  expect(await read(0, 100)).toEqual({ records: 100, limits: [100] });
  expect(await read(100, 100)).toEqual({ records: 100, limits: [14] });
  expect(await read(200, 100)).toEqual({ records: 100, limits: [14] });
});

it('asks again when slots hold less than they used to, and for all when it met the end', async () => {
  for (let i = 0; i < 10; i++) await append(host, topic, `r${i}`, 10);
  for (let i = 0; i < 30; i++) await append(host, topic, `s${i}`);
  await read(0, 20);
  expect((await read(80, 20)).limits).toEqual([4]);
  const thinner = await read(100, 20);
  expect(thinner.records).toBe(20);
  expect(thinner.limits.length).toBeGreaterThan(1);
  await read(120, 20);
  expect((await read(120, 20)).limits).toEqual([20]);
});
