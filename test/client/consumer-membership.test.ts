import { describe, expect, it } from 'vitest';
import type { Consumer } from '../../client/consumer.ts';
import { gate, openConsumerBench, recordEvents } from '../support/consumer-bench.ts';
import type { GroupFault } from '../support/group-server.ts';

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

describe('two consumers', () => {
  it('share the partitions, and each record is handled once, by its owner', async () => {
    const { time, server, open } = openConsumerBench({ orders: 8 });
    const seen: { readonly who: number; readonly key: string }[] = [];
    const run = (who: number) => {
      const consumer = open<number>();
      const eachMessage = async ({ partition, message }: { partition: number; message: { offset: number } }) =>
        void seen.push({ who, key: `${partition}:${message.offset}` });
      return consumer.run({ eachMessage }).then(() => consumer);
    };
    const first = await run(1);
    for (const partition of range(0, 8)) server.append('orders', partition, ...range(0, 20));
    await time.until(() => range(0, 8).every((partition) => server.committed('orders', partition) === 20));
    const second = await run(2);
    await time.until(() => first.assignment().length === 4 && second.assignment().length === 4);
    for (const partition of range(0, 8)) server.append('orders', partition, ...range(20, 40));
    await time.until(() => range(0, 8).every((partition) => server.committed('orders', partition) === 40));
    expect(new Set(seen.map(({ key }) => key)).size).toBe(320);
    expect(seen).toHaveLength(320);
    expect(seen.filter(({ who }) => who === 2)).toHaveLength(80);
  });

  it('hand a partition over when what is in hand is done: callback, commit, release, in this order', async () => {
    const { time, server, open } = openConsumerBench({ orders: 2 });
    for (const partition of [0, 1]) server.append('orders', partition, ...range(0, 5));
    const order: string[] = [];
    const slow = gate();
    const first = open<number>({
      onRevoked: async (partitions) => {
        order.push(`revoked ${partitions.map(({ partition }) => partition)}`);
      },
    });
    const { rebalance } = recordEvents(first, 'rebalance');
    await first.run({
      partitionsConsumedConcurrently: 2,
      eachMessage: async ({ partition, message, signal }) => {
        if (message.value === 1) await slow.passed;
        order.push(`${partition}:${message.value}${signal.aborted ? ' aborted' : ''}`);
      },
    });
    await time.until(() => order.length === 2);
    const second = open<number>();
    const others: string[] = [];
    await second.run({
      eachMessage: async ({ partition, message }) => void others.push(`${partition}:${message.value}`),
    });
    await time.until(() => rebalance.some(({ revoked }) => revoked.length > 0));
    const given = rebalance.flatMap(({ revoked }) => revoked)[0]!.partition;
    await time.advance(5_000);
    expect(others).toEqual([]); // nobody gets it while the first one still works on it
    expect(server.owner('orders', given)).toBe(first.memberId);
    slow.open();
    await time.until(() => others.length === 3);
    expect(order.filter((what) => what.startsWith(`${given}:`))).toEqual([`${given}:0`, `${given}:1`]);
    expect(order.indexOf(`revoked ${given}`)).toBeGreaterThan(order.indexOf(`${given}:1`));
    expect(others).toEqual([2, 3, 4].map((value) => `${given}:${value}`));
    expect(rebalance.flatMap(({ lost }) => lost)).toEqual([]);
  });
});

