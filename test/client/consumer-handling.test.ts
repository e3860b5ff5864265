import { describe, expect, it, onTestFinished } from 'vitest';
import { withSchema } from '../../client/codec.ts';
import { EffectInProgress } from '../../client/effects/errors.ts';
import { Vertebra } from '../../client/vertebra.ts';
import { gate, openConsumerBench, recordEvents } from '../support/consumer-bench.ts';

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
const RETRY = { maxAttempts: 3, minBackoffMs: 1_000, maxBackoffMs: 60_000 };

describe('a record whose handler fails', () => {
  it('comes again, in order, after pauses that grow, and the others of its partition wait', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 4));
    const calls: [number, number][] = [];
    const startedAt = time.now();
    const consumer = open<number>({ handlerRetry: { ...RETRY, maxAttempts: 5 } });
    const { retry } = recordEvents(consumer, 'retry');
    await consumer.run({
      eachMessage: async ({ message }) => {
        calls.push([message.value!, time.now() - startedAt]);
        if (message.value === 1 && calls.length < 5) throw new Error('not now');
      },
    });
    await time.until(() => server.committed('orders', 0) === 4);
    // Half of 1, 2 and 4 s: chance says 0.5.
    const at = (ms: number) => expect.closeTo(ms, -2);
    expect(calls).toEqual([
      [0, at(0)],
      [1, at(0)],
      [1, at(500)],
      [1, at(1_500)],
      [1, at(3_500)],
      [2, at(3_500)],
      [3, at(3_500)],
    ]);
    expect(retry.map(({ attempts, pauseMs, offset }) => [attempts, pauseMs, offset])).toEqual([
      [1, 500, 1],
      [2, 1_000, 1],
      [3, 2_000, 1],
    ]);
  });

  it('is waited for, and loses no attempt, while its effect may be under way by an earlier delivery', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 3));
    const startedAt = time.now();
    const calls: number[] = [];
    const consumer = open<number>({ handlerRetry: RETRY });
    const told = recordEvents(consumer, 'dead.letter', 'crash');
    await consumer.run({
      eachMessage: async ({ message }) => {
        calls.push(message.value!);
        if (message.value === 1 && calls.length < 8) throw new EffectInProgress(message.delivery!, 10_000);
      },
    });
    await time.until(() => server.committed('orders', 0) === 3, 200_000);
    expect(calls).toEqual([0, 1, 1, 1, 1, 1, 1, 1, 2]);
    expect(time.now() - startedAt).toBeGreaterThanOrEqual(60_000);
    expect([told['dead.letter'], told.crash]).toEqual([[], []]);
  });

  it('does not hold up other partitions while it waits', async () => {
    const { time, server, open } = openConsumerBench({ orders: 2 });
    for (const partition of [0, 1]) server.append('orders', partition, ...range(0, 50));
    const consumer = open<number>({ maxRecords: 10, handlerRetry: { ...RETRY, minBackoffMs: 60_000 } });
    await consumer.run({
      eachMessage: async ({ partition }) => {
        if (partition === 0) throw new Error('never');
      },
    });
    await time.until(() => server.committed('orders', 1) === 50, 10_000);
    expect(server.committed('orders', 0)).toBe(0);
  });

  it('becomes a dead letter after its last attempt, with what went wrong, and the partition goes on', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 6));
    const seen: number[] = [];
    const consumer = open<number>({ handlerRetry: RETRY });
    const told = recordEvents(consumer, 'dead.letter', 'crash');
    await consumer.run({
      eachMessage: async ({ message }) => {
        if (message.value === 2) throw new TypeError('x'.repeat(5_000));
        seen.push(message.value!);
      },
    });
    await time.until(() => server.committed('orders', 0) === 6);
    expect(seen).toEqual([0, 1, 3, 4, 5]);
    const letter = { topic: 'orders', partition: 0, offset: 2, attempts: 3, error: { name: 'TypeError' } };
    expect(server.deadLetters).toMatchObject([letter]);
    expect(JSON.stringify(server.deadLetters[0]).length).toBeLessThan(1_500);
    expect(told).toMatchObject({ 'dead.letter': [{ offset: 2, attempts: 3, id: 'dl-1' }], crash: [] });
  });

  it('becomes a dead letter once, though the first answer was lost', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, 'bad', 'good');
    server.fault = ({ act }) => (act === 'dead-letters' && server.of(act).length < 3 ? 'refuse' : undefined);
    const consumer = open<string>({ handlerRetry: { ...RETRY, maxAttempts: 1 } });
    await consumer.run({
      eachMessage: async ({ message }) => {
        if (message.value === 'bad') throw new Error('bad');
      },
    });
    await time.until(() => server.committed('orders', 0) === 2);
    expect(server.deadLetters).toHaveLength(1);
    expect(server.of('dead-letters')).toHaveLength(3);
  });

  it('is told as dropped where its offset was committed before a seek went back', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 4));
    const seen: number[] = [];
    const consumer = open<number>({ handlerRetry: { ...RETRY, maxAttempts: 1 } });
    const told = recordEvents(consumer, 'record.dropped', 'crash');
    await consumer.run({
      eachMessage: async ({ message }) => {
        seen.push(message.value!);
        if (seen.length === 6) throw new Error('now it is bad');
      },
    });
    await time.until(() => server.committed('orders', 0) === 4);
    consumer.seek({ topic: 'orders', partition: 0, offset: 0 });
    await time.until(() => seen.length === 8);
    expect(seen).toEqual([...range(0, 4), ...range(0, 4)]);
    expect(told).toMatchObject({ 'record.dropped': [{ offset: 1, attempts: 1 }], crash: [] });
    expect(server.committed('orders', 0)).toBe(4);
  });

  it('stops the consumer if onFailure is halt: what lies before it is committed, and the group is left', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 6));
    const consumer = open<number>({ handlerRetry: RETRY, onFailure: 'halt' });
    const told = recordEvents(consumer, 'crash', 'stop');
    await consumer.run({
      eachMessage: async ({ message }) => {
        if (message.value === 2) throw new Error('no');
      },
    });
    await time.until(() => told.stop.length === 1);
    expect(told.crash[0]!.error).toMatchObject({ code: 'handler_failed', data: { offset: 2, attempts: 3 } });
    expect(told.stop[0]!.error).toBe(told.crash[0]!.error);
    expect(server.committed('orders', 0)).toBe(2);
    expect(server.members).toEqual([]);
    expect(server.deadLetters).toEqual([]);
  });

  it('stops the consumer when too many before it became dead letters in a row: that is an outage', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 20));
    const consumer = open<number>({ handlerRetry: { ...RETRY, maxAttempts: 1 }, haltAfterDeadLetters: 3 });
    const { stop } = recordEvents(consumer, 'stop');
    await consumer.run({
      eachMessage: async ({ message }) => {
        if (message.value !== 2) throw new Error('database away');
      },
    });
    await time.until(() => stop.length === 1);
    expect(stop[0]!.error).toMatchObject({ code: 'handler_failed', data: { offset: 6 } });
    expect(server.deadLetters.map(({ offset }) => offset)).toEqual([0, 1, 3, 4, 5]);
    expect(server.committed('orders', 0)).toBe(6);
  });
});

