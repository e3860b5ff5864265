import { parentPort, workerData } from 'node:worker_threads';

/*
 * A thread of `memory-sampler.ts`, in plain JavaScript: Node.js starts it, without the loader that its parent has.
 * Shared memory, 32-bit cells: [0] 1 as long as to go on, [1] the largest sample, KB.
 */

const EVERY_MS = 1;

function sample() {
  const rss = Math.ceil(process.memoryUsage.rss() / 1024);
  if (rss > Atomics.load(workerData, 1)) Atomics.store(workerData, 1, rss);
}

parentPort.on('message', () => {
  sample();
  parentPort.postMessage('started');
  while (Atomics.load(workerData, 0) === 1) {
    sample();
    Atomics.wait(workerData, 0, 1, EVERY_MS);
  }
  parentPort.postMessage('stopped');
});
parentPort.postMessage('ready');
