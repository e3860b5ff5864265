import type { Delivered } from '../shared/domain/delivery.ts';
import type { OnFailure } from '../shared/domain/subscription.ts';
import { produceEvents } from './backbone.ts';
import { orderEvents } from './event.ts';
import { type Call, sequentialRoundTrips, sum } from './meter.ts';
import { type DelayCase, delayRows } from './parking-delay.ts';
import { PushBench } from './push-bench.ts';
import { COST_HEADS, type CostRow, costOf } from './push-cost.ts';
import { type Law, type Progress, type Section, tableOf } from './section.ts';

export interface ParkingCase extends DelayCase {
  /** Records that wait behind the one that fails. */
  readonly waiting: number;
}

const FULL: ParkingCase = { waiting: 500, seconds: 15, pairs: 3, hangMs: 2_000 };
const TOPIC = 'orders';
const NAME = 's';
const BATCH = 100;
/** One record in so many is of the key that fails. */
const EVERY = 10;
const POISON = 'poison';
const MAX_BACKOFF_MS = 60_000;
/** Write units of the transaction that parks a key: position, lane and mark, twice each. */
const PARK_UNITS = 6;
const RETRY_UNITS_MAX = 3;
/** A recovery takes the lane, says that it is there, and may note on the head, as readers do, how far the log has no gaps. */
const RECOVERY_UNITS_BESIDE = 3;

const HEADS = {
  what: COST_HEADS.what,
  calls: 'calls of the target',
  tripsBefore: 'round trips before the first',
  writeUnits: COST_HEADS.writeUnits,
  transacted: 'in transactions',
  readUnits: COST_HEADS.readUnits,
  queries: COST_HEADS.queries,
  sends: COST_HEADS.sends,
};
const TIME_HEADS = { what: 'what', value: 'value', unit: 'unit' };

interface ParkingRow extends CostRow {
  /** Of the target. */
  readonly calls: number;
  readonly tripsBefore: number | undefined;
  readonly transacted: number;
}

/** What it costs that a key is parked, and whether others wait for it. */
export async function measureParking(progress: Progress, of: ParkingCase = FULL): Promise<Section> {
  progress('delivered batches');
  const plain = [await deliveredRow('deadLetter'), await deliveredRow('park')];
  const beside = await besideRow();
  progress('parking a key');
  const parking = [await failingRow(), await parkingRow()];
  progress('retries, recovery, and coming back');
  const [alone, waiting] = [await laneRows(0), await laneRows(of.waiting)];
  const between = await laneRows(of.waiting, EVERY);
  const delays = await delayRows(progress, of);
  const retries = [alone.retry, waiting.retry, between.retry];
  const recoveries = [waiting.recovery, between.recovery];
  const rows = [...plain, beside, ...parking, ...retries, ...recoveries, waiting.back, between.back];
  return {
    title: 'Parked keys: what they cost, whom they keep waiting',
    tables: [
      tableOf('Capacity as the engine reports it', HEADS, rows),
      tableOf('In one process: from the acknowledgement to the target, keys that do not fail', TIME_HEADS, delays),
    ],
    laws: [
      plainLaw(plain),
      besideLaw(plain[1]!, beside),
      parkingLaw(parking),
      retryLaw(retries),
      recoveryLaw(recoveries, of.waiting),
    ],
    notes: ['Aim: p99 of the other keys beside one that fails within 1.5 times that without; the median of all pairs.'],
  };
}

/** A subscription whose target takes everything but, while it is to, the records of one key; everything is known to its container. */
class Bench {
  readonly push: PushBench;
  fails = true;
  readonly #produce;
  #end = 0;
  #calls = 0;
  /** What was asked of AWS before the target was called. */
  #before: readonly Call[] = [];

  private constructor(push: PushBench) {
    this.push = push;
    this.#produce = push.producer();
  }

