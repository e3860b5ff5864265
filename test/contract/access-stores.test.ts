import { GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { API_KEY_EXPIRED_SHOWN_MS } from '../../shared/domain/access-limits.ts';
import type { ApiKey } from '../../shared/domain/api-key.ts';
import { UnknownLayout } from '../../shared/domain/errors.ts';
import type { Rights } from '../../shared/domain/rights.ts';
import { apiKeyKey, grantsKey } from '../../shared/store/access-keys.ts';
import { ApiKeys } from '../../shared/store/api-keys.ts';
import { Grants } from '../../shared/store/grants.ts';
import { itemKey } from '../../shared/store/item-key.ts';
import type { StateKey } from '../../shared/store/keys.ts';
import { STORE_ENGINES, type StoreEngine } from '../support/store-engines.ts';

const PRODUCE: readonly Rights[] = [{ topics: 'orders-*', allow: ['produce'] }];
const CONSUME: readonly Rights[] = [{ topics: 'a', groups: 'g', targets: '*', allow: ['consume', 'admin'] }];

describe.each(STORE_ENGINES)('on %s', (_, open) => {
  let engine: StoreEngine;
  let apiKeys: ApiKeys;
  let grants: Grants;
  beforeAll(async () => {
    engine = await open();
    apiKeys = new ApiKeys(engine.dynamodb, engine.stateTable);
    grants = new Grants(engine.dynamodb, engine.stateTable);
  });
  afterAll(() => engine.close());
  let ids = 0;
  let key: ApiKey;
  let principal: string;
  beforeEach(() => {
    const id = (++ids).toString().padStart(26, '0');
    key = { id, name: 'shop', hash: 'ab'.repeat(32), rights: PRODUCE, createdAt: 1, createdBy: 'user:1:a' };
    principal = `role:111122223333:R${ids}`;
  });
  const itemAt = async (at: StateKey) =>
    (await engine.dynamodb.send(new GetItemCommand({ TableName: engine.stateTable, Key: itemKey(at) }))).Item;

  /** As a later version of the backbone would leave it. @returns whatever is tried is refused, and changes nothing */
  async function isLeftAlone(at: StateKey, acts: readonly (() => Promise<unknown>)[]): Promise<void> {
    await engine.dynamodb.send(
      new UpdateItemCommand({
        ...{ TableName: engine.stateTable, Key: itemKey(at), UpdateExpression: 'SET v = :later' },
        ExpressionAttributeValues: { ':later': { N: '2' } },
      }),
    );
    const before = await itemAt(at);
    for (const act of acts) await expect(act()).rejects.toBeInstanceOf(UnknownLayout);
    expect(await itemAt(at)).toEqual(before);
    await engine.dynamodb.send(
      new UpdateItemCommand({
        ...{ TableName: engine.stateTable, Key: itemKey(at), UpdateExpression: 'SET v = :known' },
        ExpressionAttributeValues: { ':known': { N: '1' } },
      }),
    );
  }

  describe('an API key', () => {
    it('is read and listed as it was made, and gone when it is deleted', async () => {
      const ending = { ...key, id: `${key.id.slice(0, -1)}Z`, rights: CONSUME, expiresAt: 1_800_000_000_500 };
      for (const one of [key, ending]) {
        await apiKeys.create(one);
        await apiKeys.create(one);
        expect(await apiKeys.read(one.id, true)).toEqual(one);
      }
      const first = await apiKeys.list(1);
      expect(first).toEqual({ items: [key], next: key.id });
      expect(await apiKeys.list(10, first.next)).toEqual({ items: [ending] });
      const ttl = Number((await itemAt(apiKeyKey(ending.id)))?.expiresAt?.N);
      expect(ttl * 1_000).toBeGreaterThanOrEqual(ending.expiresAt + API_KEY_EXPIRED_SHOWN_MS);
      expect(await itemAt(apiKeyKey(key.id))).not.toHaveProperty('expiresAt');
      for (const { id } of [key, ending]) {
        expect(await apiKeys.delete(id)).toBe(true);
        expect(await apiKeys.delete(id)).toBe(false);
        expect(await apiKeys.read(id, true)).toBeUndefined();
      }
      expect(await apiKeys.list()).toEqual({ items: [] });
    });

    it('of a layout that is not known is refused, and left as it is', async () => {
      await apiKeys.create(key);
      await isLeftAlone(apiKeyKey(key.id), [
        () => apiKeys.read(key.id, true),
        () => apiKeys.list(),
        () => apiKeys.delete(key.id),
      ]);
      await apiKeys.delete(key.id);
    });
  });

  describe('a grant', () => {
    it('adds to what a principal has, is changed under its id, and taken back alone', async () => {
      expect(await grants.of(principal, true)).toEqual([]);
      await grants.put(principal, 'Shop/Grant.1', PRODUCE);
      await grants.put(principal, 'other', CONSUME);
      expect(new Set(await grants.of(principal, true))).toEqual(new Set([...PRODUCE, ...CONSUME]));
      await grants.put(principal, 'Shop/Grant.1', CONSUME);
      await grants.put(principal, 'Shop/Grant.1', CONSUME);
      expect(await grants.of(principal, true)).toEqual([...CONSUME, ...CONSUME]);
      await grants.delete(principal, 'other');
      await grants.delete(principal, 'other');
      expect(await grants.of(principal, true)).toEqual(CONSUME);
      await grants.delete(principal, 'Shop/Grant.1');
      expect(await grants.of(principal, true)).toEqual([]);
      await grants.delete('role:111122223333:Nobody', 'any');
      expect(await itemAt(grantsKey('role:111122223333:Nobody'))).toBeUndefined();
    });

    it('is nobody else’s, whatever their names have in them', async () => {
      const names = ['sub:a#b', 'sub:a%23b', 'sub:a', 'sub:a:b', 'sub:a%3Ab', 'sub:a/b', 'sub:a b', 'sub:A'];
      for (const [i, name] of names.entries()) await grants.put(name, 'g', [{ topics: `t${i}`, allow: ['produce'] }]);
      for (const [i, name] of names.entries()) {
        expect([name, await grants.of(name, true)]).toEqual([name, [{ topics: `t${i}`, allow: ['produce'] }]]);
      }
      expect(grantsKey('sub:a#b').pk).toBe('grants#sub:a%23b');
    });

    it('of a layout that is not known is refused, and left as it is', async () => {
      await grants.put(principal, 'g', PRODUCE);
      await isLeftAlone(grantsKey(principal), [
        () => grants.of(principal, true),
        () => grants.put(principal, 'g', CONSUME),
        () => grants.put(principal, 'h', CONSUME),
        () => grants.delete(principal, 'g'),
      ]);
    });
  });
});
