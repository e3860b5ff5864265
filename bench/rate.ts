/** How often per second `work` ends when so many run side by side, each beginning anew until the time is over. */
export async function rateOf(work: () => Promise<unknown>, concurrency: number, timeMs: number): Promise<number> {
  const begun = performance.now();
  const end = begun + timeMs;
  let count = 0;
  const worker = async () => {
    while (performance.now() < end) {
      await work();
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return (count * 1_000) / (performance.now() - begun);
}
