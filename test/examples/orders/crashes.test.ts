import { describe, expect, it, vi } from 'vitest';
import { chanceOf } from '../../../examples/orders/run/chance.ts';
import { Crash, Crashes } from '../../../examples/orders/run/crashes.ts';
import type { Services } from '../../../examples/orders/shop/services.ts';

function services() {
  const send = vi.fn(async () => ({}));
  const settle = vi.fn(async () => ({ committed: true }));
  const prepareAppend = vi.fn(async () => ({ items: [], offsets: [], settle }));
  const provider = { charge: vi.fn(async () => ({})) };
  const real = { backbone: { prepareAppend }, dynamodb: { send }, table: 'shop', stateTable: 'state', provider };
  return { real: real as unknown as Services, send, settle };
}
/** Strikes at the nth look at it. */
const at = (strike: number) => {
  let looks = 0;
  return () => (++looks === strike ? 0 : 1);
};
class PutItemCommand {}
const write = (given: Services) => given.dynamodb.send(new PutItemCommand() as never);

describe('a function that crashes', () => {
  it('before a call has not made it, and makes no other from then on', async () => {
    const { real, send } = services();
    const crashes = new Crashes(at(1), 0.1);
    const call = crashes.of(real);
    await expect(write(call)).rejects.toThrow(Crash);
    await expect(write(call)).rejects.toThrow(Crash);
    expect(send).not.toHaveBeenCalled();
    expect([...crashes.counts]).toEqual([['before PutItemCommand', 1]]);
  });

  it('after a call has made it, and nobody hears of it', async () => {
    const { real, send } = services();
    const call = new Crashes(at(2), 0.1).of(real);
    await expect(write(call)).rejects.toThrow(Crash);
    expect(send).toHaveBeenCalledTimes(1);
  });

  it('does not even settle what it prepared', async () => {
    const { real, settle } = services();
    const call = new Crashes(at(4), 0.1).of(real);
    const prepared = await call.backbone.prepareAppend('orders', []);
    await expect(write(call)).rejects.toThrow(Crash);
    await expect(prepared.settle()).rejects.toThrow(Crash);
    expect(settle).not.toHaveBeenCalled();
  });

  it('is but one call of it: the next one lives', async () => {
    const { real } = services();
    const crashes = new Crashes(at(1), 0.1);
    await expect(write(crashes.of(real))).rejects.toThrow(Crash);
    await expect(write(crashes.of(real))).resolves.toEqual({});
  });

  it('never does so where no crashes are asked for', () => {
    const { real } = services();
    expect(new Crashes(() => 0, 0).of(real)).toBe(real);
  });
});

it('chance is even, and the same for the same seed', () => {
  const drawn = (seed: number) => Array.from({ length: 1_000 }, chanceOf(seed));
  expect(drawn(7)).toEqual(drawn(7));
  expect(drawn(7)).not.toEqual(drawn(8));
  const mean = drawn(7).reduce((sum, value) => sum + value, 0) / 1_000;
  expect(mean).toBeGreaterThan(0.45);
  expect(mean).toBeLessThan(0.55);
  expect(drawn(7).every((value) => value >= 0 && value < 1)).toBe(true);
});
