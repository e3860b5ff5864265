import { afterEach, describe, expect, it, vi } from 'vitest';
import { PRESIGNED_LIFE_MS } from '../../../shared/domain/limits.ts';
import { uploadObjectKey } from '../../../shared/store/keys.ts';
import { sha256Of } from '../../support/upload.ts';
import { ENVIRONMENTS } from '../environments.ts';
import { runSeed } from '../run.ts';
import { Bucket, SIMULATED_URLS } from './bucket.ts';
import { EmbeddedModel } from './embedded-model.ts';
import { changesOf, holds } from './expressions.ts';
import { Model } from './model.ts';
import { PERFECT } from './network.ts';
import { Random } from './random.ts';
import { Scheduler } from './scheduler.ts';
import { Services } from './services.ts';
import { World } from './world.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

describe('a seed', () => {
  it('stands for one run, whatever ran before it', async () => {
    const first = await runSeed(5, { traced: true });
    await runSeed(6);
    const again = await runSeed(5, { traced: true });
    expect(first.trace.length).toBeGreaterThan(500);
    expect(again.trace).toEqual(first.trace);
    expect(again.history).toEqual(first.history);
    expect((await runSeed(6, { traced: true })).trace).not.toEqual(first.trace);
  });

  it('depends on no clock, no timer and no chance of this machine', async () => {
    const forbidden = (name: string) => () => {
      throw new Error(`${name} in a simulated run`);
    };
    for (const name of ['setTimeout', 'setInterval'] as const) {
      vi.spyOn(globalThis, name).mockImplementation(forbidden(name) as never);
    }
    vi.spyOn(Date, 'now').mockImplementation(forbidden('Date.now'));
    vi.spyOn(Math, 'random').mockImplementation(forbidden('Math.random'));
    for (let seed = 0; seed < ENVIRONMENTS.length; seed++) expect((await runSeed(seed)).violations).toEqual([]);
  });

  it('does the same on the embedded engine, which is under the contract suites', async () => {
    const embedded = await EmbeddedModel.open();
    for (const seed of [3, 6, 8, 14, 15]) {
      const { trace, history } = await runSeed(seed, { traced: true });
      const there = await runSeed(seed, { traced: true, dynamodb: embedded });
      expect(there.trace).toEqual(trace);
      expect(there.history).toEqual(history);
    }
  });
});

describe('virtual time', () => {
  const scheduler = (seed = 1) => new Scheduler(new Random(seed), 1_000, false);

  it('goes from event to event, and orders those of one moment by the seed', async () => {
    const orders = new Set<string>();
    for (let seed = 0; seed < 20; seed++) {
      const { length } = await ordered(scheduler(seed), orders);
      expect(length).toBe(4);
    }
    expect([...orders].sort()).toEqual(['abcd', 'acbd']);
  });

  async function ordered(time: Scheduler, orders: Set<string>): Promise<string> {
    const names: string[] = [];
    const at = (ms: number, name: string) => time.after(ms, '', () => void names.push(name));
    at(2, 'c');
    at(2, 'b');
    at(1, 'a');
    at(3, 'd');
    await time.run(time.sleep(10), 100);
    expect(time.now).toBe(1_010);
    orders.add(names.join(''));
    return names.join('');
  }

  it('lets everything that an event set going come to rest before the next one', async () => {
    const time = scheduler();
    const seen: string[] = [];
    const slowly = async () => {
      for (let i = 0; i < 50; i++) await undefined;
      seen.push('first');
    };
    time.after(1, '', () => void slowly());
    time.after(2, '', () => void seen.push('second'));
    await time.run(time.sleep(5), 100);
    expect(seen).toEqual(['first', 'second']);
  });

  it('says so when nothing is left that could end a run, or when it does not end', async () => {
    await expect(scheduler().run(new Promise(() => {}), 100)).rejects.toThrow('will not happen');
    const time = scheduler();
    const again = () => time.after(1, '', again);
    again();
    await expect(time.run(new Promise(() => {}), 100)).rejects.toThrow('not ended after 100');
  });
});

describe('a simulated process', () => {
  const world = () => new World(new Model(), { seed: 1, habits: PERFECT, spillAboveBytes: 1_000 });

  it('that dies gets no answer any more, and its caller notices', async () => {
    const here = world();
    const host = here.start(0);
    const asked = here.call(host, () => host.backbone.topicItems.read('orders'));
    here.scheduler.after(1, '', () => here.crash(host));
    expect(await here.scheduler.run(asked, 100)).toBe('nothing');
  });

  it('that stands still goes on when it is thawed', async () => {
    const here = world();
    const host = here.start(0);
    const asked = here.call(host, () => host.backbone.topicItems.read('orders'));
    here.freeze(host, 20_000);
    expect(await here.scheduler.run(asked, 100)).not.toBe('nothing');
    expect(here.now).toBeGreaterThanOrEqual(Date.UTC(2030, 0, 1) + 20_000);
  });

  it('has a clock of its own', () => {
    const here = world();
    expect(here.start(1_500).now()).toBe(here.now + 1_500);
  });
});

