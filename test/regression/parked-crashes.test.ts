import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DyingHost } from '../support/dying-host.ts';
import { openParkingBench, type ParkingBench } from '../support/parking-bench.ts';

/** More steps than anything takes here, and fewer than it does. */
const [STEPS_MAX, STEPS_MIN] = [50, 5];
/** Delivers, and, should the process die of it, has the message come back. @returns whether it lived */
async function deliver(bench: ParkingBench, dying: DyingHost, last: number): Promise<boolean> {
  const hasLived = await dying.lives((host) => bench.wake({ last }, host));
  if (!hasLived) await bench.wake({ last }, undefined, true);
  return hasLived;
}

describe.each([
  ['before that happens', false],
  ['before that is answered', true],
])('a delivery that dies at any step, %s,', (_, isDone) => {
  let bench: ParkingBench;
  beforeEach(async () => {
    bench = await openParkingBench();
  });
  afterEach(() => bench.close());

  /** Once for each step, until one lives, on a bench of its own. */
  async function atEachStep(each: (at: number) => Promise<boolean>): Promise<void> {
    let at = 1;
    while (!(await each(at))) {
      at += 1;
      expect(at).toBeLessThan(STEPS_MAX);
      await bench.close();
      bench = await openParkingBench();
    }
    expect(at).toBeGreaterThan(STEPS_MIN);
  }
  /** Time goes by: leases end, and the sweep finds what lost its message. */
  async function settle(): Promise<void> {
    for (let minutes = 0; minutes < 2; minutes++) {
      await bench.drain(60_000);
      bench.clock.pass(60_000);
      expect(await bench.sweep()).toEqual([]);
    }
    await bench.drain(1_000);
  }
  /** The values of `K` in the order in which each was taken first: they may be given again. */
  const firstsOf = (values: readonly string[]) => [...new Set(bench.given)].filter((value) => values.includes(value));
  const begin = async () => {
    await bench.park({ batch: { maxRecords: 2, maxBytes: 10_000 } });
    bench.bad.add('1');
    await bench.append(['a=0', 'K=1', 'b=2', 'K=3', 'c=4']);
  };

  it('of parking a key: it is parked all the same, and nothing is lost or overtaken', () =>
    atEachStep(async (at) => {
      await begin();
      const hasLived = await deliver(bench, new DyingHost(bench.host(), at, isDone), 4);
      await bench.drain(60_000);
      const { lane } = bench.laneId();
      expect(await bench.position(), `step ${at}`).toMatchObject({ committed: 5, parked: new Set([lane]) });
      expect(await bench.laneAt(), `step ${at}`).toMatchObject({ committed: 1 });
      expect(await bench.marks(), `step ${at}`).toEqual([lane]);
      bench.bad.clear();
      await settle();
      expect(firstsOf(['1', '3']), `step ${at}`).toEqual(['1', '3']);
      expect(new Set(bench.given).size, `step ${at}`).toBe(5);
      expect(await bench.laneAt(), `step ${at}`).toBeUndefined();
      await bench.expectNoneParked();
      return hasLived;
    }));

  it('of taking one back: it comes back all the same, and nothing is lost or overtaken', () =>
    atEachStep(async (at) => {
      await begin();
      await bench.wake({ last: 4 });
      await bench.drain(1_000);
      bench.bad.clear();
      await bench.getReady();
      await bench.append(['K=5', 'd=6', 'K=7', 'e=8']);
      // Some of it was passed over since.
      await bench.passTo(7);
      const hasLived = await deliver(bench, new DyingHost(bench.host(), at, isDone), 8);
      await settle();
      expect(firstsOf(['1', '3', '5', '7']), `step ${at}`).toEqual(['1', '3', '5', '7']);
      expect(bench.given, `step ${at}`).toContain('8');
      expect(await bench.position(), `step ${at}`).toMatchObject({ committed: 9 });
      expect(await bench.laneAt(), `step ${at}`).toBeUndefined();
      await bench.expectNoneParked();
      return hasLived;
    }));
});
