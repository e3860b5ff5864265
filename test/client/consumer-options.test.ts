import { describe, expect, it } from 'vitest';
import type { ConsumerOptions } from '../../client/consumer-options.ts';
import { settingsOf } from '../../client/consumer-options.ts';
import { RETRY_DEFAULT } from '../../client/retry.ts';
import { openConsumerBench, recordEvents } from '../support/consumer-bench.ts';

describe('the options of a consumer', () => {
  it('have defaults, and what is undefined counts as not given', () => {
    const settings = settingsOf({ groupId: 'g', maxRecords: undefined } as never, RETRY_DEFAULT);
    expect(settings).toMatchObject({
      ...{ sessionTimeoutMs: 30_000, maxRecords: 500, commit: 'afterProcessing', autoOffsetReset: 'earliest' },
      ...{ processingTimeoutMs: 300_000, longPollMs: 0, onFailure: 'deadLetter', onOutOfRange: 'stay' },
      handlerRetry: { maxAttempts: 5, minBackoffMs: 500, maxBackoffMs: 60_000 },
    });
  });

  it.each<[Partial<ConsumerOptions>, string]>([
    [{ groupId: '' }, "'groupId'"],
    [{ groupId: '..' }, "'groupId'"],
    [{ groupId: 'a/b' }, "'groupId'"],
    [{ groupId: 'x'.repeat(250) }, "'groupId'"],
    [{ instanceId: 'x'.repeat(65) }, "'instanceId'"],
    [{ sessionTimeoutMs: 5_999 }, "'sessionTimeoutMs'"],
    [{ sessionTimeoutMs: 1_800_001 }, "'sessionTimeoutMs'"],
    [{ maxRecords: 0 }, "'maxRecords'"],
    [{ maxRecords: 1_001 }, "'maxRecords'"],
    [{ maxBytes: 1.5 }, "'maxBytes'"],
    [{ minPollMs: 500, maxPollMs: 400 }, "'minPollMs'"],
    [{ longPollMs: 20_001 }, "'longPollMs'"],
    [{ processingTimeoutMs: Number.POSITIVE_INFINITY }, "'processingTimeoutMs'"],
    [{ handlerRetry: { maxAttempts: 0 } }, "'handlerRetry.maxAttempts'"],
    [{ commit: 'sometimes' as never }, "'commit'"],
    [{ autoOffsetReset: 'nearest' as never }, "'autoOffsetReset'"],
    [{ onFailure: 'ignore' as never }, "'onFailure'"],
    [{ onOutOfRange: 'fail' as never }, "'onOutOfRange'"],
    [{ codec: {} as never }, "'codec'"],
    [{ onRevoked: 'log' as never }, "'onRevoked'"],
    [{ retry: { withinMs: -1 } }, "'retry.withinMs'"],
    [{ retry: { retries: 5 } as never }, "no option 'retries'"],
    [{ retry: { maxBackoffMs: '5' as never } }, "'retry.maxBackoffMs'"],
    [{ handlerRetry: { maxBackoffMs: Number.NaN } }, "'handlerRetry.maxBackoffMs'"],
    [{ handlerRetry: { retries: 5 } as never }, "no option 'retries'"],
    [{ sessionTimeout: 30_000 } as never, "no option 'sessionTimeout'"],
  ])('are refused when they are %j', (options, named) => {
    expect(() => settingsOf({ groupId: 'g', ...options }, RETRY_DEFAULT)).toThrow(named);
  });
});

describe('a consumer', () => {
  it('runs one handler, of topics that were named before', async () => {
    const { open } = openConsumerBench({});
    const none = open();
    const eachMessage = () => {};
    await expect(none.run({ eachMessage })).rejects.toThrow('Subscribe to a topic');
    await expect(none.subscribe({ topics: [] })).rejects.toThrow('at least one');
    await none.subscribe({ topic: 'orders' });
    await expect(none.run({})).rejects.toThrow("either 'eachMessage' or 'eachBatch'");
    await expect(none.run({ eachMessage, eachBatch: () => {} })).rejects.toThrow('either');
    await expect(none.run({ eachMessage, partitionsConsumedConcurrently: 0 })).rejects.toThrow('Concurrently');
    await expect(none.run({ eachMessage: 'log' as never })).rejects.toThrow('must be a function');
    await expect(none.run({ eachMessage, autoCommit: false } as never)).rejects.toThrow("no option 'autoCommit'");
    await expect(none.subscribe({ topic: 'orders', fromBeginning: false } as never)).rejects.toThrow('fromBeginning');
    await expect(none.subscribe({ topics: 'orders' as never })).rejects.toThrow('at least one');
    expect(() => none.pause(['orders'] as never)).toThrow('[{ topic, partitions? }]');
    await expect(none.commitOffsets([])).rejects.toThrow('does not run');
  });

  it('runs once at a time', async () => {
    const { open } = openConsumerBench();
    const consumer = open();
    await consumer.run({ eachMessage: () => {} });
    await expect(consumer.run({ eachMessage: () => {} })).rejects.toThrow('runs already');
    await expect(consumer.subscribe({ topic: 'other' })).rejects.toThrow('Subscribe before');
  });

  it('may run again as soon as it tells that it has stopped', async () => {
    const { time, server, open } = openConsumerBench();
    const consumer = open({ retry: { withinMs: 0 } });
    const eachMessage = () => {};
    let again: Promise<void> | undefined;
    consumer.on('stop', ({ error }) => {
      if (error) again = consumer.run({ eachMessage });
    });
    await consumer.run({ eachMessage });
    server.fault = ({ act }) => (act === 'poll' && again === undefined ? 'refuse' : undefined);
    await time.until(() => again !== undefined);
    await again;
    expect(consumer.memberId).toBeDefined();
  });

  it('is not harmed by listeners that throw, nor does it hear from those that went away', async () => {
    const { time, server, open } = openConsumerBench();
    server.append('orders', 0, 1, 2);
    const failures: object[] = [];
    const logger = { debug() {}, info() {}, warn() {}, error: (_: string, data: object) => void failures.push(data) };
    const consumer = open({}, { logger });
    consumer.on('fetch', () => {
      throw new Error('a bad listener');
    });
    const told: unknown[] = [];
    consumer.on('commit', (event) => void told.push(event))();
    const { commit } = recordEvents(consumer, 'commit');
    await consumer.run({ eachMessage: () => {} });
    await time.until(() => server.committed('orders', 0) === 2);
    await time.advance(5_000);
    expect(failures[0]).toMatchObject({ error: { message: 'a bad listener' } });
    expect(commit).toEqual([{ offsets: [{ topic: 'orders', partition: 0, offset: 2 }] }]);
    expect(told).toEqual([]);
  });
});