describe('a member whose session has ended', () => {
  it('joins again, drops what it had in hand, and neither skips nor commits it', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 10));
    const seen: number[] = [];
    const reasons: unknown[] = [];
    const slow = gate();
    const consumer = open<number>();
    const told = recordEvents(consumer, 'group.join', 'rebalance');
    await consumer.run({
      eachMessage: async ({ message, signal }) => {
        seen.push(message.value!);
        if (message.value !== 3 || signal.aborted || reasons.length > 0) return;
        signal.addEventListener('abort', () => reasons.push(signal.reason));
        await slow.passed;
      },
    });
    await time.until(() => seen.includes(3));
    await time.until(() => server.committed('orders', 0) === 3);
    const before = consumer.memberId;
    server.evictAll();
    await time.until(() => told['group.join'].length === 2);
    expect(reasons).toMatchObject([{ code: 'partition_lost' }]);
    expect(consumer.memberId).not.toBe(before);
    await time.advance(5_000);
    expect(seen).toEqual([0, 1, 2, 3]); // not two handlers on one partition at once
    slow.open();
    await time.until(() => server.committed('orders', 0) === 10);
    expect(seen).toEqual([0, 1, 2, 3, ...range(3, 10)]);
    expect(told.rebalance.flatMap(({ lost }) => lost)).toEqual([{ topic: 'orders', partition: 0 }]);
  });

  it('joins ever more seldom when it is put out again and again', async () => {
    const { time, server, open } = openConsumerBench();
    const consumer = open();
    await consumer.run({ eachMessage: () => {} });
    server.fault = ({ act, body }) =>
      act === 'poll' && !body.memberId!.startsWith('new:') ? { status: 404, code: 'member_not_found' } : undefined;
    await time.advance(60_000);
    const joins = server.of('poll').filter(({ body }) => body.memberId!.startsWith('new:'));
    expect(joins.length).toBeLessThan(25);
    server.fault = () => undefined;
    server.append('orders', 0, 'a');
    await time.until(() => server.committed('orders', 0) === 1, 30_000);
  });

  it('does not begin anything new once it has not heard of the backbone for a session', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 100));
    const seen: number[] = [];
    const consumer = open<number>();
    await consumer.run({
      eachMessage: async ({ message }) => {
        seen.push(message.value!);
        await time.sleep(2_000);
      },
    });
    server.fault = () => 'refuse';
    await time.advance(120_000);
    const begun = seen.length;
    expect(begun).toBeLessThanOrEqual(17);
    server.fault = () => undefined;
    await time.until(() => server.committed('orders', 0) === 100, 400_000);
    expect(new Set(seen)).toEqual(new Set(range(0, 100)));
    expect(server.committed('orders', 0)).toBe(100);
  });
});

describe('a partition that was fenced', () => {
  it('is dropped and taken anew, from what is committed, when a commit says so', async () => {
    const { time, server, open } = openConsumerBench({ orders: 2 });
    for (const partition of [0, 1]) server.append('orders', partition, ...range(0, 4));
    const seen: string[] = [];
    const consumer = open<number>({ autoCommitIntervalMs: 1_000 });
    const told = recordEvents(consumer, 'rebalance', 'commit.refused');
    let fenced = false;
    await consumer.run({
      eachMessage: async ({ partition, message }) => {
        seen.push(`${partition}:${message.value}`);
        if (partition === 0 && message.value === 2 && !fenced) {
          fenced = true;
          server.fence('orders', 0);
        }
        await time.sleep(700);
      },
    });
    await time.until(() => [0, 1].every((partition) => server.committed('orders', partition) === 4));
    expect(told['commit.refused'].map(({ error }) => (error as { code?: string }).code)).toEqual(['fenced']);
    expect(told.rebalance.flatMap(({ lost }) => lost)).toEqual([{ topic: 'orders', partition: 0 }]);
    const zeros = seen.filter((what) => what.startsWith('0:'));
    expect(zeros.length).toBeGreaterThan(4);
    expect(new Set(zeros).size).toBe(4);
    expect(seen.filter((what) => what.startsWith('1:'))).toHaveLength(4);
  });
});

