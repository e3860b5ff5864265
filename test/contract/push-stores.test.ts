import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type DeadLetter, landedAgain } from '../../shared/domain/dead-letter.ts';
import type { Group } from '../../shared/domain/group.ts';
import type { PositionId, PushState } from '../../shared/domain/position.ts';
import type { Pending, Subscriber } from '../../shared/domain/wake-up.ts';
import { DeadLetters } from '../../shared/store/dead-letters.ts';
import { Groups } from '../../shared/store/groups.ts';
import { Lanes } from '../../shared/store/lanes.ts';
import { PendingPositions } from '../../shared/store/pending.ts';
import { Positions } from '../../shared/store/positions.ts';
import { PushPositions } from '../../shared/store/push-positions.ts';
import { Redrives } from '../../shared/store/redrives.ts';
import { Subscribers } from '../../shared/store/subscribers.ts';
import { Touched } from '../../shared/store/touched.ts';
import { STORE_ENGINES, type StoreEngine } from '../support/store-engines.ts';

const NOW = 1_800_000_000_000;
const TOPIC = '01ARZ3NDEKTSV4RRFFQ69G5FAV';

describe.each(STORE_ENGINES)('on %s', (_, open) => {
  let engine: StoreEngine;
  let positions: Positions;
  let push: PushPositions;
  beforeAll(async () => {
    engine = await open();
    positions = new Positions(engine.dynamodb, engine.stateTable);
    push = new PushPositions(engine.dynamodb, engine.stateTable);
  });
  afterAll(() => engine.close());

  let ids = 0;
  let group: Group;
  let id: PositionId;
  beforeEach(async () => {
    const groupId = (++ids).toString().padStart(26, '0');
    group = { name: `g${ids}`, id: groupId, createdAt: NOW, version: 0, checkAt: NOW, busyUntil: 0 };
    id = { group, topicId: TOPIC, partition: 3 };
  });

  describe('a parked key', () => {
    const [LANE, OTHER] = ['00112233445566ff', 'ffeeddccbbaa9900'];
    const mine = { owner: 'run', epoch: 11 };
    const about = { key: new Uint8Array([75, 0, 255]), keyBytes: 3, parkedAt: NOW };
    const failure = { retryAt: NOW + 9, attempts: 2, absences: 0, span: 1, end: 6, firstFailedAt: NOW };
    const lane = { epoch: NOW, committed: 5, push: { failure, isSlow: true }, about };
    let lanes: Lanes;
    let to: Subscriber;
    const laneId = (name = LANE) => ({ ...id, lane: name });
    const marks = async () => {
      const pending = new PendingPositions(engine.dynamodb, engine.stateTable);
      return (await pending.lanesOf(group, 100)).items;
    };
    const step = { committed: 6, epoch: 12, until: NOW + 2_000, push: { passed: new Map([[LANE, 1]]) } };
    beforeEach(async () => {
      lanes = new Lanes(engine.dynamodb, engine.stateTable, positions);
      to = { group: { name: group.name, id: group.id }, topic: 't', known: 8 };
      await new Groups(engine.dynamodb, engine.stateTable).create(group);
      await positions.create(id, { epoch: 10, committed: 5 });
      await push.take(id, { epoch: 10, committed: 5 }, { owner: 'run', epoch: 11, until: NOW + 1_000, now: NOW });
    });

    it('is passed over, and has a lane and a mark: all of it, or nothing', async () => {
      expect(await lanes.park(to, laneId(), { ...mine, epoch: 10 }, step, lane)).toBe(false);
      expect(await positions.read(laneId())).toBeUndefined();
      expect(await marks()).toEqual([]);
      expect(await lanes.park(to, laneId(), mine, step, lane)).toBe(true);
      expect(await positions.read(id)).toEqual({ ...step, owner: 'run', parked: new Set([LANE]) });
      expect(await positions.read(laneId())).toEqual(lane);
      expect(await lanes.list(id)).toEqual([{ ...lane, lane: LANE }]);
      expect(await marks()).toEqual([{ topicId: TOPIC, partition: 3, lane: LANE, to, dueAt: NOW }]);
    });

    it('stays parked whatever its position is stepped to, and has its own owner', async () => {
      await lanes.park(to, laneId(), mine, step, lane);
      expect(await push.take(laneId(), lane, { owner: 'lane', epoch: NOW + 1, until: NOW + 5, now: NOW })).toBe(true);
      await push.step(id, { owner: 'run', epoch: 12 }, { committed: 9, epoch: 12, push: {} });
      expect(await positions.read(id)).toEqual({ committed: 9, epoch: 12, push: {}, parked: new Set([LANE]) });
      const went = { committed: 8, epoch: NOW + 1, push: { settled: 2, isReady: true } };
      expect(await push.step(laneId(), { owner: 'lane', epoch: NOW + 1 }, went)).toBe(true);
      expect(await positions.read(laneId())).toEqual({ ...went, about });
    });

    it('comes back where both are their owners’, once, and not where the position has gone on', async () => {
      await lanes.park(to, laneId(), mine, step, lane);
      await lanes.park(to, laneId(OTHER), { owner: 'run', epoch: 12 }, { ...step, committed: 7, epoch: 13 }, lane);
      await push.take(laneId(), lane, { owner: 'run2', epoch: NOW + 1, until: NOW + 5, now: NOW });
      const [by, its] = [
        { owner: 'run', epoch: 13 },
        { owner: 'run2', epoch: NOW + 1 },
      ];
      const to14 = { committed: 7, epoch: 14, until: NOW + 3_000, push: { isSlow: true } };
      expect(await lanes.handBack(laneId(), by, { ...to14, committed: 6 }, its)).toBe(false);
      expect(await lanes.handBack(laneId(), { ...by, epoch: 12 }, to14, its)).toBe(false);
      expect(await lanes.handBack(laneId(), by, to14, { ...its, owner: 'run' })).toBe(false);
      expect((await positions.read(id))?.parked).toEqual(new Set([LANE, OTHER]));
      expect(await lanes.handBack(laneId(), by, to14, its)).toBe(true);
      // In another epoch: who read it before, and takes it, would pass the key over.
      expect(await positions.read(id)).toMatchObject({ ...to14, owner: 'run', parked: new Set([OTHER]) });
      expect(await positions.read(laneId())).toBeUndefined();
      expect((await marks()).map((mark) => mark.lane)).toEqual([OTHER]);
      expect(await lanes.handBack(laneId(), by, to14, its)).toBe(false);
    });

    it('is parked no more after a seek, and gone with its position', async () => {
      await lanes.park(to, laneId(), mine, step, lane);
      const seen = (await positions.read(id))!;
      expect(await positions.change(id, { ...seen, epoch: 11 }, { committed: 0, epoch: 20 })).toBe(false);
      expect(await positions.read(laneId())).toBeDefined();
      const kept = { committed: 6, epoch: 20, parked: seen.parked!, push: { passed: new Map([[LANE, 1]]) } };
      expect(await positions.change(id, seen, kept)).toBe(true);
      expect(await positions.read(id)).toEqual(kept);
      expect(await positions.change(id, kept, { committed: 0, epoch: 30 })).toBe(true);
      expect(await positions.read(id)).toEqual({ committed: 0, epoch: 30 });
      expect([await positions.read(laneId()), await marks()]).toEqual([undefined, []]);
      await push.take(id, { committed: 0, epoch: 30 }, { owner: 'run', epoch: 31, until: NOW + 1, now: NOW });
      await lanes.park(to, laneId(), { owner: 'run', epoch: 31 }, { ...step, epoch: 32 }, lane);
      await positions.remove(id);
      expect([await positions.read(laneId()), await marks()]).toEqual([undefined, []]);
    });

    it('is found by its mark, by itself or among those of its group', async () => {
      const pending = new PendingPositions(engine.dynamodb, engine.stateTable);
      const mark = { topicId: TOPIC, partition: 3, lane: LANE, to, dueAt: NOW };
      await lanes.park(to, laneId(), mine, step, lane);
      await pending.put({ topicId: TOPIC, partition: 3, to, dueAt: 1 });
      await pending.put({ topicId: TOPIC, partition: 4, isRedrive: true, to, dueAt: 1 });
      expect(await pending.ofLane(laneId())).toEqual(mark);
      expect(await pending.ofLane(laneId(OTHER))).toBeUndefined();
      const pages = [];
      for (let after: string | undefined; ; ) {
        const { items, next } = await pending.lanesOf(group, 1, after);
        pages.push(...items);
        after = next;
        if (after === undefined) break;
      }
      expect(pages).toEqual([mark]);
      // Wherever another group's page ended, this one's goes on within its own.
      for (const after of ['!', '~']) {
        const items = after === '!' ? [mark] : [];
        expect(await pending.lanesOf(group, 100, after)).toEqual({ items });
      }
    });

    it('is given up at the record that it is at, and not when it is past it', async () => {
      await lanes.park(to, laneId(), mine, step, lane);
      expect(await lanes.giveUp(laneId(), 4)).toBe(false);
      expect(await lanes.giveUp(laneId(OTHER), 5)).toBe(false);
      expect(await lanes.giveUp(laneId(), 5)).toBe(true);
      expect(await positions.read(laneId())).toEqual({ ...lane, about: { ...about, giveUp: 5 } });
      await lanes.remove(laneId(), NOW - 1);
      expect(await positions.read(laneId())).toBeDefined();
      await lanes.remove(laneId(), NOW);
      await lanes.remove(laneId(), NOW);
      expect([await positions.read(laneId()), await marks()]).toEqual([undefined, []]);
    });
  });

  describe('a position of a subscription', () => {
    const start = { epoch: 10, committed: 5 };
    const by = { owner: 'run', epoch: 11, until: NOW + 1_000, now: NOW };
    const mine = { owner: 'run', epoch: 11 };
    const failed: PushState = {
      failure: { retryAt: NOW + 9, attempts: 2, absences: 1, span: 50, end: 105, firstFailedAt: NOW },
      deadLettersInARow: 3,
      isSlow: true,
      expired: 7,
      lastError: { name: 'ü', message: '', at: NOW },
    };
    beforeEach(async () => {
      await new Groups(engine.dynamodb, engine.stateTable).create(group);
      await positions.create(id, start);
    });

    it('is taken by one of many runs, once more when its time is up, and not before', async () => {
      const owners = ['a', 'b', 'c', 'd'].map((owner) => ({ ...by, owner }));
      const taken = await Promise.all(owners.map((each) => push.take(id, start, each)));
      expect(taken.filter(Boolean)).toHaveLength(1);
      const seen = (await positions.read(id))!;
      expect(seen).toEqual({ epoch: 11, committed: 5, owner: owners[taken.indexOf(true)]!.owner, until: NOW + 1_000 });
      const next = { owner: 'next', epoch: 12, until: NOW + 9_000, now: NOW + 1_000 };
      expect(await push.take(id, seen, next)).toBe(false);
      expect(await push.take(id, { ...seen, committed: 4 }, { ...next, now: NOW + 1_001 })).toBe(false);
      expect(await push.take(id, seen, { ...next, now: NOW + 1_001 })).toBe(true);
      expect(await push.step(id, { ...mine, owner: seen.owner! }, { committed: 6, epoch: 11, push: {} })).toBe(false);
    });

    it('keeps what failed, to the letter, until it is told otherwise', async () => {
      await push.take(id, start, by);
      expect(await push.step(id, mine, { committed: 6, epoch: 12, push: failed })).toBe(true);
      expect(await positions.read(id)).toEqual({ epoch: 12, committed: 6, push: failed });
      const again = { ...by, epoch: 13 };
      expect(await push.take(id, { epoch: 12, committed: 6 }, again)).toBe(true);
      expect(await positions.read(id)).toMatchObject({ push: failed });
      const went = { committed: 9, epoch: 13, until: NOW + 5_000, push: {} };
      expect(await push.step(id, { owner: 'run', epoch: 13 }, went)).toBe(true);
      expect(await positions.read(id)).toEqual({ ...went, owner: 'run' });
    });

    it('is not stepped back, nor by anybody else, nor after a seek, which forgets what failed', async () => {
      await push.take(id, start, by);
      // Told where it is: whoever was called may have moved it.
      expect(await push.step(id, mine, { committed: 4, epoch: 11, push: {} })).toEqual({ committed: 5 });
      expect(await positions.read(id)).toMatchObject({ committed: 5, owner: by.owner });
      expect(await push.step(id, { ...mine, owner: 'x' }, { committed: 6, epoch: 11, push: {} })).toBe(false);
      expect(await push.step(id, mine, { committed: 5, epoch: 11, until: NOW + 2_000, push: failed })).toBe(true);
      const seen = (await positions.read(id))!;
      expect(await positions.change(id, seen, { committed: 2, epoch: 20 })).toBe(true);
      expect(await positions.read(id)).toEqual({ committed: 2, epoch: 20 });
      expect(await push.step(id, mine, { committed: 6, epoch: 11, push: {} })).toBe(false);
      await positions.remove(id);
      expect(await push.take(id, start, by)).toBe(false);
      expect(await push.step(id, mine, { committed: 6, epoch: 11, push: {} })).toBe(false);
      expect(await positions.read(id)).toBeUndefined();
    });
  });

  describe('who subscribed to a topic', () => {
    it('is listed once per incarnation of a subscription, until that one is taken off', async () => {
      const subscribers = new Subscribers(engine.dynamodb, engine.stateTable);
      const topicId = `01ARZ3NDEKTSV4RRFFQ69G5F${String(ids).padStart(2, '0')}`;
      const one: Subscriber = { group: { name: group.name, id: group.id }, topic: 'orders', known: 8 };
      const other: Subscriber = { ...one, group: { name: `${group.name}-b`, id: group.id } };
      expect(await subscribers.of(topicId)).toEqual([]);
      for (const each of [other, one, { ...one, known: 9 }]) await subscribers.put(topicId, each);
      expect(await subscribers.of(topicId)).toEqual([one, other]);
      const again = { ...one, group: { ...one.group, id: group.id.replace(/^0/, '1') }, known: 9 };
      await subscribers.put(topicId, again);
      await subscribers.remove(topicId, one.group);
      expect(await subscribers.of(topicId)).toEqual([again, other]);
      for (const { group } of [again, other]) await subscribers.remove(topicId, group);
      expect(await subscribers.of(topicId)).toEqual([]);
    });
  });

  it('a partition that grew is listed once in its hour', async () => {
    const touched = new Touched(engine.dynamodb, engine.stateTable);
    const partitions = [2, 10, 2].map((partition) => ({ topicId: TOPIC, partition }));
    for (const partition of partitions) await touched.note(partition, 500_000 + ids, NOW);
    const first = await touched.list(500_000 + ids, 1);
    const rest = await touched.list(500_000 + ids, 100, first.next);
    expect([...first.items, ...rest.items]).toEqual([partitions[1], partitions[0]]);
    expect((await touched.list(400_000 + ids, 100)).items).toEqual([]);
  });

  it('a pending position is listed until what was seen of it is done', async () => {
    const pending = new PendingPositions(engine.dynamodb, engine.stateTable);
    const to: Subscriber = { group: { name: group.name, id: group.id }, topic: 'orders', known: 8 };
    const mark: Pending = { topicId: TOPIC, partition: 3, to, dueAt: NOW };
    const own = async () => (await pending.list(1_000)).items.filter((each) => each.to.group.id === group.id);
    await pending.put(mark);
    await pending.put({ ...mark, dueAt: NOW + 1 });
    await pending.remove(mark);
    expect(await own()).toEqual([{ ...mark, dueAt: NOW + 1 }]);
    await pending.remove({ ...mark, dueAt: NOW + 1 });
    expect(await own()).toEqual([]);
  });

  it('a mark for redrives stands beside that of its position', async () => {
    const pending = new PendingPositions(engine.dynamodb, engine.stateTable);
    const to: Subscriber = { group: { name: group.name, id: group.id }, topic: 'orders', known: 8 };
    const mark: Pending = { topicId: TOPIC, partition: 3, to, dueAt: NOW };
    const redrive: Pending = { ...mark, isRedrive: true };
    for (const each of [redrive, mark]) await pending.put(each);
    const own = async () => (await pending.list(1_000)).items.filter((each) => each.to.group.id === group.id);
    expect(await own()).toEqual([mark, redrive]);
    await pending.remove(mark);
    expect(await own()).toEqual([redrive]);
    await pending.remove(redrive);
  });

  describe('a dead letter that is given back', () => {
    const error = { name: 'Error', message: 'no' };
    let letters: DeadLetters;
    let redrives: Redrives;
    let letter: DeadLetter;
    beforeEach(async () => {
      letters = new DeadLetters(engine.dynamodb, engine.stateTable);
      redrives = new Redrives(engine.dynamodb, engine.stateTable);
      letter = {
        ...{
          topicId: TOPIC,
          partition: 3,
          offset: 41,
          topic: 'orders',
          payload: { bytes: new Uint8Array([1]) },
          error,
        },
        ...{ attempts: 5, redrives: 0, firstFailedAt: NOW, deadLetteredAt: NOW },
      };
      await letters.put(group, letter);
    });
    const first = () => redrives.first(group, letter);
    const place = { topicId: TOPIC, partition: 3, offset: 41 };

    it('is found by its partition, at its time, until it has landed or is gone', async () => {
      expect(await first()).toBeUndefined();
      expect(await redrives.begin(group, letter, NOW + 1)).toBe(true);
      expect(await first()).toEqual({ ...place, at: NOW + 1 });
      expect(await redrives.first(group, { topicId: TOPIC, partition: 4 })).toBeUndefined();
      expect(await letters.read(group, letter)).toEqual({ ...letter, redriveAt: NOW + 1 });
      await redrives.postpone(group, letter, NOW + 2);
      expect(await first()).toEqual({ ...place, at: NOW + 2 });
      const landed = landedAgain({ ...letter, redriveAt: NOW }, { name: 'Other', message: '' }, NOW + 3);
      for (let times = 0; times < 2; times++) await redrives.land(group, landed, {});
      expect(await letters.read(group, letter)).toEqual(landed);
      expect(landed).toMatchObject({ redrives: 1, attempts: 6, history: [{ error, deadLetteredAt: NOW }] });
      expect(await first()).toBeUndefined();
      await redrives.begin(group, letter, NOW);
      expect(await redrives.end(group, letter, {})).toBe(true);
      expect(await redrives.end(group, letter, {})).toBe(false);
      expect(await first()).toBeUndefined();
      expect(await letters.read(group, letter)).toBeUndefined();
    });

    it('is ended only as it was seen: by the epoch that it was given to, or as it was marked', async () => {
      await redrives.begin(group, letter, NOW);
      const entry = (await first())!;
      expect(await redrives.give(group, entry, 7, NOW + 5)).toBe(true);
      expect(await redrives.give(group, entry, 8, NOW + 5)).toBe(false);
      const given = { ...place, at: NOW + 5, given: { epoch: 7, times: 1 } };
      expect(await redrives.read(group, letter)).toEqual(given);
      expect(await redrives.give(group, given, 8, NOW + 6)).toBe(true);
      expect(await redrives.list(group, 5)).toEqual([{ ...place, at: NOW + 6, given: { epoch: 8, times: 2 } }]);
      expect(await redrives.end(group, letter, { epoch: 7 })).toBe(false);
      expect(await redrives.land(group, letter, { epoch: 7 })).toBe(false);
      expect(await redrives.end(group, letter, { redriveAt: NOW + 1 })).toBe(false);
      await redrives.begin(group, letter, NOW + 2);
      expect(await first()).toMatchObject({ at: NOW + 2, given: { epoch: 8 } });
      expect(await redrives.end(group, letter, { epoch: 8 })).toBe(true);
      expect(await first()).toBeUndefined();
    });

    it('has what it was corrected to, which takes it from who had it, and may be taken back', async () => {
      const object = { object: { size: 3, sha256: 'ab'.repeat(32) } };
      for (const correction of [{ bytes: new Uint8Array([2]) }, object]) {
        await redrives.begin(group, letter, NOW);
        await redrives.give(group, (await first())!, 7, NOW);
        await redrives.begin(group, letter, NOW, correction);
        expect(await letters.read(group, letter)).toEqual({ ...letter, redriveAt: NOW, correction });
        expect(await redrives.end(group, letter, { epoch: 7 })).toBe(false);
      }
      await redrives.recall(group, letter);
      expect(await first()).toBeUndefined();
      expect(await letters.read(group, letter)).toEqual({ ...letter, correction: object });
      await redrives.begin(group, letter, NOW, null);
      expect(await letters.read(group, letter)).toEqual({ ...letter, redriveAt: NOW });
    });

    it('is not, once it is deleted: nothing that comes late brings it back', async () => {
      await redrives.begin(group, letter, NOW);
      expect(await letters.delete(group, { ...letter, redriveAt: NOW })).toBe(true);
      expect(await first()).toBeUndefined();
      expect(await redrives.begin(group, letter, NOW)).toBe(false);
      await redrives.postpone(group, letter, NOW + 1);
      await redrives.land(group, letter, {});
      expect(await first()).toBeUndefined();
      expect(await letters.read(group, letter)).toBeUndefined();
    });

    it('remembers the last ten failures', async () => {
      let often = letter;
      for (let i = 0; i < 12; i++) often = landedAgain(often, { name: `${i}`, message: '' }, NOW + i);
      expect(often).toMatchObject({ redrives: 12, attempts: 17, error: { name: '11' } });
      expect(often.history?.map(({ error: { name } }) => name)).toEqual([...'123456789', '10']);
    });
  });
});
