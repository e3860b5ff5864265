import { describe, expect, it } from 'vitest';
import { gate, openConsumerBench, recordEvents } from '../support/consumer-bench.ts';

/** Offsets `from` to `to`, the last one excluded. */
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

describe('a consumer', () => {
  it('hands out the records of each partition in order, and commits what is processed', async () => {
    const { time, server, open } = openConsumerBench({ orders: 3 });
    for (const n of range(0, 30)) server.append('orders', n % 3, n);
    const consumer = open<number>({ maxRecords: 4 });
    const seen: number[][] = [[], [], []];
    await consumer.run({ eachMessage: async ({ partition, message }) => void seen[partition]!.push(message.value!) });
    await time.until(() => server.committed('orders', 2) === 10 && server.committed('orders', 0) === 10);
    expect(seen).toEqual([0, 1, 2].map((partition) => range(0, 10).map((i) => 3 * i + partition)));
    expect([0, 1, 2].map((partition) => server.committed('orders', partition))).toEqual([10, 10, 10]);
  });

  it('polls at once after data, and ever more seldom while nothing comes', async () => {
    const { time, server, open } = openConsumerBench();
    const consumer = open({ minPollMs: 100, maxPollMs: 1_000 });
    await consumer.run({ eachMessage: () => {} });
    await time.advance(10_000);
    const idle = server.of('poll').map(({ at }) => at);
    const pauses = idle.slice(1).map((at, i) => at - idle[i]!);
    // At once after partitions came, too: there may be more.
    expect(pauses.slice(0, 6)).toEqual([0, 100, 200, 400, 800, 1_000]);
    expect(pauses.slice(6).every((pause) => pause === 1_000)).toBe(true);
    server.append('orders', 0, 'a');
    const before = server.of('poll').length;
    await time.until(() => server.committed('orders', 0) === 1, 2_000);
    const [fetched, next] = server.of('poll').slice(before);
    expect(next!.at).toBe(fetched!.at);
  });

  it('repeats a poll whose answer was lost with the same positions, and skips and repeats nothing', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 50));
    server.fault = ({ act }) => (act === 'poll' && server.calls.length % 3 !== 0 ? 'lose' : undefined);
    const seen: number[] = [];
    const consumer = open<number>({ maxRecords: 5 });
    const told = recordEvents(consumer, 'connection.trouble', 'connection.restored');
    let joined = false;
    const running = consumer.run({ eachMessage: async ({ message }) => void seen.push(message.value!) }).then(() => {
      joined = true;
    });
    await time.until(() => server.committed('orders', 0) === 50);
    await running;
    expect(joined).toBe(true);
    expect(seen).toEqual(range(0, 50));
    expect(server.members).toHaveLength(1);
    expect(told['connection.trouble'].length).toBeGreaterThan(5);
    expect(told['connection.trouble'][0]!.error).toMatchObject({ code: 'connection_failed', retryable: true });
    expect(told['connection.restored'].length).toBeGreaterThan(3);
  });

  it('asks for no more of a partition while it has records of it in hand', async () => {
    const { time, server, open } = openConsumerBench({ orders: 2 });
    server.append('orders', 0, ...range(0, 20));
    const slow = gate();
    const consumer = open<number>({ maxRecords: 5 });
    await consumer.run({ eachMessage: () => slow.passed });
    await time.advance(8_000);
    const polls = server.of('poll').slice(1);
    expect(polls.length).toBeGreaterThan(3);
    expect(polls.every(({ body }) => body.paused?.some(({ partition }) => partition === 0))).toBe(true);
    expect(polls.every(({ body }) => body.positions?.find(({ partition }) => partition === 0)?.offset === 5)).toBe(
      true,
    );
    slow.open();
    await time.until(() => server.committed('orders', 0) === 20);
  });

  it('holds no more than one poll in each hand and one to go on with, however many partitions it has', async () => {
    const { time, server, open } = openConsumerBench({ orders: 16 });
    for (const partition of range(0, 16)) server.append('orders', partition, ...range(0, 100));
    const slow = gate();
    const consumer = open<number>({ maxRecords: 10 });
    const { fetch } = recordEvents(consumer, 'fetch');
    await consumer.run({ eachMessage: () => slow.passed, partitionsConsumedConcurrently: 2 });
    await time.advance(20_000);
    expect(fetch.reduce((sum, { records }) => sum + records, 0)).toBe(30);
    expect(server.of('heartbeat').length).toBeGreaterThan(0);
    slow.open();
    await time.until(() => range(0, 16).every((partition) => server.committed('orders', partition) === 100));
  });

  it('keeps its session by heartbeats, which carry commits, while a handler is slow', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 3));
    const consumer = open<number>({ sessionTimeoutMs: 9_000 });
    await consumer.run({ eachMessage: () => time.sleep(20_000) });
    await time.advance(45_000);
    expect(server.members).toHaveLength(1);
    const beats = server.calls.map(({ at }) => at);
    expect(Math.max(...beats.slice(1).map((at, i) => at - beats[i]!))).toBeLessThanOrEqual(3_000);
    expect(server.committed('orders', 0)).toBe(2);
  });

  it('lets a poll be held only when asked to, only while nothing is in hand, and breaks it off to stop', async () => {
    const { time, server, open } = openConsumerBench();
    server.fault = ({ body }) => (body.waitMs ? time.sleep(body.waitMs).then(() => undefined) : undefined);
    const consumer = open<string>({ longPollMs: 20_000 });
    const seen: (string | null)[] = [];
    await consumer.run({ eachMessage: async ({ message }) => void seen.push(message.value) });
    await time.advance(60_000);
    const held = server.of('poll').filter(({ body }) => body.waitMs! > 0);
    expect(held.map(({ body }) => body.waitMs)).toEqual(held.map(() => 10_000)); // a third of the session
    expect(held.length).toBeGreaterThanOrEqual(6);
    expect(held.length).toBeLessThanOrEqual(7);
    const stopping = consumer.stop();
    await time.rest();
    await stopping;
    expect(server.of('leave')).toHaveLength(1);
  });

  it('makes no held poll by default', async () => {
    const { time, server, open } = openConsumerBench();
    const consumer = open();
    await consumer.run({ eachMessage: () => {} });
    await time.advance(5_000);
    expect(server.of('poll').every(({ body }) => body.waitMs === 0)).toBe(true);
  });
});

