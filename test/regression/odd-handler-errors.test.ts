import { expect, it, onTestFinished } from 'vitest';
import { HandlerFailed } from '../../client/consumer-errors.ts';
import { Vertebra } from '../../client/vertebra.ts';
import { startLocalBackbone } from '../../local/embedding.ts';
import { gate, recordEvents } from '../support/consumer-bench.ts';

/**
 * Kin of what users of other systems met: the error of a poison record kept the record from being put aside, so that the
 * partition stuck. Here: messages that no UTF-8 stands for, which any cut through an emoji makes, and errors that have no
 * text. Each was refused, or threw, when the dead letter was written; the consumer stopped, and again after each restart.
 */
it('whatever a handler throws, its record becomes a dead letter and the partition goes on', async () => {
  const thrown: [unknown, string, string][] = [
    [new Error('half of \ud83d'), 'Error', 'half of \ufffd'],
    [new Error(`${'x'.repeat(1_023)}😀 and more`), 'Error', 'x'.repeat(1_023)],
    [Object.assign(new Error('no name'), { name: '' }), 'Error', 'no name'],
    [Object.assign(new Error('odd'), { name: undefined, message: { status: 500 } }), 'undefined', '[object Object]'],
    [Object.create(null), 'Error', 'object'],
    [Symbol('why'), 'Error', 'Symbol(why)'],
    [null, 'Error', 'null'],
    ['text\0', 'Error', 'text\0'],
  ];
  const backbone = await startLocalBackbone();
  onTestFinished(() => backbone.dispose());
  const vertebra = new Vertebra({ endpoint: backbone.url });
  const admin = vertebra.admin();
  await admin.createTopics({ topics: [{ topic: 'orders', numPartitions: 1 }] });
  const producer = vertebra.producer();
  await producer.send({ topic: 'orders', messages: [...thrown, 'good'].map((_, value) => ({ value })) });
  await producer.close();

  const consumer = vertebra.consumer<number>({ groupId: 'billing', handlerRetry: { maxAttempts: 1 } });
  onTestFinished(() => consumer.stop({ timeoutMs: 0 }));
  const { crash } = recordEvents(consumer, 'crash');
  await consumer.subscribe({ topic: 'orders' });
  const good = gate();
  consumer.on('crash', good.open);
  await consumer.run({
    eachMessage: ({ message }) => {
      if (message.value! >= thrown.length) return good.open();
      throw thrown[message.value!]![0];
    },
  });
  await good.passed;

  expect(crash).toEqual([]);
  const { deadLetters } = await admin.listDeadLetters({ groupId: 'billing' });
  expect(deadLetters.map(({ error }) => [error.name, error.message])).toEqual(thrown.map(([, ...told]) => told));
});

it('a consumer that is to halt tells of an error without text', () => {
  const failed = new HandlerFailed(
    { topic: 'orders', partition: 0, offset: 7 },
    1,
    'after 1 attempts',
    Object.create(null),
  );
  expect(failed.message).toBe("Record 7 of partition 0 of 'orders' failed after 1 attempts: object");
});
