import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CONFIGURATION_CACHE_MS } from '../../../shared/domain/limits.ts';
import { QuotaExceeded } from '../../../shared/domain/quota-errors.ts';
import { BURST_MS, HAND_LIFE_MS, TAKE_MS_MAX, TAKES_AHEAD } from '../../../shared/domain/quota-limits.ts';
import { appendBatches } from '../../../shared/operations/append-batches.ts';
import type { AppendRequest } from '../../../shared/operations/partition-append.ts';
import { prepareAppend } from '../../../shared/operations/prepare-append.ts';
import { putTopic, type TopicSettings } from '../../../shared/operations/topics.ts';
import { batchOf, type Host, type LogBench, openLogBench } from '../../support/log-bench.ts';

let bench: LogBench;
let topic: string;
let made = 0;
beforeAll(async () => {
  bench = await openLogBench();
});
afterAll(() => bench.close());
beforeEach(() => {
  topic = `topic-${++made}`;
});

const limit = (settings: TopicSettings) => putTopic(bench.host().backbone, topic, { partitions: 1, ...settings });
const requestOf = (count: number, more: Partial<AppendRequest> = {}): AppendRequest => ({
  topic,
  build: () => new Map([[0, batchOf('ten bytes.', count)]]),
  ...more,
});
const append = (host: Host, count = 1, more: Partial<AppendRequest> = {}) =>
  appendBatches(host.backbone, requestOf(count, more));
/** What refused an append. */
const refusalOf = (appended: Promise<unknown>): Promise<QuotaExceeded> =>
  appended.then(
    () => expect.unreachable('it was stored'),
    (error: unknown) => {
      if (error instanceof QuotaExceeded) return error;
      throw error;
    },
  );
/** Appends until the quota is used up. @returns how many were stored, and what refused the next */
async function exhaust(host: Host, count = 1, more: Partial<AppendRequest> = {}) {
  for (let stored = 0; ; stored++) {
    const refused = await append(host, count, more).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (refused instanceof QuotaExceeded) return { stored, ...(refused.data as { retryAfterMs: number }) };
    if (refused !== undefined) throw refused;
  }
}
/** Writes to buckets among what a container has sent: an append itself is an `UpdateItem` and a `PutItem`. */
const takesOf = ({ faults }: Host) =>
  faults.calls.filter((call) => call === 'UpdateItem').length -
  faults.calls.filter((call) => call === 'PutItem').length;

describe('a topic without a quota', () => {
  it('is appended to without one call more', async () => {
    const host = bench.host();
    await limit({});
    await append(host);
    expect(host.faults.calls).toEqual(['GetItem', 'UpdateItem', 'PutItem']);
  });
});

describe('a quota of records', () => {
  it('lets a second of it through at once, and then refuses, saying for how long', async () => {
    const host = bench.host();
    await limit({ quota: { recordsPerSecond: 100 } });
    const { stored, ...refused } = await exhaust(host);
    expect(stored).toBeGreaterThanOrEqual(100);
    expect(stored).toBeLessThanOrEqual(100 + TAKE_MS_MAX / 10);
    expect(refused).toMatchObject({ reason: 'quota', scope: 'topic', retryAfterMs: expect.any(Number) });
    bench.clock.pass(refused.retryAfterMs - 1);
    await refusalOf(append(host));
    bench.clock.pass(1);
    await append(host);
  });

  it('costs one write for ten appends, and none for those that it refuses', async () => {
    const host = bench.host();
    await limit({ quota: { recordsPerSecond: 1_000 } });
    for (let i = 0; i < 100; i++) await append(host);
    expect(takesOf(host)).toBeLessThanOrEqual(100 / TAKES_AHEAD);
    await exhaust(host, 100);
    const calls = host.faults.calls.length;
    for (let i = 0; i < 5; i++) await refusalOf(append(host, 100));
    expect(host.faults.calls).toHaveLength(calls);
  });

  it('is held over time by many containers together, which do not keep each other from it', async () => {
    const hosts = Array.from({ length: 4 }, () => bench.host());
    const began = bench.clock.now();
    await limit({ quota: { recordsPerSecond: 200 } });
    const stored = hosts.map(() => 0);
    for (let step = 0; step < 100; step++) {
      for (const [i, host] of hosts.entries()) {
        await append(host, 10).then(
          () => {
            stored[i]! += 10;
          },
          (error) => expect(error).toBeInstanceOf(QuotaExceeded),
        );
      }
      bench.clock.pass(50);
    }
    const seconds = (bench.clock.now() - began) / 1_000;
    const all = stored.reduce((sum, each) => sum + each);
    expect(all).toBeLessThanOrEqual(200 * (seconds + (BURST_MS + TAKE_MS_MAX) / 1_000));
    expect(all).toBeGreaterThanOrEqual(200 * seconds * 0.9);
    for (const each of stored) expect(each).toBeGreaterThan(0);
  });

  it('takes what is larger than a second of it, and lets the others wait for as long', async () => {
    const host = bench.host();
    await limit({ quota: { recordsPerSecond: 10 } });
    await append(host, 100);
    const { data } = await refusalOf(append(bench.host()));
    expect(data.retryAfterMs).toBe(10_000 - BURST_MS);
    bench.clock.pass(10_000 - BURST_MS);
    await append(bench.host());
  });

  it('is not saved up: what a container has not spent in a minute is lost', async () => {
    const [host, other] = [bench.host(), bench.host()];
    await limit({ quota: { recordsPerSecond: 10 } });
    await append(host);
    bench.clock.pass(HAND_LIFE_MS + 1);
    const takes = takesOf(host);
    await append(host);
    expect(takesOf(host)).toBe(takes + 1);
    expect((await exhaust(other)).stored).toBeLessThanOrEqual(10);
  });
});

