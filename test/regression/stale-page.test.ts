import { afterEach, beforeEach, expect, it } from 'vitest';
import { describePartitions } from '../../shared/operations/partitions.ts';
import { append, type LogBench, makeTopic, openLogBench, read } from '../support/log-bench.ts';

let bench: LogBench;
beforeEach(async () => {
  bench = await openLogBench();
});
afterEach(() => bench.close());

it('does not pass a slot that was filled after its page was read, though the head calls it settled (A3)', async () => {
  const [slow, fast, reader, walker] = [bench.host(), bench.host(), bench.host(), bench.host()];
  await makeTopic(slow, 'orders');
  await read(reader, 'orders', 0); // its topic and its memory of the head are there
  const fill = slow.faults.hold('PutItem');
  const appended = append(slow, 'orders', 'slow', 100);
  await fill.arrived;
  await append(fast, 'orders', 'fast');

  const head = reader.faults.hold('GetItem', 'none', 'head#');
  const reading = read(reader, 'orders', 0);
  await head.arrived; // its page has a gap where `slow` will be
  fill.release();
  expect(await appended).toBe(0); // acknowledged
  await describePartitions(walker.backbone, 'orders'); // proves it, and moves `settled`
  head.release();

  const first = await reading;
  const rest = await read(reader, 'orders', first.nextOffset);
  expect([...first.got, ...rest.got]).toEqual(['slow@0..99', 'fast@100..100']);
});