describe('a record that no handler can get', () => {
  const DAMAGED = { wire: { error: { code: 'payload_missing' } } };
  const positive = withSchema({
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      validate: (value: unknown) =>
        typeof value === 'number' && value > 0 ? { value } : { issues: [{ message: 'must be above 0' }] },
    },
  });

  it.each([
    ['what its schema refuses', -1, 'ValidationError'],
    ['what is no JSON', { wire: { value: '{', valueEncoding: 'utf8' } }, 'ValidationError'],
    ['what storage has lost', DAMAGED, 'RecordUnreadable'],
  ])('%s: becomes a dead letter at once, in its turn', async (_, value, name) => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, 1, 2, value, 4, null);
    const consumer = open<number>({ codec: positive });
    const batches: (number | null)[][] = [];
    await consumer.run({ eachBatch: async ({ batch }) => void batches.push(batch.messages.map((one) => one.value)) });
    await time.until(() => server.committed('orders', 0) === 5);
    expect(batches).toEqual([
      [1, 2],
      [4, null],
    ]); // a tombstone meets no codec
    expect(server.deadLetters).toMatchObject([{ offset: 2, attempts: 1, error: { name } }]);
  });

  it('halts the consumer if onFailure says so', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, 1, DAMAGED);
    const consumer = open<number>({ onFailure: 'halt' });
    const { stop } = recordEvents(consumer, 'stop');
    await consumer.run({ eachMessage: () => {} });
    await time.until(() => stop.length === 1);
    expect(stop[0]!.error).toMatchObject({ code: 'handler_failed', cause: { code: 'payload_missing' } });
    expect(server.committed('orders', 0)).toBe(1);
  });
});