  static async run<T>(onFailure: OnFailure, use: (bench: Bench) => Promise<T>): Promise<T> {
    const push = await PushBench.open();
    try {
      const bench = new Bench(push);
      await push.topic(TOPIC);
      const retry = { maxAttempts: 1, minBackoffMs: 1, maxBackoffMs: MAX_BACKOFF_MS };
      await push.subscribe(NAME, TOPIC, async ({ records }) => bench.#answer(records), { onFailure, retry });
      await bench.append(BATCH);
      await bench.deliver();
      return await use(bench);
    } finally {
      await push.close();
    }
  }

  /** Appends by the hundred. @param isPoison tells by a record's place which ones are of the key that fails */
  async append(count: number, isPoison: (place: number) => boolean = () => false): Promise<void> {
    for (let from = 0; from < count; from += BATCH) {
      const events = orderEvents(Math.min(BATCH, count - from), this.#end + from + 1).map((event, i) =>
        isPoison(from + i) ? { ...event, key: POISON } : event,
      );
      await this.#produce(produceEvents(TOPIC, events));
    }
    this.#end += count;
  }

  /** Appends a batch in whose middle a record fails, and delivers it. */
  async fail(what = ''): Promise<ParkingRow> {
    await this.append(BATCH, (place) => place === BATCH / 2);
    return this.deliver(what);
  }

  deliver(what = ''): Promise<ParkingRow> {
    return this.#counted(what, () => this.push.deliver(TOPIC, this.#end - 1));
  }

  /** The lane's next retry, when it is due. */
  async deliverLane(what: string): Promise<ParkingRow> {
    this.push.passTime(MAX_BACKOFF_MS + 1);
    const { lanes } = await this.push.wakeUps(NAME, TOPIC);
    if (lanes.length !== 1) throw new Error(`${lanes.length} keys are parked, not one`);
    return this.#counted(what, () => this.push.wake(lanes[0]!));
  }

  async comeBack(what: string): Promise<ParkingRow> {
    const { partition } = await this.push.wakeUps(NAME, TOPIC);
    const row = await this.#counted(what, () => this.push.wake(partition));
    const { lanes } = await this.push.wakeUps(NAME, TOPIC);
    if (lanes.length > 0) throw new Error('the key is still parked');
    return row;
  }

  async #counted(what: string, act: () => Promise<void>): Promise<ParkingRow> {
    await this.push.meter.takeAll();
    this.#calls = 0;
    this.#before = [];
    await act();
    const calls = [...this.#before, ...(await this.push.meter.takeAll())];
    const transactions = calls.filter(({ operation }) => operation === 'TransactWriteItems');
    return {
      ...costOf(calls, what),
      transacted: sum(transactions, 'writeUnits'),
      calls: this.#calls,
      tripsBefore: this.#calls > 0 ? sequentialRoundTrips(this.#before) : undefined,
    };
  }

  #answer(records: readonly { readonly offset: number; readonly key: Uint8Array | null }[]): Delivered {
    if (this.#calls === 0) this.#before = this.push.meter.take();
    this.#calls += 1;
    const failing = records.find(({ key }) => key !== null && Buffer.from(key).toString() === POISON);
    if (failing === undefined || !this.fails) return { kind: 'done' };
    return { kind: 'failed', at: failing.offset, error: { name: 'poison', message: 'this key always fails' } };
  }
}

function deliveredRow(onFailure: OnFailure): Promise<ParkingRow> {
  return Bench.run(onFailure, async (bench) => {
    await bench.append(BATCH);
    return bench.deliver(`a delivered batch of ${BATCH}, onFailure ${onFailure}`);
  });
}

function besideRow(): Promise<ParkingRow> {
  return Bench.run('park', async (bench) => {
    await bench.fail();
    await bench.append(BATCH, (place) => place % EVERY === 0);
    return bench.deliver(`a batch of ${BATCH} beside a parked key, whose ${BATCH / EVERY} are passed over`);
  });
}

/** What follows from the same failure where nothing is parked. */
function failingRow(): Promise<ParkingRow> {
  const what = `a batch of ${BATCH} of which one fails, and is a dead letter`;
  return Bench.run('deadLetter', (bench) => bench.fail(what));
}

function parkingRow(): Promise<ParkingRow> {
  return Bench.run('park', (bench) => bench.fail(`a batch of ${BATCH} of which one fails, and its key is parked`));
}

/** @param every one record in so many is of the parked key, and waits */
async function laneRows(waiting: number, every = 1) {
  const among = every === 1 ? '' : ` among ${waiting * every}`;
  return Bench.run('park', async (bench) => {
    await bench.fail();
    if (waiting > 0) {
      await bench.append(waiting * every, (place) => place % every === 0);
      await bench.deliver();
    }
    const retry = await bench.deliverLane(`a retry, ${waiting}${among} waiting behind it`);
    bench.fails = false;
    const recovery = await bench.deliverLane(`the recovery of ${waiting}${among}, in batches of ${BATCH}`);
    const back = await bench.comeBack(`coming back, of ${waiting}${among}`);
    return { retry, recovery, back };
  });
}

function plainLaw([deadLetter, park]: readonly ParkingRow[]): Law {
  const isSame = (['writeUnits', 'readUnits', 'queries', 'sends'] as const).every(
    (of) => deadLetter![of] === park![of],
  );
  return {
    law: 'where no key is parked, a delivered batch costs the same whatever becomes of records that fail',
    broken: isSame ? [] : [inWords(deadLetter!), inWords(park!)],
  };
}

function besideLaw(plain: ParkingRow, beside: ParkingRow): Law {
  const isMore = (of: 'writeUnits' | 'queries' | 'tripsBefore', by: number) => beside[of]! > plain[of]! + by;
  const isBroken = isMore('writeUnits', 0) || isMore('tripsBefore', 0) || isMore('queries', 2);
  return {
    law: 'a batch beside a parked key takes no write unit and no round trip more, and no more than two Queries',
    broken: isBroken ? [inWords(beside)] : [],
  };
}

function parkingLaw([failing, parking]: readonly ParkingRow[]): Law {
  const { writeUnits, transacted } = parking!;
  const isKept = transacted === PARK_UNITS && writeUnits - transacted <= failing!.writeUnits;
  return {
    law: `parking a key takes ${PARK_UNITS} write units, beside what a failing call costs anyway`,
    broken: isKept ? [] : [inWords(parking!)],
  };
}

function retryLaw(retries: readonly ParkingRow[]): Law {
  const units = retries[0]!.writeUnits;
  const broken = retries.filter(({ writeUnits }) => writeUnits > RETRY_UNITS_MAX || writeUnits !== units);
  return {
    law: `a retry takes no more than ${RETRY_UNITS_MAX} write units, and no other number whatever waits behind it`,
    broken: broken.map(inWords),
  };
}

function recoveryLaw(recoveries: readonly ParkingRow[], waiting: number): Law {
  const isDear = ({ calls, writeUnits }: ParkingRow) => writeUnits > calls + RECOVERY_UNITS_BESIDE;
  // The record that failed goes alone.
  const isSlow = recoveries[0]!.calls > 1 + Math.ceil(waiting / BATCH);
  return {
    law: `a parked key that recovers is delivered in full batches, each a write unit, and ${RECOVERY_UNITS_BESIDE} besides`,
    broken: recoveries.filter((row, i) => isDear(row) || (i === 0 && isSlow)).map(inWords),
  };
}

function inWords({ what, calls, tripsBefore, writeUnits, readUnits, queries, sends }: ParkingRow): string {
  const ofTarget = `${calls} calls, ${tripsBefore ?? 'no'} round trips before the first`;
  return `${what}: ${ofTarget}, ${writeUnits} write and ${readUnits} read units, ${queries} Queries, ${sends} messages`;
}