describe('a static member', () => {
  it('that restarts keeps its partitions, and the session before ends with instance_fenced', async () => {
    const { time, server, open } = openConsumerBench({ orders: 2 });
    const first = open({ instanceId: 'a' });
    const { crash, stop } = recordEvents(first, 'crash', 'stop');
    await first.run({ eachMessage: () => {} });
    const held = first.assignment().map(({ partition }) => partition);
    const second = open({ instanceId: 'a' });
    await second.run({ eachMessage: () => {} });
    await time.until(() => stop.length === 1);
    expect(crash[0]!.error).toMatchObject({ code: 'instance_fenced' });
    expect(server.of('leave')).toEqual([]);
    expect(second.assignment().map(({ partition }) => partition)).toEqual(held);
  });

  it('that stops commits, and keeps its place unless it is told to leave', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, 1, 2);
    const stop = async (leave?: boolean) => {
      const consumer = open<number>({ instanceId: 'a' });
      let seen = 0;
      await consumer.run({ eachMessage: async () => void seen++ });
      await time.until(() => seen > 0);
      let stopped = false;
      void consumer.stop(leave === undefined ? {} : { leave }).then(() => {
        stopped = true;
      });
      await time.until(() => stopped);
    };
    await stop();
    expect(server.committed('orders', 0)).toBe(2);
    expect(server.members).toHaveLength(1);
    server.append('orders', 0, 3);
    await stop(true);
    expect(server.committed('orders', 0)).toBe(3);
    expect(server.members).toEqual([]);
  });
});

describe('stop', () => {
  it('lets what is in hand end, begins nothing else, commits, releases and leaves', async () => {
    const { time, server, open } = openConsumerBench({ orders: 2 });
    for (const partition of [0, 1]) server.append('orders', partition, ...range(0, 10));
    const revoked: unknown[] = [];
    const seen: number[] = [];
    const slow = gate();
    const consumer = open<number>({
      sessionTimeoutMs: 6_000,
      onRevoked: (partitions) => void revoked.push(...partitions),
    });
    await consumer.run({
      eachMessage: async ({ message }) => {
        seen.push(message.value!);
        if (seen.length === 3) await slow.passed;
      },
    });
    await time.until(() => seen.length === 3);
    let stopped = false;
    void consumer.stop().then(() => {
      stopped = true;
    });
    await time.advance(20_000);
    expect(stopped).toBe(false);
    expect(server.members).toHaveLength(1); // heartbeats go on
    slow.open();
    await time.until(() => stopped, 1_000);
    expect(seen).toHaveLength(3);
    expect(revoked).toHaveLength(2);
    expect(server.committed('orders', 0)! + server.committed('orders', 1)!).toBe(3);
    expect([server.owner('orders', 0), server.owner('orders', 1)]).toEqual([null, null]);
    expect(server.members).toEqual([]);
  });

  it('lets onRevoked commit what only the user knows to be done', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 5));
    let seen = 0;
    const consumer: Consumer<number> = open<number>({
      commit: 'manual',
      onRevoked: () => consumer.commitOffsets([{ topic: 'orders', partition: 0, offset: seen }]),
    });
    await consumer.run({ eachMessage: async () => void seen++ });
    await time.until(() => seen === 5);
    let stopped = false;
    void consumer.stop().then(() => {
      stopped = true;
    });
    await time.until(() => stopped);
    expect(server.committed('orders', 0)).toBe(5);
    expect(server.owner('orders', 0)).toBeNull();
  });

  it('waits no longer than it is told, aborts what is in hand then, and does not commit it', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 5));
    let aborted = false;
    const consumer = open<number>();
    await consumer.run({
      eachMessage: async ({ message, signal }) => {
        if (message.value !== 2) return;
        signal.addEventListener('abort', () => {
          aborted = true;
        });
        await gate().passed;
      },
    });
    await time.rest();
    const startedAt = time.now();
    let stopped = false;
    void consumer.stop({ timeoutMs: 4_000 }).then(() => {
      stopped = true;
    });
    await time.until(() => stopped);
    expect(time.now() - startedAt).toBe(4_000);
    expect(aborted).toBe(true);
    expect(server.committed('orders', 0)).toBe(2);
  });

  it('ends in time with the backbone away, and a consumer can run again after it', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, 1, 2);
    const seen: number[] = [];
    const consumer = open<number>({ autoCommitIntervalMs: 60_000 });
    await consumer.run({ eachMessage: async ({ message }) => void seen.push(message.value!) });
    await time.until(() => seen.length === 2);
    server.fault = () => 'refuse';
    const startedAt = time.now();
    let stopped = false;
    void consumer.stop().then(() => {
      stopped = true;
    });
    await time.until(() => stopped);
    expect(time.now() - startedAt).toBeLessThanOrEqual(6_000);
    server.fault = () => undefined;
    server.append('orders', 0, 3);
    await time.advance(60_000); // the session that could not say farewell
    await consumer.run({ eachMessage: async ({ message }) => void seen.push(message.value!) });
    await time.until(() => server.committed('orders', 0) === 3);
    expect(new Set(seen)).toEqual(new Set([1, 2, 3]));
  });
});

