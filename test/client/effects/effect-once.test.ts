import { GetItemCommand, PutItemCommand, type PutItemCommandInput, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RecordDelivery } from '../../../client/effects/delivery.ts';
import { type EffectOptions, effectOnce, resolveEffect } from '../../../client/effects/effect-once.ts';
import { EffectInProgress, EffectUnfinished } from '../../../client/effects/errors.ts';
import { deliveriesOf, type LambdaEvent } from '../../../client/effects/lambda.ts';
import { type OnceTools, onceMiddleware } from '../../../client/effects/middleware.ts';
import { kafkaEvent, kafkaRecord } from '../../../shared/wire/kafka-event.ts';
import { gate } from '../../support/consumer-bench.ts';
import { deliveryBatch } from '../../support/deliveries.ts';
import { type EmbeddedTables, embeddedTables } from '../../support/embedded.ts';

let tables: EmbeddedTables;
beforeAll(async () => {
  tables = await embeddedTables();
});
afterAll(() => tables.close());

let offsets = 0;
/** A record that nobody has seen. */
function record(): { delivery: RecordDelivery } {
  const identify = async () => ({
    groupId: '01J00000000000000000000000',
    topicId: '01JZZZZZZZZZZZZZZZZZZZZZZZ',
    retentionMs: 3_600_000,
  });
  const of = { group: 'billing', topic: 'orders', partition: 0, epoch: 7, isRedriven: false };
  return { delivery: { ...of, offset: offsets++, identify } };
}

const options = (more: Partial<EffectOptions> = {}): EffectOptions => ({
  dynamodb: tables.dynamodb,
  stateTable: tables.stateTable,
  whenUnfinished: 'retry',
  ...more,
});

