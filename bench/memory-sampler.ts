import { Worker } from 'node:worker_threads';

/** Samples what the process takes every millisecond, from a thread of its own, so that the main one may be busy. */
export interface MemorySampler {
  /** Samples from now on. */
  start(): Promise<void>;
  /** @returns the largest sample since the start, bytes of the resident set */
  stop(): Promise<number>;
  close(): Promise<void>;
}

/** Cells of the memory that is shared with `memory-thread.mjs`: whether to go on; the largest sample, KB. */
const [GO, PEAK] = [0, 1];

export async function openMemorySampler(): Promise<MemorySampler> {
  const shared = new Int32Array(new SharedArrayBuffer(8));
  const thread = new Worker(new URL('memory-thread.mjs', import.meta.url), { workerData: shared, execArgv: [] });
  const told = () => new Promise<void>((resolve) => thread.once('message', () => resolve()));
  await told();
  return {
    async start() {
      Atomics.store(shared, PEAK, 0);
      Atomics.store(shared, GO, 1);
      const started = told();
      thread.postMessage('start');
      await started;
    },
    async stop() {
      const stopped = told();
      Atomics.store(shared, GO, 0);
      await stopped;
      return Atomics.load(shared, PEAK) * 1024;
    },
    async close() {
      await thread.terminate();
    },
  };
}