describe('a backbone that is away', () => {
  it('at the start is tried for as long as retry says, then run says what is wrong', async () => {
    const { time, server, open } = openConsumerBench();
    server.fault = () => 'refuse';
    const consumer = open({ retry: { withinMs: 20_000 } });
    const told = recordEvents(consumer, 'connection.trouble', 'crash', 'stop');
    const startedAt = time.now();
    const failure = consumer.run({ eachMessage: () => {} }).catch((error: unknown) => error);
    await time.until(() => told.stop.length === 1);
    expect(await failure).toMatchObject({ code: 'connection_failed', effect: 'none' });
    expect(time.now() - startedAt).toBeLessThanOrEqual(20_000);
    expect(told['connection.trouble'].length).toBeGreaterThan(5);
    expect(server.calls.length).toBeLessThan(30);
  });

  it('later too: no position is lost, whether it comes back in time or not', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 20));
    const seen: number[] = [];
    const consumer = open<number>({ maxRecords: 5, retry: { withinMs: 100_000 } });
    const told = recordEvents(consumer, 'connection.restored', 'crash', 'stop');
    await consumer.run({
      eachMessage: async ({ message }) => {
        seen.push(message.value!);
        if (seen.length === 8) server.fault = () => ({ status: 503, code: 'unavailable' });
      },
    });
    await time.advance(50_000);
    expect(told.crash).toEqual([]);
    server.fault = () => undefined;
    await time.until(() => server.committed('orders', 0) === 20);
    expect(told['connection.restored'].length).toBe(1);
    expect(new Set(seen)).toEqual(new Set(range(0, 20)));
    server.fault = () => 'refuse';
    await time.until(() => told.stop.length === 1);
    expect(told.crash).toMatchObject([{ error: { code: 'connection_failed' } }]);
    expect(server.committed('orders', 0)).toBe(20);
  });
});

describe('a join that cannot be', () => {
  it.each([
    [404, 'topic_not_found'],
    [409, 'group_full'],
    [409, 'group_is_subscription'],
    [409, 'no_committed_offset'],
    [400, 'invalid_request'],
    [403, 'forbidden'],
  ])('(%i %s) is told by run, and tried once', async (status, code) => {
    const { server, open } = openConsumerBench();
    server.fault = (): GroupFault => ({ status, code });
    const consumer = open();
    const told = recordEvents(consumer, 'crash', 'stop');
    await expect(consumer.run({ eachMessage: () => {} })).rejects.toMatchObject({ code, status });
    expect(server.calls).toHaveLength(1);
    expect(told).toMatchObject({ crash: [{ error: { code } }], stop: [{ error: { code } }] });
  });

  it('is given up by stop', async () => {
    const { time, server, open } = openConsumerBench();
    server.fault = () => 'refuse';
    const consumer = open();
    const failure = consumer.run({ eachMessage: () => {} }).catch((error: unknown) => error);
    await time.advance(1_000);
    await consumer.stop();
    expect(await failure).toMatchObject({ code: 'closed' });
    expect(server.of('leave')).toEqual([]); // nothing has reached the backbone
  });

  it('leaves no member behind when its answer was lost and it is given up', async () => {
    const { time, server, open } = openConsumerBench();
    server.fault = ({ act }) => (act === 'poll' ? 'lose' : undefined);
    const consumer = open();
    const failure = consumer.run({ eachMessage: () => {} }).catch((error: unknown) => error);
    await time.advance(1_000);
    expect(server.members).toHaveLength(1);
    await consumer.stop();
    expect(await failure).toMatchObject({ code: 'closed' });
    expect(server.members).toEqual([]);
  });
});