describe('eachBatch', () => {
  it('gets what a poll brought of one partition, and what it resolves is committed when asked', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 10));
    const consumer = open<number>({ maxRecords: 6, autoCommitIntervalMs: 0 });
    const facts: unknown[] = [];
    await consumer.run({
      eachBatch: async ({ batch, resolveOffset, commitOffsetsIfNecessary, uncommittedOffsets, isRunning, isStale }) => {
        for (const message of batch.messages.slice(0, 3)) resolveOffset(message.offset);
        facts.push([batch.firstOffset(), batch.lastOffset(), uncommittedOffsets()[0]?.offset]);
        await commitOffsetsIfNecessary();
        facts.push([server.committed('orders', 0), uncommittedOffsets(), isRunning(), isStale()]);
      },
    });
    await time.until(() => server.committed('orders', 0) === 10);
    expect(facts).toEqual([
      [0, 5, 3],
      [3, [], true, false],
      [6, 9, 9],
      [9, [], true, false],
    ]);
  });

  it('that fails is halved until the failing record stands alone, and loses no other', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 40));
    const done = new Set<number>();
    let alone = 0;
    const consumer = open<number>({ handlerRetry: RETRY });
    await consumer.run({
      eachBatch: async ({ batch }) => {
        const values = batch.messages.map(({ value }) => value!);
        if (values.includes(23)) {
          if (values.length === 1) alone++;
          throw new Error('23');
        }
        for (const value of values) done.add(value);
      },
    });
    await time.until(() => server.committed('orders', 0) === 40);
    expect([...done]).toEqual(range(0, 40).filter((value) => value !== 23));
    expect(alone).toBe(3);
    expect(server.deadLetters).toMatchObject([{ offset: 23, attempts: 3 }]);
  });

  it('resolves offsets, not their text: the next one to a text is far behind', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 10));
    const refused: unknown[] = [];
    const consumer = open<number>();
    await consumer.run({
      eachBatch: ({ batch, resolveOffset }) => {
        for (const odd of [String(batch.firstOffset()), undefined]) {
          try {
            resolveOffset(odd as never);
          } catch (error) {
            refused.push((error as { code: string }).code);
          }
        }
        resolveOffset(3);
      },
      eachBatchAutoResolve: false,
    });
    await time.until(() => server.committed('orders', 0) === 4);
    expect(refused.slice(0, 2)).toEqual(['invalid_options', 'invalid_options']);
  });

  it('without auto-resolve gets again what it did not resolve, and that is no failure', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 5));
    const seen: number[][] = [];
    const consumer = open<number>();
    const { retry } = recordEvents(consumer, 'retry');
    await consumer.run({
      eachBatchAutoResolve: false,
      eachBatch: async ({ batch, resolveOffset }) => {
        seen.push(batch.messages.map(({ value }) => value!));
        if (seen.length !== 2) resolveOffset(batch.firstOffset() + 1);
      },
    });
    await time.until(() => server.committed('orders', 0) === 5);
    expect(seen).toEqual([range(0, 5), range(2, 5), range(2, 5), [4]]);
    expect(retry).toEqual([]);
  });
});