describe('pause', () => {
  it('stops a partition before its next message, drops what is fetched, and resume brings it all', async () => {
    const { time, server, open } = openConsumerBench({ orders: 2 });
    for (const partition of [0, 1]) server.append('orders', partition, ...range(0, 10));
    const seen: number[][] = [[], []];
    const consumer = open<number>();
    await consumer.run({
      eachMessage: async ({ partition, message, pause }) => {
        seen[partition]!.push(message.value!);
        if (partition === 0 && message.value === 3) pause();
      },
    });
    await time.advance(10_000);
    expect(seen).toEqual([range(0, 4), range(0, 10)]);
    expect(server.committed('orders', 0)).toBe(4);
    expect(consumer.paused()).toEqual([{ topic: 'orders', partitions: [0] }]);
    consumer.resume([{ topic: 'orders', partitions: [0] }]);
    await time.until(() => server.committed('orders', 0) === 10);
    expect(seen[0]).toEqual(range(0, 10));
  });
});

describe('seek', () => {
  it('goes back without moving the commit, and forward with it', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 10));
    const seen: number[] = [];
    const consumer = open<number>({ maxRecords: 3 });
    await consumer.run({ eachMessage: async ({ message }) => void seen.push(message.value!) });
    await time.until(() => server.committed('orders', 0) === 10);
    consumer.seek({ topic: 'orders', partition: 0, offset: 7 });
    await time.advance(10_000);
    expect(seen.slice(10)).toEqual([7, 8, 9]);
    expect(server.committed('orders', 0)).toBe(10);
    server.append('orders', 0, ...range(10, 20));
    consumer.seek({ topic: 'orders', partition: 0, offset: 18 });
    await time.until(() => server.committed('orders', 0) === 20);
    expect(seen.slice(13)).toEqual([18, 19]);
  });

  it('during a poll lets that poll bring nothing, and from within a handler drops what else is in hand', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 10));
    const seen: number[] = [];
    const consumer = open<number>();
    let jumps = 0;
    await consumer.run({
      eachMessage: async ({ message }) => {
        seen.push(message.value!);
        if (message.value === 2 && jumps++ === 0) consumer.seek({ topic: 'orders', partition: 0, offset: 8 });
      },
    });
    await time.until(() => server.committed('orders', 0) === 10);
    expect(seen).toEqual([0, 1, 2, 8, 9]);
    const poll = gate();
    server.fault = ({ act }) => (act === 'poll' ? poll.passed.then(() => undefined) : undefined);
    server.append('orders', 0, 10, 11);
    const polls = server.of('poll').length;
    await time.until(() => server.of('poll').length > polls);
    consumer.seek({ topic: 'orders', partition: 0, offset: 11 });
    poll.open();
    await time.until(() => server.committed('orders', 0) === 12);
    expect(seen.slice(5)).toEqual([11]);
  });

  it('before the partition is assigned takes effect when it is', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 5));
    const seen: number[] = [];
    const consumer = open<number>();
    consumer.seek({ topic: 'orders', partition: 0, offset: 3 });
    await consumer.run({ eachMessage: async ({ message }) => void seen.push(message.value!) });
    await time.until(() => server.committed('orders', 0) === 5);
    expect(seen).toEqual([3, 4]);
    expect(() => consumer.seek({ topic: 'orders', partition: 0, offset: -1 })).toThrow("'offset'");
  });
});

