import type { Surroundings } from './surroundings.ts';

/** Waits for work, but not for ever. @returns whether it ended, one way or the other, before the time and the signal did */
export async function within(
  timeoutMs: number,
  work: Promise<unknown>,
  { sleep }: Surroundings,
  signal?: AbortSignal,
): Promise<boolean> {
  const over = new AbortController();
  const onAbort = () => over.abort();
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    const timeout = sleep(timeoutMs, over.signal).then(
      () => false,
      () => false,
    );
    const end = work.then(
      () => true,
      () => true,
    );
    return await Promise.race([end, timeout]);
  } finally {
    signal?.removeEventListener('abort', onAbort);
    over.abort();
  }
}
