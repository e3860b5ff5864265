import type { PushHost } from './push-bench.ts';

/** Who dies where nothing is changed dies as if it were before the next change. */
const READS: ReadonlySet<string | symbol> = new Set(['read', 'readLast', 'find', 'list', 'first', 'of']);
const STORES = [
  ...(['positions', 'pushPositions', 'lanes', 'subscriptions', 'subscribers', 'heads', 'log', 'pending'] as const),
  ...(['deadLetters', 'deadLetterQueue', 'redrives', 'wakeQueue'] as const),
] as const;

/** A process that dies at its n-th change, or call: nothing it does from then on happens, or is ever answered. */
export class DyingHost {
  readonly host: PushHost;
  readonly #died: Promise<'died'>;

  /** @param isDone whether the last step happens, and only its answer is lost */
  constructor({ ports, ...host }: PushHost, at: number, isDone: boolean) {
    let die: (how: 'died') => void = () => {};
    this.#died = new Promise((resolve) => {
      die = resolve;
    });
    let steps = 0;
    const step =
      <A extends unknown[], R>(act: (...args: A) => Promise<R>) =>
      async (...args: A): Promise<R> => {
        steps += 1;
        if (steps < at) return act(...args);
        if (steps === at) {
          if (isDone) await act(...args);
          die('died');
        }
        return new Promise(() => {});
      };
    const stepping = <T extends object>(store: T): T =>
      new Proxy(store, {
        get: (target, name) => {
          const member: unknown = Reflect.get(target, name);
          if (typeof member !== 'function') return member;
          return READS.has(name) ? member.bind(target) : step(member.bind(target));
        },
      });
    const { aside: _, ...here } = ports;
    const dying = Object.fromEntries(STORES.map((name) => [name, stepping(ports[name])]));
    this.host = { ...host, ports: { ...here, ...dying, callOf: (subscription) => step(ports.callOf(subscription)) } };
  }

  /** @returns whether it lived through what it was to do */
  async lives(act: (host: PushHost) => Promise<void>): Promise<boolean> {
    return (await Promise.race([act(this.host).then(() => 'lived'), this.#died])) === 'lived';
  }
}