describe('an effect outside of the tables', () => {
  it('is done once, and its result is given to whoever comes later', async () => {
    const charged = record();
    const keys: string[] = [];
    const charge = async (key: string) => ({ id: `charge-${keys.push(key)}` });
    expect(await effectOnce(charged, charge, options())).toEqual({ result: { id: 'charge-1' }, repeated: false });
    expect(await effectOnce(charged, charge, options())).toEqual({ result: { id: 'charge-1' }, repeated: true });
    await effectOnce(record(), charge, options());
    expect(new Set(keys).size).toBe(2);
  });

  it('has a result though it gives none', async () => {
    const mailed = record();
    await effectOnce(mailed, async () => undefined, options());
    expect(await effectOnce(mailed, () => Promise.reject(new Error('again')), options())).toMatchObject({
      repeated: true,
    });
  });

  it('is not begun by two at once', async () => {
    const [charged, { passed, open }] = [record(), gate()];
    let begun = () => {};
    const isBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const slow = () => {
      begun();
      return passed;
    };
    const first = effectOnce(charged, slow, options());
    await isBegun;
    await expect(effectOnce(charged, async () => {}, options())).rejects.toThrow(EffectInProgress);
    open();
    await first;
  });

  it('that threw is begun again at once, under the same key', async () => {
    const charged = record();
    const keys: string[] = [];
    const fail = async (key: string) => {
      keys.push(key);
      throw new Error('timeout');
    };
    await expect(effectOnce(charged, fail, options())).rejects.toThrow('timeout');
    expect(await effectOnce(charged, async (key) => keys.push(key), options())).toEqual({ result: 2, repeated: false });
    expect(keys[0]).toBe(keys[1]);
  });

  it('that nobody ended is begun again when its time is over', async () => {
    const charged = record();
    void effectOnce(charged, () => new Promise(() => {}), options({ timeoutMs: 1 })); // its process dies
    await expect
      .poll(() => effectOnce(charged, async () => 'done', options()).catch(() => undefined))
      .toEqual({
        result: 'done',
        repeated: false,
      });
  });

  it('that nobody ended is left to a human where that is wanted, who says what he found', async () => {
    const [charged, refunded] = [record(), record()];
    const human = options({ whenUnfinished: 'human' });
    const fail = () => Promise.reject(new Error('timeout'));
    for (const one of [charged, refunded]) {
      await expect(effectOnce(one, fail, human)).rejects.toThrow('timeout');
      await expect(effectOnce(one, async () => 'twice', human)).rejects.toThrow(EffectUnfinished);
    }
    await resolveEffect(charged, { done: 'it was' }, human);
    expect(await effectOnce(charged, async () => 'twice', human)).toEqual({ result: 'it was', repeated: true });
    await resolveEffect(refunded, 'undone', human);
    expect(await effectOnce(refunded, async () => 'now', human)).toEqual({ result: 'now', repeated: false });
    await resolveEffect(charged, { done: 'it was' }, human); // whoever says it once more is right
    await expect(resolveEffect(refunded, 'undone', human)).rejects.toThrow('is done');
    await expect(resolveEffect(record(), 'undone', human)).rejects.toThrow('No such effect');
  });

  it('stays done when an attempt of its first note arrives late', async () => {
    const charged = record();
    const notes: PutItemCommandInput[] = [];
    const send = (command: { input: object }) => {
      if (command instanceof PutItemCommand) notes.push(command.input);
      return tables.dynamodb.send(command as PutItemCommand);
    };
    const watched = { send } as unknown as EffectOptions['dynamodb'];
    await effectOnce(charged, async () => 'once', options({ dynamodb: watched }));
    await expect(tables.dynamodb.send(new PutItemCommand(notes[0]!))).rejects.toThrow('conditional request failed');
    expect(await effectOnce(charged, async () => 'twice', options())).toEqual({ result: 'once', repeated: true });
  });

  it('that ends late is not begun again by whoever saw it unfinished', async () => {
    const [charged, { passed, open }] = [record(), gate()];
    let startedAt = Number.POSITIVE_INFINITY;
    const slow = () => {
      startedAt = Date.now();
      return passed.then(() => 'late');
    };
    const late = effectOnce(charged, slow, options({ timeoutMs: 1 }));
    await expect.poll(() => Date.now() - startedAt).toBeGreaterThan(1);
    let begun = 0;
    const send = async (command: { input: object }) => {
      const answer = await tables.dynamodb.send(command as GetItemCommand);
      if (command instanceof GetItemCommand) {
        open();
        await late;
      }
      return answer;
    };
    const overtaken = options({ dynamodb: { send } as unknown as EffectOptions['dynamodb'] });
    const again = () => effectOnce(charged, async () => ++begun, overtaken);
    await expect.poll(() => again().catch(() => undefined)).toEqual({ result: 'late', repeated: true });
    expect(begun).toBe(0);
  });

  it('is remembered while it may go on, however short its window is', async () => {
    const [charged, { passed, open }] = [record(), gate()];
    const { groupId } = await charged.delivery.identify();
    const first = effectOnce(charged, () => passed, options({ windowMs: 1 }));
    const find = async () => {
      const { Items = [] } = await tables.dynamodb.send(new ScanCommand({ TableName: tables.stateTable }));
      const sort = String(charged.delivery.offset).padStart(16, '0');
      return Items.find(({ pk, sk }) => pk!.S!.includes(groupId) && sk!.S === sort);
    };
    await expect.poll(find).toBeDefined();
    const { until, expiresAt } = (await find())!;
    expect(Number(expiresAt!.N) * 1_000).toBeGreaterThanOrEqual(Number(until!.N));
    open();
    await first;
    expect(Number((await find())!.expiresAt!.N)).toBeLessThan(Number(expiresAt!.N));
  });

  it('is forgotten when its window is over', async () => {
    const charged = record();
    await effectOnce(charged, async () => 1, options({ windowMs: 1 }));
    await expect
      .poll(() => effectOnce(charged, async () => 2, options()), { timeout: 10_000 })
      .toMatchObject({ result: 2 });
  });

  it.each([
    [{ timeoutMs: 0 }, "'timeoutMs' must be above 0"],
    [{ windowMs: -1 }, "'windowMs' must be above 0"],
  ])('is refused with %j', async (more, message) => {
    await expect(effectOnce(record(), async () => 1, options(more))).rejects.toThrow(message);
  });

  it('has no result of more than 64 KB', async () => {
    await expect(effectOnce(record(), async () => 'x'.repeat(70_000), options())).rejects.toThrow('at most 65536');
  });
});

describe('the event of a subscription', () => {
  const batch = deliveryBatch([{ value: 'a' }, { value: 'b' }]);
  const event = (of = batch) =>
    JSON.parse(
      kafkaEvent(
        of,
        of.records.map((one) => kafkaRecord(of, one)),
      ),
    ) as LambdaEvent;

  it('tells by what right its records are delivered', async () => {
    const [first, second] = deliveriesOf(event());
    expect(first?.delivery).toMatchObject({
      group: 'billing',
      topic: 'orders',
      partition: 3,
      offset: 41,
      epoch: 7,
      isRedriven: false,
    });
    expect(second?.record.offset).toBe(42);
    expect(await first?.delivery.identify()).toEqual({
      groupId: batch.group.id,
      topicId: batch.topicId,
      retentionMs: 604_800_000,
    });
    expect(deliveriesOf(event(deliveryBatch([{ redrives: 1 }])))[0]?.delivery.isRedriven).toBe(true);
  });

  it('that is another one is refused', () => {
    expect(() => deliveriesOf({ records: {} })).toThrow('does not come from a subscription');
  });

  it('is at hand in the context, with what makes it happen once', async () => {
    const context = {} as { vertebra: OnceTools };
    onceMiddleware({ dynamodb: tables.dynamodb, stateTable: tables.stateTable }).before({ event: event(), context });
    const { deliveries, effectOnce: inContext } = context.vertebra;
    const [first] = deliveries;
    const done = () => inContext(first!, async (key) => key, { whenUnfinished: 'retry' });
    expect((await done()).repeated).toBe(false);
    expect(await done()).toEqual({ result: expect.stringContaining('billing#'), repeated: true });
  });
});