describe('a read that need not be consistent', () => {
  it('may see what was there a moment ago, and one that must be does not', async () => {
    const model = new Model();
    const services = new Services(model, new Random(1));
    model.onChange = (change) => services.remember(change);
    const Key = { log: { S: 'a' }, last: { N: '1' } };
    await services.run('PutItem', { TableName: 'log', Item: Key });
    const looks = async (input: object) => {
      const seen = new Set<boolean>();
      for (let i = 0; i < 40; i++) {
        const outcome = await services.run('GetItem', { TableName: 'log', Key, ...input });
        seen.add('output' in outcome && 'Item' in outcome.output && outcome.output.Item !== undefined);
      }
      return [...seen].sort();
    };
    expect(await looks({ ConsistentRead: true })).toEqual([true]);
    expect(await looks({})).toEqual([false, true]);
    model.now += 5_000;
    expect(await looks({})).toEqual([true]);
  });
});

describe('the bucket', () => {
  const payload = Buffer.from('payload');
  const signed = { topicId: 'T', uploadId: 'U', size: payload.length, sha256: sha256Of(payload) };
  const Key = uploadObjectKey(signed);

  it('takes what was signed, in its time, and nothing else', async () => {
    const bucket = new Bucket();
    const { url } = await SIMULATED_URLS.put(signed, 1_000);
    expect(bucket.put(url, Buffer.from('PAYLOAD'), 1_000)).toBe('refused');
    expect(bucket.put(url, Buffer.from('payload!'), 1_000)).toBe('refused');
    expect(bucket.put(url, payload, 1_001 + PRESIGNED_LIFE_MS)).toBe('refused');
    expect(bucket.put(await SIMULATED_URLS.get(signed, 1_000), payload, 1_000)).toBe('refused');
    expect(bucket.run('HeadObject', { Key })).toMatchObject({ error: { name: 'NotFound' } });
    expect(bucket.put(url, payload, 1_000 + PRESIGNED_LIFE_MS)).toBe('stored');
    const ChecksumSHA256 = Buffer.from(signed.sha256, 'hex').toString('base64');
    expect(bucket.run('HeadObject', { Key })).toEqual({ output: { ContentLength: 7, ChecksumSHA256 } });
  });

  it('gives it back by a URL that is good, until it is deleted', async () => {
    const bucket = new Bucket();
    const url = await SIMULATED_URLS.get(signed, 1_000);
    expect(bucket.get(url, 1_000)).toBe('missing');
    bucket.put((await SIMULATED_URLS.put(signed, 1_000)).url, payload, 1_000);
    expect(bucket.get(url, 1_000)).toEqual(new Uint8Array(payload));
    expect(bucket.get(url, 1_001 + PRESIGNED_LIFE_MS)).toBe('refused');
    bucket.run('DeleteObject', { Key });
    expect(bucket.get(url, 1_000)).toBe('missing');
  });
});

describe('the model of DynamoDB', () => {
  const item = { a: { N: '5' }, b: { S: 'text' }, c: { B: Uint8Array.of(1, 2, 3) } };
  const bindings = {
    ExpressionAttributeNames: { '#a': 'a' },
    ExpressionAttributeValues: {
      ':four': { N: '4' },
      ':ten': { N: '10' },
      ':te': { S: 'te' },
      ':bytes': { B: Uint8Array.of(1) },
    },
  };

  it.each([
    ['attribute_exists(#a) AND NOT attribute_exists(z)', true],
    ['attribute_not_exists(a) OR a <= :four', false],
    ['#a > :four AND (b = :ten OR begins_with(b, :te))', true],
    ['a BETWEEN :four AND :ten', true],
    ['a BETWEEN :ten AND :ten', false],
    ['begins_with(c, :bytes)', true],
    ['begins_with(z, :bytes)', false],
    ['z = :four', false],
    ['a IN (:four, #a) AND NOT a IN (:four, :ten)', true],
    ['z IN (:four, :ten)', false],
    ['z <> :four', true],
    // As numbers, not as texts.
    ['a < :ten', true],
  ])('reads %s as %s', (condition, expected) => {
    expect(holds(condition, item, bindings)).toBe(expected);
  });

  it('computes an update from the item as it was', () => {
    expect(changesOf('ADD n :four, a :four', { a: { N: '1' } }, bindings)).toEqual({ n: { N: '4' }, a: { N: '5' } });
    expect(changesOf('SET a = a + :four, d = a REMOVE b', item, bindings)).toEqual({
      a: { N: '9' },
      d: { N: '5' },
      b: undefined,
    });
  });

  it('refuses what it does not know instead of guessing', async () => {
    expect(() => holds('contains(a, :four)', item, bindings)).toThrow();
    expect(() => holds('a = :four AND', item, bindings)).toThrow();
    expect(() => holds('a = :unbound', item, bindings)).toThrow(':unbound stands for nothing');
    await expect(new Model().run('Scan', {})).rejects.toThrow('the model has no Scan');
  });
});