describe('a quota of bytes', () => {
  it('counts batches as they are stored', async () => {
    const host = bench.host();
    await limit({ quota: { bytesPerSecond: 1_000 } });
    const { stored } = await exhaust(host, 500);
    expect(stored).toBeGreaterThanOrEqual(100);
    expect(stored).toBeLessThanOrEqual(100 + TAKE_MS_MAX / 10);
  });

  it('stands beside one of records: what runs out first counts', async () => {
    await limit({ quota: { bytesPerSecond: 1_000_000, recordsPerSecond: 10 } });
    expect((await exhaust(bench.host())).stored).toBeLessThanOrEqual(10 + TAKE_MS_MAX / 100);
    await limit({ quota: { bytesPerSecond: 100, recordsPerSecond: 1_000_000 } });
    expect((await exhaust(bench.host())).stored).toBeLessThanOrEqual(10 + TAKE_MS_MAX / 100);
  });
});

describe('a quota per caller', () => {
  it('is one for each: who has used up its own holds up nobody else', async () => {
    const host = bench.host();
    await limit({ quota: { perCaller: { recordsPerSecond: 10 } } });
    expect(await exhaust(host, 1, { caller: 'role:1:shop' })).toMatchObject({ scope: 'caller' });
    await append(host, 1, { caller: 'role:1:till' });
    await append(host); // of whom nobody knows who it is
    await refusalOf(append(bench.host(), 1, { caller: 'role:1:shop' }));
  });

  it("is not spent when the topic's own is used up", async () => {
    const host = bench.host();
    await limit({ quota: { recordsPerSecond: 10, perCaller: { recordsPerSecond: 5 } } });
    await append(host, 30, { caller: 'a' });
    for (let i = 0; i < 20; i++) {
      expect((await refusalOf(append(host, 1, { caller: 'b' }))).data).toMatchObject({ scope: 'topic' });
    }
    bench.clock.pass(10_000);
    await append(host, 1, { caller: 'b' });
  });
});

describe('a request with a key', () => {
  const fingerprint = 'ab'.repeat(32);
  const once = { key: 'k', fingerprint };

  it('pays once, however often it is repeated', async () => {
    const host = bench.host();
    await limit({ quota: { recordsPerSecond: 10 } });
    for (let i = 0; i < 50; i++) expect((await append(host, 1, { once })).duplicate).toBe(i > 0);
    await append(host);
  });

  it('is answered by another container, too, when it is repeated while the quota is used up', async () => {
    const [host, other] = [bench.host(), bench.host()];
    await limit({ quota: { recordsPerSecond: 10 } });
    await append(host, 1, { once });
    await exhaust(host);
    expect((await append(other, 1, { once })).duplicate).toBe(true);
    await refusalOf(append(other, 1, { once: { key: 'k', fingerprint: 'cd'.repeat(32) } }));
    await refusalOf(append(other, 1, { once: { key: 'new', fingerprint } }));
  });
});

describe('a quota', () => {
  it('counts for prepared appends as well', async () => {
    const host = bench.host();
    await limit({ quota: { recordsPerSecond: 10 } });
    await exhaust(host);
    await refusalOf(prepareAppend(host.backbone, requestOf(1)));
  });

  it('that is taken away, or another, counts nothing any more once copies of the topic are old', async () => {
    const host = bench.host();
    await limit({ quota: { recordsPerSecond: 1 } });
    await append(host, 1_000);
    await refusalOf(append(host));
    await limit({ quota: { recordsPerSecond: 100 } });
    bench.clock.pass(CONFIGURATION_CACHE_MS);
    await append(host);
    await limit({ quota: null });
    bench.clock.pass(CONFIGURATION_CACHE_MS);
    for (let i = 0; i < 3; i++) await append(host, 1_000);
  });

  it('that cannot be asked holds nobody back', async () => {
    const host = bench.host();
    await limit({ quota: { recordsPerSecond: 1 } });
    host.faults.next('UpdateItem', 'throttle', 3, 'quota#');
    await append(host, 10);
    host.faults.next('UpdateItem', 'lose-answer', 3, 'quota#');
    await append(host, 10);
  });

  it('is stored with the topic, and stays when other settings change', async () => {
    const quota = { bytesPerSecond: 5, perCaller: { recordsPerSecond: 7 } };
    const maxLag = { groups: ['billing', 'b'], records: 9 };
    expect((await limit({ quota, maxLag })).topic).toMatchObject({ quota, maxLag });
    await limit({ retentionMs: -1 });
    const { topics } = bench.host().backbone;
    expect(await topics.fresh(topic)).toMatchObject({ quota, maxLag, retentionMs: -1 });
    await limit({ quota: { recordsPerSecond: 1 }, partitions: 2 });
    expect(await topics.fresh(topic)).toMatchObject({ quota: { recordsPerSecond: 1 }, maxLag, partitions: 2 });
    await putTopic(bench.host().backbone, topic, { quota: null, maxLag: null });
    expect(Object.keys(await topics.fresh(topic))).not.toContain('quota');
    expect(Object.keys(await topics.fresh(topic))).not.toContain('maxLag');
  });
});
