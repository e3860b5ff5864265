import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { DeadLetter } from '../../shared/domain/dead-letter.ts';
import type { Group } from '../../shared/domain/group.ts';
import type { Position, PositionId } from '../../shared/domain/position.ts';
import { DeadLetters } from '../../shared/store/dead-letters.ts';
import { Groups } from '../../shared/store/groups.ts';
import { Positions } from '../../shared/store/positions.ts';
import { STORE_ENGINES, type StoreEngine } from '../support/store-engines.ts';

const NOW = 1_800_000_000_000;
const TOPIC = '01ARZ3NDEKTSV4RRFFQ69G5FAV';

describe.each(STORE_ENGINES)('on %s', (_, open) => {
  let engine: StoreEngine;
  let groups: Groups;
  let positions: Positions;
  beforeAll(async () => {
    engine = await open();
    groups = new Groups(engine.dynamodb, engine.stateTable);
    positions = new Positions(engine.dynamodb, engine.stateTable);
  });
  afterAll(() => engine.close());

  let ids = 0;
  let group: Group;
  let id: PositionId;
  beforeEach(async () => {
    const groupId = (++ids).toString().padStart(26, '0');
    group = { name: `g${ids}`, id: groupId, createdAt: NOW, version: 0, checkAt: NOW, busyUntil: 0 };
    id = { group, topicId: TOPIC, partition: 3 };
    await groups.create(group);
  });

  describe('a position', () => {
    const start: Position = { epoch: 10, committed: 5, owner: 'me' };
    const mine = { owner: 'me', epoch: 10 };

    it('is made once, in a group that is there, and comes back as it was made', async () => {
      const full = { ...start, metadata: 'ü'.repeat(127) };
      const made = await Promise.all([full, { ...full, owner: 'other' }].map((each) => positions.create(id, each)));
      expect(made.filter(Boolean)).toHaveLength(1);
      const found = { ...full, owner: made[0] ? 'me' : 'other' };
      expect(await positions.read(id)).toEqual(found);
      expect(await positions.read(id, false)).toEqual(found);
      await positions.remove(id);
      await positions.remove(id);
      expect(await positions.read(id)).toBeUndefined();
      await groups.delete(group, NOW);
      expect(await positions.create(id, start)).toBe(false);
      const again = { ...group, id: group.id.replace(/^0/, '1') };
      await groups.create(again);
      expect(await positions.create(id, start)).toBe(false);
      expect(await positions.create({ ...id, group: again }, start)).toBe(true);
      expect(await positions.read(id)).toBeUndefined();
    });

    it('is made with others, all or none', async () => {
      const starts = [0, 1, 2].map((partition) => ({ topicId: TOPIC, partition, epoch: 1, committed: partition }));
      expect(await positions.createAll(group, starts)).toBe(true);
      expect(await positions.read({ ...id, partition: 2 })).toEqual({ epoch: 1, committed: 2 });
      const more = [2, 3].map((partition) => ({ topicId: TOPIC, partition, epoch: 1, committed: 9 }));
      expect(await positions.createAll(group, more)).toBe(false);
      expect(await positions.read({ ...id, partition: 3 })).toBeUndefined();
    });

    it('is taken by one of many who saw the same', async () => {
      await positions.create(id, start);
      const owners = ['a', 'b', 'c', 'd'];
      const taken = await Promise.all(owners.map((owner, i) => positions.take(id, start, owner, 20 + i)));
      expect(taken.filter(Boolean)).toHaveLength(1);
      const winner = taken.indexOf(true);
      expect(await positions.read(id)).toEqual({ epoch: 20 + winner, committed: 5, owner: owners[winner] });
      expect(await positions.take(id, start, owners[winner]!, 20 + winner)).toBe(true); // a retry recognises itself
      expect(await positions.commit(id, mine, 6)).toEqual({ epoch: 20 + winner, committed: 5, owner: owners[winner] });
    });

    it('is committed by its owner, forwards, in its epoch, as often as it likes', async () => {
      await positions.create(id, start);
      expect(await positions.commit(id, mine, 7, { metadata: 'one' })).toBe('done');
      expect(await positions.read(id)).toEqual({ ...start, committed: 7, metadata: 'one' });
      expect(await positions.commit(id, mine, 7)).toBe('done');
      expect(await positions.read(id)).toEqual({ ...start, committed: 7 });
      const stands = { ...start, committed: 7 };
      expect(await positions.commit(id, mine, 6)).toEqual(stands);
      expect(await positions.commit(id, { ...mine, epoch: 9 }, 8)).toEqual(stands);
      expect(await positions.commit(id, { ...mine, epoch: 11 }, 8)).toEqual(stands);
      expect(await positions.commit(id, { ...mine, owner: 'other' }, 8)).toEqual(stands);
      expect(await positions.read(id)).toEqual(stands);
      expect(await positions.commit(id, { epoch: 10 }, 8)).toBe('done');
      expect(await positions.read(id)).toEqual({ ...start, committed: 8 });
    });

    it('is released with a commit, which is then a success whenever it is repeated', async () => {
      await positions.create(id, start);
      expect(await positions.commit(id, mine, 7, { release: true, metadata: 'last' })).toBe('done');
      expect(await positions.read(id)).toEqual({ epoch: 10, committed: 7, metadata: 'last' });
      expect(await positions.commit(id, mine, 7, { release: true })).toBe('done');
      expect(await positions.commit(id, mine, 7)).toBe('done');
      expect(await positions.commit(id, mine, 8)).toEqual({ epoch: 10, committed: 7, metadata: 'last' });
      await positions.take(id, { epoch: 10, committed: 7 }, 'other', 11);
      expect(await positions.commit(id, mine, 7)).toMatchObject({ epoch: 11 });
    });

    it('is released by its owner alone, in its epoch', async () => {
      await positions.create(id, start);
      await positions.release(id, { ...mine, owner: 'other' });
      await positions.release(id, { ...mine, epoch: 9 });
      expect(await positions.read(id)).toEqual(start);
      await positions.release(id, mine);
      await positions.release(id, mine);
      expect(await positions.read(id)).toEqual({ epoch: 10, committed: 5 });
    });

    it('is changed from outside by one of many, which fences its owner', async () => {
      await positions.create(id, { ...start, metadata: 'old' });
      const seen = { ...start, metadata: 'old' };
      const changes = [30, 31, 32].map((epoch) => ({ committed: 0, epoch }));
      const changed = await Promise.all(changes.map((to) => positions.change(id, seen, to)));
      expect(changed.filter(Boolean)).toHaveLength(1);
      const winner = changes[changed.indexOf(true)]!;
      expect(await positions.read(id)).toEqual(winner);
      expect(await positions.change(id, seen, winner)).toBe(true); // a retry recognises itself
      expect(await positions.commit(id, mine, 9)).toEqual(winner);
      expect(await positions.change(id, winner, { committed: 2, epoch: 40, metadata: 'new' })).toBe(true);
      expect(await positions.read(id)).toEqual({ committed: 2, epoch: 40, metadata: 'new' });
    });

    it('that its owner moved on since is neither changed nor taken: what was seen is no longer so', async () => {
      await positions.create(id, start);
      await positions.commit(id, mine, 9);
      expect(await positions.take(id, start, 'other', 30)).toBe(false);
      expect(await positions.change(id, start, { committed: 6, epoch: 30 })).toBe(false);
      expect(await positions.read(id)).toEqual({ ...start, committed: 9 });
    });

    it('that is gone is not brought back by anything', async () => {
      expect(await positions.take(id, start, 'me', 11)).toBe(false);
      expect(await positions.commit(id, mine, 6)).toBeUndefined();
      await positions.release(id, mine);
      expect(await positions.change(id, start, { committed: 1, epoch: 11 })).toBe(false);
      expect(await positions.read(id)).toBeUndefined();
    });
  });

  describe('a dead letter', () => {
    let letters: DeadLetters;
    beforeEach(() => {
      letters = new DeadLetters(engine.dynamodb, engine.stateTable);
    });
    const letterOf = (partition: number, offset: number): DeadLetter => ({
      topicId: TOPIC,
      partition,
      offset,
      topic: 'orders',
      payload: { bytes: Uint8Array.from([0, 1, 255]) },
      error: { name: 'TypeError', message: 'x is not a function' },
      attempts: 3,
      redrives: 0,
      firstFailedAt: NOW - 9,
      deadLetteredAt: NOW,
    });

    it('comes back as it was stored first', async () => {
      const small = letterOf(3, 41);
      await letters.put(group, small);
      await letters.put(group, { ...small, attempts: 4, deadLetteredAt: NOW + 1 });
      expect(await letters.read(group, small)).toEqual(small);
      const large = { ...letterOf(3, 42), payload: { object: { size: 300_000, sha256: 'ab'.repeat(32) } } };
      await letters.put(group, large);
      expect(await letters.read(group, large)).toEqual(large);
      expect(await letters.read(group, letterOf(3, 43))).toBeUndefined();
    });

    it('is listed by topic, partition and offset, in pages', async () => {
      const all = [letterOf(2, 9), letterOf(10, 8), letterOf(10, 70), letterOf(10, 600)];
      const other = { ...letterOf(0, 1), topicId: '01BX5ZZKBKACTAV9WEVGEMMVRY', topic: 'mails' };
      for (const letter of [...all.toReversed(), other]) await letters.put(group, letter);
      expect((await letters.list(group, { limit: 10 })).items).toEqual([...all, other]);
      expect((await letters.list(group, { limit: 10, of: { topicId: TOPIC } })).items).toEqual(all);
      const of = { topicId: TOPIC, partition: 10 };
      const { items, next } = await letters.list(group, { limit: 2, of });
      expect(items).toEqual(all.slice(1, 3));
      expect((await letters.list(group, { limit: 2, of, after: next! })).items).toEqual(all.slice(3));
      expect((await letters.list(group, { limit: 2, of: { topicId: TOPIC, partition: 1 } })).items).toEqual([]);
    });

    it('is deleted once', async () => {
      const letter = letterOf(3, 41);
      await letters.put(group, letter);
      expect(await letters.delete(group, letter)).toBe(true);
      expect(await letters.delete(group, letter)).toBe(false);
      expect((await letters.list(group, { limit: 10 })).items).toEqual([]);
    });
  });
});
