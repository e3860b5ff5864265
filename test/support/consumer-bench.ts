import { onTestFinished } from 'vitest';
import type { Consumer } from '../../client/consumer.ts';
import type { ConsumerEvent, ConsumerEvents } from '../../client/consumer-events.ts';
import type { ConsumerOptions } from '../../client/consumer-options.ts';
import { Vertebra, type VertebraOptions } from '../../client/vertebra.ts';
import { GroupServer } from './group-server.ts';
import { VirtualTime } from './virtual-time.ts';

export interface ConsumerBench {
  readonly time: VirtualTime;
  readonly server: GroupServer;
  /** A consumer of all the topics, stopped when the test ends. */
  open<T = unknown>(options?: Partial<ConsumerOptions<T>>, more?: VertebraOptions): Consumer<T>;
}

/** A group in virtual time, and consumers of it. @param topics partitions by topic */
export function openConsumerBench(topics: Readonly<Record<string, number>> = { orders: 1 }): ConsumerBench {
  const time = new VirtualTime();
  const server = new GroupServer(time.now, topics);
  return {
    time,
    server,
    open<T>(options: Partial<ConsumerOptions<T>> = {}, more: VertebraOptions = {}) {
      const { fetch } = server;
      const client = new Vertebra({ endpoint: 'http://127.0.0.1:1', fetch, surroundings: time, ...more });
      const consumer = client.consumer<T>({ groupId: 'billing', ...options });
      const names = Object.keys(topics);
      if (names.length > 0) void consumer.subscribe({ topics: names });
      onTestFinished(async () => {
        let stopped = false;
        void consumer.stop({ timeoutMs: 0 }).finally(() => {
          stopped = true;
        });
        await time.until(() => stopped);
      });
      return consumer;
    },
  };
}

/** What a consumer has told so far, by event. */
export function recordEvents<E extends ConsumerEvent>(consumer: Pick<Consumer, 'on'>, ...names: E[]) {
  const told: { readonly [name in E]: ConsumerEvents[name][] } = Object.fromEntries(
    names.map((name) => [name, []]),
  ) as never;
  for (const name of names) consumer.on(name, (event) => void told[name].push(event));
  return told;
}

/** A promise that a test settles. */
export function gate(): { readonly passed: Promise<void>; open(): void } {
  let open = () => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}
