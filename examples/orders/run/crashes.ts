import type { PreparedAppend } from '../../../client/index.ts';
import type { Services } from '../shop/services.ts';

/** The process of a function is gone: what it was about to do is not done, what it had done nobody heard of. */
export class Crash extends Error {
  override readonly name = 'Crash';
}

/**
 * Crashes that leave prepared records behind are rarer by so much: readers of the partition wait for 10 s then, and a run
 * would be nothing but waiting.
 */
const ABANDONING_SHARE = 0.02;

/** Counts what it did, so that nobody takes a run for proof in which nothing happened. */
export class Crashes {
  readonly #chance: () => number;
  readonly #rate: number;
  /** By where they struck. */
  readonly counts = new Map<string, number>();

  /** @param rate of 1, before and after each call of another service */
  constructor(chance: () => number, rate: number) {
    this.#chance = chance;
    this.#rate = rate;
  }

  get total(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** The services as one call of a function has them, which may die at each of its steps, and does nothing from then on. */
  of(services: Services): Services {
    if (this.#rate === 0) return services;
    let isDead = false;
    const dieAt = (where: string, rate: number) => {
      if (isDead) throw new Crash(where);
      if (this.#chance() >= rate) return;
      isDead = true;
      this.counts.set(where, (this.counts.get(where) ?? 0) + 1);
      throw new Crash(where);
    };
    const around = async <T>(what: string, act: () => Promise<T>, before = this.#rate, after = this.#rate) => {
      dieAt(`before ${what}`, before);
      const result = await act();
      dieAt(`after ${what}`, after);
      return result;
    };
    const rarely = this.#rate * ABANDONING_SHARE;
    const { backbone, dynamodb, provider } = services;
    let isAbandoning = false;
    return {
      ...services,
      backbone: {
        prepareAppend: async (...given) => {
          const prepared = await around('prepare', () => backbone.prepareAppend(...given), undefined, rarely);
          isAbandoning = true;
          const settle: PreparedAppend['settle'] = (outcome) => {
            isAbandoning = false;
            return around('settle', () => prepared.settle(outcome), rarely);
          };
          return { items: prepared.items, offsets: prepared.offsets, settle } as typeof prepared;
        },
      },
      dynamodb: {
        send: (command: { constructor: { name: string } }) => {
          const send = dynamodb.send.bind(dynamodb) as (one: unknown) => Promise<never>;
          const before = isAbandoning ? rarely : undefined;
          return around(command.constructor.name, () => send(command), before);
        },
      } as Services['dynamodb'],
      provider: { charge: (request) => around('charge', () => provider.charge(request)) },
    };
  }
}
