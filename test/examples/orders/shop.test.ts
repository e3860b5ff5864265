import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Vertebra } from '../../../client/index.ts';
import { handler } from '../../../examples/orders/functions/checkout.ts';
import { checkOrder, InvalidOrder, type OrderEvent, parseEvent, TOPIC } from '../../../examples/orders/shop/events.ts';
import { FakeProvider } from '../../../examples/orders/shop/fake-provider.ts';
import { type Charge, ProviderTimeout, recordAnswer } from '../../../examples/orders/shop/payment.ts';
import { provideServices, type Services } from '../../../examples/orders/shop/services.ts';
import { type LocalBackbone, startLocalBackbone } from '../../../local/embedding.ts';

const order = {
  ...{ orderId: 'one', customer: 'ada', card: '4242', totalCents: 1_800 },
  lines: [{ sku: 'cup', quantity: 2 }],
};

describe('what the shop cannot work on', () => {
  it.each([
    ['no order', undefined, "'orderId' must be"],
    ['no lines', { ...order, lines: [] }, 'has 1 to 20 lines'],
    ['a quantity that is a text', { ...order, lines: [{ sku: 'cup', quantity: '2' }] }, 'not "2"'],
    ['a quantity of nothing', { ...order, lines: [{ sku: 'cup', quantity: 0 }] }, 'a positive integer'],
    ['the same article twice', { ...order, lines: [order.lines[0], order.lines[0]] }, 'of the same article'],
    ['no total', { ...order, totalCents: undefined }, 'no total'],
  ])('is refused: %s', (_what, given, message) => {
    expect(() => checkOrder(given)).toThrow(InvalidOrder);
    expect(() => checkOrder(given)).toThrow(message);
  });

  it.each(['', '{', '{"type":"Unknown"}', 'null'])('is refused: the event %j', (value) => {
    expect(() => parseEvent(Buffer.from(value).toString('base64'))).toThrow(InvalidOrder);
  });

  it('is not what it can', () => {
    const event = { type: 'OrderPlaced', order };
    expect(parseEvent(Buffer.from(JSON.stringify(event)).toString('base64'))).toEqual(event);
  });
});

describe('the shop', () => {
  let local: LocalBackbone;
  let services: Services;
  const answers: Charge[] = [];
  /** What the provider's dice say. */
  let chance = 0.99;
  beforeAll(async () => {
    local = await startLocalBackbone();
    const dynamodb = new DynamoDBClient(local.clientConfig());
    await dynamodb.send(
      new CreateTableCommand({
        ...{ TableName: 'shop', BillingMode: 'PAY_PER_REQUEST' },
        AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
        KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
      }),
    );
    const backbone = new Vertebra({ endpoint: local.url });
    await backbone.admin().createTopics({ topics: [{ topic: TOPIC, numPartitions: 1 }] });
    const answer = async (charge: Charge) => {
      answers.push(charge);
      await recordAnswer(services, charge);
    };
    const provider = new FakeProvider({ dynamodb, table: 'shop', answer, chance: () => chance });
    services = { backbone, dynamodb, table: 'shop', stateTable: local.stateTable, provider };
    provideServices(() => services);
  });
  afterAll(() => local.dispose());

  const call = async (method: string, path: string, body?: object) => {
    const event = { rawPath: path, body: body && JSON.stringify(body), requestContext: { http: { method } } };
    const answer = await handler(event);
    return { code: answer.statusCode, ...(JSON.parse(answer.body) as object) };
  };
  const told = async (): Promise<string[]> => {
    const types: string[] = [];
    const reader = new Vertebra({ endpoint: local.url }).reader<OrderEvent>({ topic: TOPIC, partition: 0 });
    for await (const { value } of reader) types.push(value!.type);
    return types;
  };

  it('takes an order once, however often it is sent, and tells of it once', async () => {
    const { orderId: _, totalCents, ...basket } = order;
    expect(await call('PUT', '/orders/one', basket)).toEqual({ code: 201, orderId: 'one', totalCents });
    expect(await call('PUT', '/orders/one', basket)).toEqual({ code: 200, orderId: 'one', totalCents });
    const racing = { ...basket, customer: 'bob' };
    const all = await Promise.all([1, 2, 3].map(() => call('PUT', '/orders/two', racing)));
    expect(all.filter(({ code }) => code === 201)).toHaveLength(1);
    expect(await told()).toEqual(['OrderPlaced', 'OrderPlaced']);
    expect(await call('GET', '/orders/one')).toEqual({ code: 200, orderId: 'one', status: 'placed' });
  });

  it('refuses another order of the same id, and what is none', async () => {
    const other = { customer: 'eve', card: '4242', lines: order.lines };
    expect(await call('PUT', '/orders/one', other)).toMatchObject({ code: 400, error: "'one' is another order" });
    expect(await call('PUT', '/orders/three', { ...other, lines: [{ sku: 'gold', quantity: 1 }] })).toMatchObject({
      ...{ code: 400, error: "There is no article 'gold'" },
    });
    expect(await call('PUT', '/orders/three')).toMatchObject({ code: 400 });
    expect(await call('GET', '/orders/three')).toMatchObject({ code: 404 });
    expect(await call('DELETE', '/orders/one')).toMatchObject({ code: 405 });
    expect(await call('GET', '/')).toMatchObject({ code: 404 });
  });

  it('takes an answer that the provider gives twice once', async () => {
    chance = 0.1; // it answers twice, and does not time out
    const charge = await services.provider.charge({ idempotencyKey: 'k1', order });
    expect(answers).toEqual([charge, charge]);
    expect((await told()).filter((type) => type === 'PaymentTaken')).toHaveLength(1);
  });

  it('has one charge where the provider timed out, and was asked again under the same key', async () => {
    const request = { idempotencyKey: 'k2', order: { ...order, orderId: 'four', card: '0002' } };
    let rolls = 0;
    answers.length = 0;
    const dice = [0.9, 0.9, 0.01, 0.9, 0.9, 0.9];
    const provider = new FakeProvider({
      ...{ dynamodb: services.dynamodb, table: 'shop', chance: () => dice[rolls++]! },
      answer: async (charge) => {
        answers.push(charge);
        await recordAnswer(services, charge);
      },
    });
    await expect(provider.charge(request)).rejects.toThrow(ProviderTimeout);
    const charge = await provider.charge(request);
    expect(charge.approved).toBe(false);
    expect(new Set(answers.map(({ chargeId }) => chargeId))).toEqual(new Set([charge.chargeId]));
    expect((await told()).filter((type) => type === 'PaymentDeclined')).toHaveLength(1);
  });
});
