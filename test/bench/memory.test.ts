import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeAll, describe, expect, it } from 'vitest';
import { MemoryProbe } from '../../bench/memory-probe.ts';
import { openMemorySampler } from '../../bench/memory-sampler.ts';

const MB = 1_000_000;

beforeAll(() => {
  setFlagsFromString('--expose-gc');
  globalThis.gc = runInNewContext('gc');
});

describe('the memory probe', () => {
  let probe: MemoryProbe;
  beforeAll(() => {
    probe = new MemoryProbe();
  });

  it('counts what is held at a time, and no garbage', async () => {
    const held = await probe.peakBytesOf(async () => {
      const kept = [1, 2, 3].map(() => Buffer.alloc(10 * MB));
      expect(kept).toHaveLength(3);
    });
    expect(held / MB).toBeGreaterThan(29);
    const dropped = await probe.peakBytesOf(async () => {
      for (let i = 0; i < 5; i++) expect(Buffer.alloc(10 * MB).length).toBe(10 * MB);
    });
    expect(dropped / MB).toBeGreaterThan(9);
    expect(dropped / MB).toBeLessThan(25);
  });

  it('looks where strings and JSON are made, and when it is told to', async () => {
    const text = await probe.peakBytesOf(async () => JSON.stringify('x'.repeat(5 * MB)).length);
    expect(text / MB).toBeGreaterThan(9);
    const array = await probe.peakBytesOf(async () => {
      const kept = new Uint8Array(10 * MB);
      probe.look();
      expect(kept).toHaveLength(10 * MB);
    });
    expect(array / MB).toBeGreaterThan(9);
  });
});

describe('the memory sampler', () => {
  it('sees what the process takes while its main thread is busy', async () => {
    const sampler = await openMemorySampler();
    // What is garbage by now must not leave while the buffer comes: the large buffer itself would start a collection.
    globalThis.gc?.();
    const before = process.memoryUsage.rss();
    await sampler.start();
    const busyUntil = performance.now() + 50;
    const taken = Buffer.alloc(300 * MB, 1);
    while (performance.now() < busyUntil) taken[0]! += 1;
    const peak = await sampler.stop();
    await sampler.close();
    expect((peak - before) / MB).toBeGreaterThan(100);
  });
});
