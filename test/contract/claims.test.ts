import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Claim, movePin } from '../../shared/domain/claim.ts';
import { Claims } from '../../shared/store/claims.ts';
import { fresh } from '../support/engine.ts';
import { STORE_ENGINES, type StoreEngine } from '../support/store-engines.ts';

const NOW = 1_800_000_000_000;

describe.each(STORE_ENGINES)('on %s, a claim', (_, open) => {
  let engine: StoreEngine;
  let claims: Claims;
  let topicId: string;
  beforeAll(async () => {
    engine = await open();
    claims = new Claims(engine.dynamodb, engine.stateTable);
  });
  afterAll(() => engine.close());
  beforeEach(() => {
    topicId = fresh('topic');
  });

  const pin = (partition: number, id: string) => ({ partition, id: id.repeat(12), base: 40, count: 2, time: NOW - 5 });
  const claimOf = (id: string, lifeS = 3_600): Claim => ({
    fingerprint: 'ab'.repeat(32),
    placement: { partitions: 3, keyless: 1, takenAt: NOW - 7 },
    pins: [pin(0, id), pin(2, id)],
    expiresAt: NOW / 1_000 + lifeS,
  });

  it('comes back as it was made, and is made once', async () => {
    const mine = claimOf('11');
    expect(await claims.make(topicId, 'k', mine, NOW)).toBeUndefined();
    expect(await claims.read(topicId, 'k', NOW)).toEqual(mine);
    expect(await claims.make(topicId, 'k', claimOf('22'), NOW)).toEqual(mine);
    expect(await claims.make(topicId, 'k', mine, NOW)).toBeUndefined(); // a retry recognises itself
  });

  it('belongs to its key and its topic', async () => {
    await claims.make(topicId, 'k', claimOf('11'), NOW);
    expect(await claims.read(topicId, 'K', NOW)).toBeUndefined();
    expect(await claims.read(fresh('topic'), 'k', NOW)).toBeUndefined();
    expect(await claims.make(topicId, 'k '.repeat(120), claimOf('22'), NOW)).toBeUndefined();
  });

  it('dies by the clock, not by its deletion', async () => {
    await claims.make(topicId, 'k', claimOf('11', 10), NOW);
    expect(await claims.read(topicId, 'k', NOW + 9_999)).toBeDefined();
    expect(await claims.read(topicId, 'k', NOW + 10_000)).toBeUndefined();
    expect(await claims.make(topicId, 'k', claimOf('22'), NOW + 9_999)).toMatchObject({ pins: [pin(0, '11'), {}] });
    expect(await claims.make(topicId, 'k', claimOf('22'), NOW + 10_000)).toBeUndefined();
  });

  it('is replaced by compare-and-set, by one of many', async () => {
    const first = claimOf('11');
    await claims.make(topicId, 'k', first, NOW);
    const moves = Array.from({ length: 8 }, (_, i) => movePin(first, pin(2, `3${i}`), first.expiresAt - i));
    const moved = await Promise.all(moves.map((to) => claims.replace(topicId, 'k', first, to)));
    expect(moved.filter(Boolean)).toHaveLength(1);
    const winner = moves[moved.indexOf(true)]!;
    expect(await claims.read(topicId, 'k', NOW)).toEqual(winner);
    expect(await claims.replace(topicId, 'k', first, winner)).toBe(true); // a retry recognises itself
    expect(await claims.replace(topicId, 'k', first, moves.find((move) => move !== winner)!)).toBe(false);
  });

  it('that is gone is not brought back by a move', async () => {
    expect(await claims.replace(topicId, 'k', claimOf('11'), claimOf('22'))).toBe(false);
    expect(await claims.read(topicId, 'k', NOW)).toBeUndefined();
  });
});
