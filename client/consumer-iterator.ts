import type { Consumer } from './consumer.ts';
import type { ReceivedMessage } from './messages.ts';

/** Thrown into the handler whose message the loop was left at: it counts neither as processed nor as failed. */
const LEFT = new Error('The loop was left at this message');

/**
 * The messages of a consumer as a loop takes them. The handler that it runs waits until the loop comes back for more.
 * @throws what the consumer crashes with
 */
export async function* iterate<T>(
  consumer: Consumer<T>,
  options: { readonly signal?: AbortSignal },
): AsyncGenerator<ReceivedMessage<T>, void, void> {
  const handed: Handed<T>[] = [];
  let wake = () => {};
  let end: { readonly error: Error | undefined } | undefined;
  const forget = consumer.on('stop', ({ error }) => {
    end = { error };
    wake();
  });
  try {
    await consumer.run({
      ...options,
      eachMessage: ({ message, signal }) =>
        new Promise<void>((done, fail) => {
          signal.addEventListener('abort', () => fail(LEFT), { once: true });
          handed.push({ message, done, signal });
          wake();
        }),
    });
    for (;;) {
      while (handed.length === 0 && !end) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const next = handed.shift();
      if (next === undefined) break;
      if (next.signal.aborted) continue;
      yield next.message;
      next.done();
    }
  } finally {
    forget();
    await consumer.stop({ timeoutMs: 0 });
  }
  if (end?.error) throw end.error;
}

interface Handed<T> {
  readonly message: ReceivedMessage<T>;
  readonly done: () => void;
  readonly signal: AbortSignal;
}