describe('at most once', () => {
  it('commits before the handler is called, and never calls it twice with one record', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 5));
    const seen: [number, number | null][] = [];
    const consumer = open<number>({ commit: 'beforeProcessing' });
    const { 'record.dropped': dropped } = recordEvents(consumer, 'record.dropped');
    await consumer.run({
      eachMessage: async ({ message }) => {
        seen.push([message.value!, server.committed('orders', 0)]);
        if (message.value === 2) throw new Error('no');
      },
    });
    await time.until(() => seen.length === 5);
    expect(seen).toEqual(range(0, 5).map((value) => [value, value + 1]));
    expect(dropped).toMatchObject([{ offset: 2, attempts: 1, error: { message: 'no' } }]);
    expect(server.deadLetters).toEqual([]);
  });

  it('does not call the handler when the commit is fenced', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, 'a');
    let fenced = false;
    server.fault = ({ act }) => {
      if (act === 'commits' && !fenced) {
        fenced = true;
        server.fence('orders', 0);
      }
      return undefined;
    };
    const seen: (string | null)[] = [];
    const consumer = open<string>({ commit: 'beforeProcessing' });
    const { rebalance } = recordEvents(consumer, 'rebalance');
    await consumer.run({ eachMessage: async ({ message }) => void seen.push(message.value) });
    await time.until(() => seen.length === 1);
    expect(rebalance.flatMap(({ lost }) => lost)).toEqual([{ topic: 'orders', partition: 0 }]);
    expect(server.of('commits')).toHaveLength(2);
  });
});

describe('a commit that another one of the same member has overtaken', () => {
  it('is no refusal', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 3));
    const consumer = open<number>();
    const { 'commit.refused': refused } = recordEvents(consumer, 'commit.refused');
    let seen = 0;
    await consumer.run({ eachMessage: async () => void seen++ });
    const poll = gate();
    let isHeld = false;
    server.fault = async ({ act, body }) => {
      if (act !== 'poll' || body.commit?.length === 0) return undefined;
      isHeld = true;
      await poll.passed;
      return undefined;
    };
    await time.until(() => isHeld);
    server.append('orders', 0, 3);
    await consumer.commitOffsets([{ topic: 'orders', partition: 0, offset: 4 }]);
    poll.open();
    await time.until(() => seen === 4);
    await time.advance(20_000);
    expect(server.committed('orders', 0)).toBe(4);
    expect(refused).toEqual([]);
  });
});

describe('manual commits', () => {
  it('are the only ones', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 5));
    const consumer = open<number>({ commit: 'manual' });
    let seen = 0;
    await consumer.run({ eachMessage: async () => void seen++ });
    await time.until(() => seen === 5);
    await time.advance(60_000);
    expect(server.committed('orders', 0)).toBe(0);
    await consumer.commitOffsets([{ topic: 'orders', partition: 0, offset: 3 }]);
    expect(server.committed('orders', 0)).toBe(3);
    const back = consumer.commitOffsets([{ topic: 'orders', partition: 0, offset: 2 }]);
    await expect(back).rejects.toMatchObject({ code: 'commit_regressed' });
    const other = consumer.commitOffsets([{ topic: 'orders', partition: 7, offset: 2 }]);
    await expect(other).rejects.toMatchObject({ code: 'partition_not_held' });
    const stopping = consumer.stop();
    await time.rest();
    await stopping;
    expect(server.committed('orders', 0)).toBe(3);
  });
});

describe('a handler that does not return', () => {
  it('is given up after processingTimeoutMs: its signal is aborted, the consumer leaves and says why', async () => {
    const { time, server, open } = openConsumerBench({ orders: 2 });
    server.append('orders', 0, ...range(0, 3));
    const consumer = open<number>({ processingTimeoutMs: 60_000 });
    const { stop } = recordEvents(consumer, 'stop');
    let reason: unknown;
    await consumer.run({
      eachMessage: async ({ message, signal }) => {
        if (message.value === 0) return;
        signal.addEventListener('abort', () => {
          reason = signal.reason;
        });
        await gate().passed;
      },
    });
    await time.advance(59_000);
    expect(server.members).toHaveLength(1);
    await time.until(() => stop.length === 1, 5_000);
    expect(stop[0]!.error).toMatchObject({ code: 'processing_timeout', data: { offset: 1, timeoutMs: 60_000 } });
    expect(reason).toMatchObject({ code: 'partition_lost' });
    expect(server.members).toEqual([]);
    expect(server.committed('orders', 0)).toBe(1);
  });

  it('has as long as it wants while it shows signs of life', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, 'long');
    const consumer = open<string>({ processingTimeoutMs: 60_000 });
    await consumer.run({
      eachMessage: async ({ heartbeat }) => {
        for (let i = 0; i < 10; i++) {
          await time.sleep(50_000);
          await heartbeat();
        }
      },
    });
    await time.advance(495_000);
    expect(server.committed('orders', 0)).toBe(0);
    await time.until(() => server.committed('orders', 0) === 1, 20_000);
  });
});

