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
  const room = () => ({ records: recordsMax - records, bytes: Number.POSITIVE_INFINITY, partly: true });
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
  await readBatches({ ...host.backbone, log: spied }, request, { take, isFull: () => records >= recordsMax, room });
  return { records, limits };
}

it('asks for a few slots at first, and for about as many as the last answer took once it knows', async () => {
  for (let i = 0; i < 40; i++) await append(host, topic, `r${i}`, 10);
  // 4 bring 40 of 100 records: 6 more are wanted, a quarter of them and one.
  expect(await read(0, 100)).toEqual({ records: 100, limits: [4, 9] });
  expect(await read(100, 100)).toEqual({ records: 100, limits: [14] });
  expect(await read(200, 100)).toEqual({ records: 100, limits: [14] });
});

it('asks once where one slot has all that is wanted, and in proportion where another number is', async () => {
  for (let i = 0; i < 12; i++) await append(host, topic, `r${i}`, 100);
  expect(await read(0, 100)).toEqual({ records: 100, limits: [4] });
  expect(await read(100, 100)).toEqual({ records: 100, limits: [3] });
  expect(await read(200, 400)).toEqual({ records: 400, limits: [6] });
});

it('asks twice for slots of one record each, however many are wanted', async () => {
  for (let i = 0; i < 60; i++) await append(host, topic, `r${i}`);
  expect(await read(0, 50)).toEqual({ records: 50, limits: [4, 59] });
});

it('asks again when slots hold less than they used to, and for all when it met the end', async () => {
  for (let i = 0; i < 10; i++) await append(host, topic, `r${i}`, 10);
  for (let i = 0; i < 30; i++) await append(host, topic, `s${i}`);
  await read(0, 20);
  expect((await read(80, 20)).limits).toEqual([4]);
  expect(await read(100, 20)).toEqual({ records: 20, limits: [4, 21] });
  await read(120, 20);
  expect((await read(120, 20)).limits).toEqual([20]);
});

it('asks a reader that catches up for no more because another one, at the end, takes all that comes', async () => {
  for (let i = 0; i < 40; i++) await append(host, topic, `r${i}`, 10);
  await read(0, 100);
  await read(390, 100);
  expect(await read(100, 100)).toEqual({ records: 100, limits: [14] });
  await append(host, topic, 'new', 10);
  expect(await read(400, 100)).toEqual({ records: 10, limits: [100] });
  expect(await read(200, 100)).toEqual({ records: 100, limits: [14] });
});

it('learns nothing from a reader of one record', async () => {
  for (let i = 0; i < 20; i++) await append(host, topic, `r${i}`, 10);
  await read(0, 1);
  expect((await read(0, 100)).limits).toEqual([4, 9]);
  await read(0, 1);
  expect((await read(100, 50)).limits).toEqual([8]);
});
