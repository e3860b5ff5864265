import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Group } from '../../shared/domain/group.ts';
import type { PositionId } from '../../shared/domain/position.ts';
import type { DynamoDB } from '../../shared/store/dynamo.ts';
import { Groups } from '../../shared/store/groups.ts';
import { Lanes } from '../../shared/store/lanes.ts';
import { PendingPositions } from '../../shared/store/pending.ts';
import { Positions } from '../../shared/store/positions.ts';
import { PushPositions } from '../../shared/store/push-positions.ts';
import { STORE_ENGINES, type StoreEngine } from '../support/store-engines.ts';

const NOW = 1_800_000_000_000;
const TOPIC = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
const LANES = ['00112233445566ff', 'ffeeddccbbaa9900'];

describe.each(STORE_ENGINES)('on %s, a position with parked keys', (_, open) => {
  let engine: StoreEngine;
  let positions: Positions;
  let lanes: Lanes;
  let ids = 0;
  let group: Group;
  let id: PositionId;
  beforeAll(async () => {
    engine = await open();
    positions = new Positions(engine.dynamodb, engine.stateTable);
    lanes = new Lanes(engine.dynamodb, engine.stateTable, positions);
  });
  afterAll(() => engine.close());
  beforeEach(async () => {
    const groupId = (++ids).toString().padStart(26, '0');
    group = { name: `g${ids}`, id: groupId, createdAt: NOW, version: 0, checkAt: NOW, busyUntil: 0 };
    id = { group, topicId: TOPIC, partition: 3 };
    await new Groups(engine.dynamodb, engine.stateTable).create(group);
    await make(10);
  });

  /** Makes the position in an epoch, and parks keys. */
  async function make(epoch: number, parked = LANES): Promise<void> {
    await positions.create(id, { epoch, committed: 5 });
    const push = new PushPositions(engine.dynamodb, engine.stateTable);
    await push.take(id, { epoch, committed: 5 }, { owner: 'run', epoch: epoch + 1, until: NOW + 1_000, now: NOW });
    for (const [i, lane] of parked.entries()) {
      const step = { committed: 6 + i, epoch: epoch + 2 + i, until: NOW + 2_000, push: {} };
      const about = { key: new Uint8Array([i]), keyBytes: 1, parkedAt: NOW + epoch };
      const to = { group: { name: group.name, id: group.id }, topic: 't', known: 8 };
      const its = { epoch: NOW, committed: 5 + i, push: { isSlow: true }, about };
      await lanes.park(to, { ...id, lane }, { owner: 'run', epoch: epoch + 1 + i }, step, its);
    }
  }
  const marks = async () => {
    const { items } = await new PendingPositions(engine.dynamodb, engine.stateTable).lanesOf(group, 100);
    return items.map(({ lane, dueAt }) => [lane, dueAt]);
  };
  /** All that is kept of it. */
  const kept = async () => [await positions.read(id), await lanes.list(id), await marks()];
  /** Another process, told of each command before it is sent, and once it is answered. */
  const told = (tell: (when: 'before' | 'after', command: string) => Promise<void>): Positions => {
    const send = async (command: Parameters<typeof engine.dynamodb.send>[0]) => {
      const { name } = command.constructor;
      await tell('before', name);
      const answer = await engine.dynamodb.send(command);
      await tell('after', name);
      return answer;
    };
    return new Positions({ send, config: engine.dynamodb.config } as unknown as DynamoDB, engine.stateTable);
  };

  it('is removed with its lanes and their marks', async () => {
    expect(await marks()).toHaveLength(LANES.length);
    await positions.remove(id);
    expect(await kept()).toEqual([undefined, [], []]);
    await positions.remove(id);
  });

  it('is there with all of them, or not at all, whenever it is looked at', async () => {
    const whole = await kept();
    const seen: unknown[] = [];
    await told(async () => void seen.push(await kept())).remove(id);
    expect(seen.length).toBeGreaterThan(2);
    for (const each of seen) expect([whole, [undefined, [], []]]).toContainEqual(each);
    expect(seen.at(-1)).toEqual([undefined, [], []]);
  });

  it('is removed as it is by then, where another key is parked meanwhile', async () => {
    let isFirst = true;
    const by = told(async (when, command) => {
      if (when !== 'before' || command !== 'TransactWriteItemsCommand' || !isFirst) return;
      isFirst = false;
      const seen = (await positions.read(id))!;
      const other = { ...id, lane: 'aaaaaaaaaaaaaaaa' };
      const to = { group: { name: group.name, id: group.id }, topic: 't', known: 8 };
      const step = { committed: seen.committed + 1, epoch: seen.epoch + 1, until: NOW + 2_000, push: {} };
      const about = { key: new Uint8Array([9]), keyBytes: 1, parkedAt: NOW };
      const its = { epoch: NOW, committed: seen.committed, about };
      expect(await lanes.park(to, other, { owner: 'run', epoch: seen.epoch }, step, its)).toBe(true);
    });
    await by.remove(id);
    expect(isFirst).toBe(false);
    expect(await kept()).toEqual([undefined, [], []]);
  });

  it('that is made anew as soon as it is gone keeps what is parked then', async () => {
    let anew: unknown;
    const by = told(async (when) => {
      if (when === 'before' || anew !== undefined || (await positions.read(id)) !== undefined) return;
      await make(100);
      anew = await kept();
    });
    await by.remove(id);
    expect(anew).toBeDefined();
    expect(await kept()).toEqual(anew);
    expect(await marks()).toEqual(LANES.map((lane) => [lane, NOW + 100]));
  });
});
