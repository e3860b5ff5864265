import { describe, expect, it } from 'vitest';
import { InvalidOptions } from '../../../client/errors.ts';
import { type OutboxTableOptions, outboxTableSql, relayOutbox } from '../../../client/relay/index.ts';
import { Vertebra } from '../../../client/vertebra.ts';

describe('the statements of an outbox', () => {
  it('name the table, its lanes and its indexes', () => {
    const sql = outboxTableSql({ table: 'shop.outbox', valueType: 'bytea', lanes: 4 });
    for (const part of [
      'CREATE TABLE "shop"."outbox" (',
      'CREATE TABLE "shop"."outbox_lanes" (',
      'CREATE INDEX "outbox_aside" ON "shop"."outbox"',
      '  value bytea,',
      ' % 4))',
      'generate_series(0, 3)',
    ]) {
      expect(sql).toContain(part);
    }
  });

  it.each([
    [{ table: 'a"; DROP TABLE b; --' }, "'table'"],
    [{ table: 'a.b.c' }, "'table'"],
    [{ table: '' }, "'table'"],
    [{ table: 'x'.repeat(51) }, "'table'"],
    [{ table: 'outbox', lanes: 0 }, "'lanes'"],
    [{ table: 'outbox', valueType: 'xml' }, "'valueType'"],
    [{ table: 'outbox', schema: 'shop' }, "'schema'"],
  ])('are refused for %j', (options, named) => {
    const call = () => outboxTableSql(options as OutboxTableOptions);
    expect(call).toThrow(InvalidOptions);
    expect(call).toThrow(named);
  });
});

describe('a relay', () => {
  const given = { vertebra: new Vertebra({ endpoint: 'http://127.0.0.1:1' }), pool: { query: () => Promise.reject() } };

  it.each([
    [{ vertebra: {} }, "'vertebra'"],
    [{ pool: {} }, "'pool'"],
    [{ table: 'a b' }, "'table'"],
    [{ concurrency: 0 }, "'concurrency'"],
    [{ leaseMs: 10 }, "'leaseMs'"],
    [{ onPoison: 'drop' }, "'onPoison'"],
    [{ metrics: 1 }, "'metrics'"],
    [{ batch: 1 }, "'batch'"],
  ])('is refused for %j before anything is asked', async (odd, named) => {
    const options = { ...given, table: 'outbox', ...odd } as unknown as Parameters<typeof relayOutbox>[0];
    await expect(relayOutbox(options)).rejects.toThrow(named);
  });
});
