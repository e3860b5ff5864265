import { describe, expect, it } from 'vitest';
import { readBatchAnswer } from '../../../shared/wire/batch-answer.ts';
import { deliveryBatch } from '../../support/deliveries.ts';

const BATCH = deliveryBatch([{ offset: 41 }, { offset: 42 }, { offset: 45 }]);
const failures = (...identifiers: unknown[]) => ({
  batchItemFailures: identifiers.map((itemIdentifier) => ({ itemIdentifier })),
});

describe('the answer to a batch', () => {
  it.each([undefined, null, '', 'OK', 7, true, [], {}, { ok: true }, failures(), { batchItemFailures: null }])(
    '%j names no failure',
    (answer) => expect(readBatchAnswer(answer, BATCH)).toEqual({ kind: 'done' }),
  );

  it.each([
    [failures({ partition: 'orders-3', offset: 42 }), 42],
    [failures('orders-3:42'), 42],
    [failures('orders-3:45', { partition: 'orders-3', offset: 42 }), 42],
    [failures('orders-3:41', 'orders-3:45'), 41],
    [failures('orders-3:41', 'orders-3:41'), 41],
  ])('%j: the lowest record named is the failing one', (answer, at) => {
    expect(readBatchAnswer(answer, BATCH)).toMatchObject({ kind: 'failed', at });
  });

  it.each([
    failures('orders-3:43'),
    failures('orders-3:42', 'orders-3:46'),
    failures('orders-2:42'),
    failures({ partition: 'orders-2', offset: 42 }),
    failures({ partition: 'orders-3', offset: '42' }),
    failures({ partition: 'orders-3', offset: 42.5 }),
    failures({ offset: 42 }),
    failures(null),
    failures(''),
    failures(42),
    { batchItemFailures: {} },
    { batchItemFailures: 'orders-3:42' },
    { batchItemFailures: [null] },
    { batchItemFailures: [{ messageId: 'orders-3:42' }] },
  ])('%j fails the whole batch', (answer) => {
    const verdict = readBatchAnswer(answer, BATCH);
    expect(verdict).toMatchObject({ kind: 'failed', error: { name: 'InvalidAnswer' } });
    expect(verdict).not.toHaveProperty('at');
  });
});