describe('for await', () => {
  it('gives message after message, commits what the loop has come back from, and leaves when it ends', async () => {
    const { time, server, open } = openConsumerBench({ orders: 2 });
    server.append('orders', 0, ...range(0, 3));
    server.append('orders', 1, ...range(3, 6));
    const seen: number[] = [];
    let ended = false;
    const consumer = open<number>();
    const loop = (async () => {
      for await (const { value } of consumer) {
        seen.push(value!);
        if (seen.length === 5) break;
      }
      ended = true;
    })();
    await time.until(() => ended);
    await loop;
    expect(new Set(seen).size).toBe(5);
    expect([server.committed('orders', 0), server.committed('orders', 1)].reduce((sum, n) => sum! + n!, 0)).toBe(4);
    expect(server.members).toEqual([]);
    expect(server.deadLetters).toEqual([]);
  });

  it('throws what the consumer crashes with', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, -1);
    const failing = open<number>({
      onFailure: 'halt',
      codec: { decode: () => Promise.reject(new Error('odd')) },
      handlerRetry: { maxAttempts: 1 },
    });
    const thrown = failing
      .messages()
      .next()
      .catch((error: unknown) => error);
    await time.until(() => server.of('leave').length === 1);
    expect(await thrown).toMatchObject({ code: 'handler_failed', cause: { message: 'odd' } });
  });

  it('ends when it is aborted', async () => {
    const { time, server, open } = openConsumerBench();
    const abort = new AbortController();
    const next = open().messages({ signal: abort.signal }).next();
    await time.advance(5_000);
    abort.abort();
    await time.until(() => server.of('leave').length === 1);
    expect(await next).toMatchObject({ done: true });
  });
});

describe('a handler', () => {
  it('that asks for a commit after each message gets one per interval', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, ...range(0, 5));
    const consumer = open<number>({ commit: 'manual', autoCommitIntervalMs: 5_000 });
    let ended = false;
    await consumer.run({
      eachBatch: async ({ batch, resolveOffset, commitOffsetsIfNecessary }) => {
        await time.sleep(6_000);
        for (const { offset } of batch.messages) {
          resolveOffset(offset);
          await commitOffsetsIfNecessary();
        }
        ended = true;
      },
    });
    await time.until(() => ended);
    expect(server.of('commits').map(({ body }) => body.offsets)).toMatchObject([[{ offset: 1 }]]);
  });

  it('that waits for nothing leaves room for timers', async () => {
    const { server } = openConsumerBench();
    server.append('orders', 0, ...range(0, 400));
    const client = new Vertebra({ endpoint: 'http://127.0.0.1:1', fetch: server.fetch });
    const consumer = client.consumer({ groupId: 'billing' });
    onTestFinished(() => consumer.stop({ timeoutMs: 0 }));
    await consumer.subscribe({ topic: 'orders' });
    let handled = 0;
    let handledAtTimer = 0;
    await consumer.run({
      eachMessage: () => {
        if (handled++ === 0) setTimeout(() => (handledAtTimer = handled), 1);
        for (const until = performance.now() + 1; performance.now() < until; );
      },
    });
    await expect.poll(() => handled, { timeout: 20_000 }).toBe(400);
    expect(handledAtTimer).toBeLessThan(300);
  });

  it('that fails for good while the consumer stops is told of', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, 0);
    const errors: unknown[] = [];
    const logger = { debug() {}, info() {}, warn() {}, error: (_: string, data?: object) => void errors.push(data) };
    const { passed, open: fail } = gate();
    const consumer = open<number>({ onFailure: 'halt', handlerRetry: { maxAttempts: 1 } }, { logger });
    let begun = false;
    await consumer.run({
      eachMessage: async () => {
        begun = true;
        await passed;
        throw new Error('too late');
      },
    });
    await time.until(() => begun);
    const stopped = consumer.stop();
    fail();
    await time.rest();
    await stopped;
    expect(errors).toMatchObject([{ error: { code: 'handler_failed' } }]);
  });
});
