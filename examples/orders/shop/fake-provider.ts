import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { Order } from './events.ts';
import { type Dynamo, number, text } from './items.ts';
import { type Charge, type PaymentProvider, ProviderTimeout } from './payment.ts';

/** Cards that end like this are declined. */
export const DECLINED_CARD_END = '0002';

/** How often, of 1, it does what providers do. */
const TIMES_OUT_BEFORE = 0.03;
const TIMES_OUT_AFTER = 0.05;
const ANSWERS_TWICE = 0.2;
/** How long its customers wait before they take it for lost. */
const WAIT_MS = 100;

export interface FakeProviderOptions {
  /** Where its books are: in a table of its own, if it were another company. */
  readonly dynamodb: Dynamo;
  readonly table: string;
  /** The shop's end of its answers. What throws was not taken: it answers again when it is asked again. */
  readonly answer: (charge: Charge) => Promise<void>;
  /** 0 to 1. */
  readonly chance?: () => number;
}

/** Stands for a payment provider, with its habits: it declines, answers twice, times out with the charge made or not made. */
export class FakeProvider implements PaymentProvider {
  readonly #dynamodb: Dynamo;
  readonly #table: string;
  readonly #chance: () => number;
  readonly answer: (charge: Charge) => Promise<void>;

  constructor({ dynamodb, table, answer, chance = Math.random }: FakeProviderOptions) {
    this.#dynamodb = dynamodb;
    this.#table = table;
    this.#chance = chance;
    this.answer = answer;
  }

  async charge({ idempotencyKey, order }: { idempotencyKey: string; order: Order }): Promise<Charge> {
    if (this.#chance() < TIMES_OUT_BEFORE) await timeOut();
    const charge = await this.#book(idempotencyKey, order);
    const answers = this.#chance() < ANSWERS_TWICE ? [charge, charge] : [charge];
    const taken = await Promise.allSettled(answers.map((one) => this.answer(one)));
    if (taken.every(({ status }) => status === 'rejected') || this.#chance() < TIMES_OUT_AFTER) await timeOut();
    return charge;
  }

  async #book(key: string, order: Order): Promise<Charge> {
    const id = `ledger#${key}`;
    const chargeId = `ch_${createHash('sha256').update(key).digest('hex').slice(0, 16)}`;
    const approved = !order.card.endsWith(DECLINED_CARD_END);
    const entry = {
      ...{ id: text(id), chargeId: text(chargeId), orderId: text(order.orderId) },
      ...{ amountCents: number(order.totalCents), approved: { BOOL: approved } },
    };
    const command = new PutItemCommand({
      ...{ TableName: this.#table, Item: entry },
      ConditionExpression: 'attribute_not_exists(id)',
    });
    await this.#dynamodb.send(command).catch((error: Error) => {
      if (error.name !== 'ConditionalCheckFailedException') throw error; // else it was booked before
    });
    return { chargeId, order, approved };
  }
}

async function timeOut(): Promise<never> {
  await sleep(WAIT_MS);
  throw new ProviderTimeout(`The provider has not answered in ${WAIT_MS} ms`);
}