describe('retention that was faster than the group', () => {
  it('is told with the number of offsets gone, and the position stays until somebody moves it', async () => {
    const { time, server, open } = openConsumerBench({ orders: 2 });
    for (const partition of [0, 1]) server.append('orders', partition, ...range(0, 10));
    const seen: number[] = [];
    const consumer = open<number>({ autoOffsetReset: 'latest' });
    await consumer.run({ eachMessage: async ({ message }) => void seen.push(message.value!) });
    const told = recordEvents(consumer, 'offset.out_of_range', 'offset.reset');
    consumer.pause([{ topic: 'orders', partitions: [0] }]);
    for (const partition of [0, 1]) server.append('orders', partition, ...range(10, 30));
    server.trim('orders', 0, 25);
    consumer.resume([{ topic: 'orders' }, { topic: 'orders', partitions: [0] }]);
    await time.until(() => server.committed('orders', 1) === 30);
    await time.advance(10_000);
    expect(seen).toEqual(range(10, 30));
    const lost = { topic: 'orders', partition: 0, position: 10, logStartOffset: 25, skipped: 15 };
    expect(told).toEqual({ 'offset.out_of_range': [lost], 'offset.reset': [] });
    expect(server.committed('orders', 0)).toBe(10);
    consumer.seek({ topic: 'orders', partition: 0, offset: 25 });
    await time.until(() => server.committed('orders', 0) === 30);
    expect(seen.slice(20)).toEqual(range(25, 30));
  });

  it('moves the position by itself only if onOutOfRange says so, and tells that too', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 30));
    const consumer = open<number>({ onOutOfRange: 'earliest', maxRecords: 5 });
    const told = recordEvents(consumer, 'offset.out_of_range', 'offset.reset');
    const seen: number[] = [];
    await consumer.run({
      eachMessage: async ({ message }) => {
        seen.push(message.value!);
        if (message.value === 4) server.trim('orders', 0, 20);
      },
    });
    await time.until(() => server.committed('orders', 0) === 30);
    expect(seen).toEqual([...range(0, 5), ...range(20, 30)]);
    expect(told['offset.out_of_range']).toMatchObject([{ position: 5, skipped: 15 }]);
    expect(told['offset.reset']).toEqual([{ topic: 'orders', partition: 0, from: 5, to: 20, skipped: 15 }]);
  });
});
