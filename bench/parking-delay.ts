import { setTimeout as sleep } from 'node:timers/promises';
import type { Delivered, DeliveryBatch } from '../shared/domain/delivery.ts';
import { produceEvents } from './backbone.ts';
import { orderEvents } from './event.ts';
import { PushBench } from './push-bench.ts';
import { median, type Progress } from './section.ts';

export interface DelayCase {
  /** Of each run. */
  readonly seconds: number;
  /** Runs without and with a key that fails, in turns. */
  readonly pairs: number;
  /** How long a call with the key that hangs takes, each time. */
  readonly hangMs: number;
}

const TOPIC = 'orders';
const KEYS = 20;
/** The one that fails, where one does: it is none of the others in any run. */
const POISON = 'k0';
/** From one append of a single record to the next, unless that takes longer. */
const EVERY_MS = 25;
const RETRY = { maxAttempts: 3, minBackoffMs: 10, maxBackoffMs: 1_000 };
const RECOVERY_MS_MAX = 30_000;
const LOOK_MS = 10;

type Way = 'healthy' | 'fails' | 'hangs';

interface Delays {
  /** ms, of keys that do not fail. */
  readonly p50: number;
  readonly p99: number;
  /** From when the target was mended until it had everything: ms. */
  readonly recoveryMs: number;
}

/** Time from the acknowledgement to the target of other keys of the same partition. */
export async function delayRows(progress: Progress, { seconds, pairs, hangMs }: DelayCase) {
  const without: Delays[] = [];
  const beside: Delays[] = [];
  progress('a run that is not counted');
  await delays('fails', seconds / 5);
  for (let pair = 1; pair <= pairs; pair++) {
    progress(`other keys, without and beside one that fails, ${pair} of ${pairs}`);
    without.push(await delays('healthy', seconds));
    beside.push(await delays('fails', seconds));
  }
  progress('other keys beside one that hangs');
  const hung = await delays('hangs', seconds, hangMs);
  const p99 = median(without.map((run) => run.p99));
  const ratios = (of: 'p50' | 'p99') => beside.map((run, i) => run[of] / without[i]![of]);
  const ms = (what: string, value: number) => ({ what, value, unit: 'ms' });
  const times = (what: string, value: number) => ({ what, value, unit: '' });
  return [
    ms('no key fails, p50', median(without.map((run) => run.p50))),
    ms('no key fails, p99', p99),
    ms('beside one that always fails, p50', median(beside.map((run) => run.p50))),
    ms('beside one that always fails, p99', median(beside.map((run) => run.p99))),
    times('times as long, p50', median(ratios('p50'))),
    times('times as long, p99', median(ratios('p99'))),
    times('in the best pair', Math.min(...ratios('p99'))),
    times('in the worst pair', Math.max(...ratios('p99'))),
    ms(`beside one whose calls hang for ${hangMs} ms and fail, once it is parked, p50`, hung.p50),
    ms(`beside one whose calls hang for ${hangMs} ms and fail, once it is parked, p99`, hung.p99),
    times('times as long as where no key fails, p99', hung.p99 / p99),
    ms('the key that failed, from mended to all delivered', median(beside.map((run) => run.recoveryMs))),
  ];
}

async function delays(way: Way, seconds: number, hangMs = 0): Promise<Delays> {
  const bench = await PushBench.open();
  try {
    await bench.topic(TOPIC);
    bench.start();
    const target = new Target(way, hangMs);
    await bench.subscribe('s', TOPIC, (batch) => target.send(batch), { onFailure: 'park', retry: RETRY });
    const acknowledged = await append(bench, seconds);
    const recoveryMs = await target.recover(acknowledged.length);
    // While the attempts of a key that hangs are not used up, all wait for it: that is no matter of parking.
    const from = way === 'hangs' ? target.parkedAt : 0;
    const waits = acknowledged
      .map((at, offset) => ({ at, offset, wait: Math.max(0, target.takenAt[offset]! - at) }))
      .filter(({ at, offset }) => keyOf(offset) !== POISON && at >= from)
      .map(({ wait }) => wait)
      .sort((a, b) => a - b);
    const quantile = (share: number) => waits[Math.ceil(waits.length * share) - 1] ?? Number.NaN;
    return { p50: quantile(0.5), p99: quantile(0.99), recoveryMs };
  } finally {
    await bench.close();
  }
}

/** One record after the other, at an even pace. @returns when each was acknowledged, by offset */
async function append(bench: PushBench, seconds: number): Promise<number[]> {
  const produce = bench.producer();
  const acknowledged: number[] = [];
  const end = performance.now() + seconds * 1_000;
  while (performance.now() < end) {
    const offset = acknowledged.length;
    const pause = sleep(EVERY_MS);
    await produce(produceEvents(TOPIC, [{ ...orderEvents(1, offset + 1)[0]!, key: keyOf(offset) }]));
    acknowledged.push(performance.now());
    await pause;
  }
  return acknowledged;
}

function keyOf(offset: number): string {
  return `k${offset % KEYS}`;
}

/** Answers at once, but for one key, which it refuses until it is mended. */
class Target {
  /** When the call began that took a record, by offset. */
  readonly takenAt: number[] = [];
  /** When the first call was made for a parked key. */
  parkedAt = Number.POSITIVE_INFINITY;
  readonly #way: Way;
  readonly #hangMs: number;
  #taken = 0;
  #isMended = false;

  constructor(way: Way, hangMs: number) {
    this.#way = way;
    this.#hangMs = hangMs;
  }

  async send({ records, lane }: DeliveryBatch): Promise<Delivered> {
    const now = performance.now();
    if (lane !== undefined) this.parkedAt = Math.min(this.parkedAt, now);
    const refuses = this.#way !== 'healthy' && !this.#isMended;
    if (refuses && records.some(({ offset }) => keyOf(offset) === POISON)) {
      if (this.#way === 'hangs') await sleep(this.#hangMs);
      return { kind: 'failed', error: { name: 'poison', message: 'this key always fails' } };
    }
    for (const { offset } of records) {
      if (this.takenAt[offset] === undefined) this.#taken += 1;
      this.takenAt[offset] ??= now;
    }
    return { kind: 'done' };
  }

  /** @returns ms until it has all of so many records @throws {Error} when they do not come */
  async recover(records: number): Promise<number> {
    this.#isMended = true;
    const mendedAt = performance.now();
    while (this.#taken < records) {
      if (performance.now() > mendedAt + RECOVERY_MS_MAX)
        throw new Error(`${this.#taken} of ${records} were delivered`);
      await sleep(LOOK_MS);
    }
    return performance.now() - mendedAt;
  }
}
