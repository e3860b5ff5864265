import { beforeEach, describe, expect, it } from 'vitest';
import { type Claim, movePin, type Pin } from '../../../shared/domain/claim.ts';
import { OutcomeUnknown, Unavailable } from '../../../shared/domain/errors.ts';
import { FILL_DEADLINE_MS, PARALLEL_CALLS_MAX } from '../../../shared/domain/limits.ts';
import { WriteFailed } from '../../../shared/domain/write-failed.ts';
import { appendBatches } from '../../../shared/operations/append-batches.ts';
import { ClaimMoved, type ClaimStore, PinnedClaim } from '../../../shared/operations/pinned-claim.ts';
import { batchOf, type Host, makeTopic, openLogBench, read } from '../../support/log-bench.ts';

const NOW = 1_800_000_000_000;
const topic = { name: 'orders', id: 'T', partitions: 8, retentionMs: -1, createdAt: 0, hiddenUntil: 0 };
const pin = (partition: number, id: string): Pin => ({ partition, id, base: 0, count: 1, time: NOW });
const first: Claim = {
  fingerprint: 'f',
  placement: { partitions: 8, keyless: 0, takenAt: NOW },
  pins: Array.from({ length: 8 }, (_, partition) => pin(partition, 'old')),
  expiresAt: NOW / 1_000 + 24 * 3_600,
};

describe('a claim whose pins are moved', () => {
  let there: Claim | undefined;
  /** What is done to the claim by others, before a compare-and-set of this request. */
  let meanwhile: (() => void)[];
  let replaced: number;
  let claim: PinnedClaim;
  beforeEach(() => {
    there = first;
    meanwhile = [];
    replaced = 0;
    const claims: ClaimStore = {
      read: async () => there,
      make: async () => undefined,
      replace: async (_, __, from, to) => {
        replaced += 1;
        meanwhile.shift()?.();
        if (there !== from) return false;
        there = to;
        return true;
      },
    };
    claim = new PinnedClaim(claims, topic, 'k', first, () => NOW);
  });
  const move = (partition: number, id = 'new', from = 'old') => claim.move(from, pin(partition, id));
  const ids = () => there?.pins.map(({ id }) => id);

  it('has all moved together that wait while one is moved', async () => {
    await Promise.all(first.pins.map(({ partition }) => move(partition)));
    expect(ids()).toEqual(Array(8).fill('new'));
    expect(replaced).toBe(2);
    expect(claim.current).toEqual(there);
  });

  it('tells who finds his pin moved by somebody else, and moves the others', async () => {
    meanwhile = [() => {}, () => (there = movePin(there!, pin(3, 'other'), there!.expiresAt))];
    const moves = await Promise.allSettled(first.pins.map(({ partition }) => move(partition)));
    expect(moves.map(({ status }) => status)).toEqual(first.pins.map((_, i) => (i === 3 ? 'rejected' : 'fulfilled')));
    expect(moves[3]).toMatchObject({ reason: expect.any(ClaimMoved) });
    expect(ids()).toEqual(['new', 'new', 'new', 'other', 'new', 'new', 'new', 'new']);
  });

  it('moves a pin on from where it was moved to', async () => {
    await move(0);
    await move(0, 'newer', 'new');
    await expect(move(0, 'newest', 'new')).rejects.toBeInstanceOf(ClaimMoved);
    expect(ids()?.[0]).toBe('newer');
  });

  it('is given up when others change it every time', async () => {
    let expiresAt = first.expiresAt;
    const change = () => {
      expiresAt -= 1;
      there = { ...there!, expiresAt };
    };
    meanwhile = Array(20).fill(change);
    await expect(move(0)).rejects.toBeInstanceOf(Unavailable);
    expect(replaced).toBe(8);
    meanwhile = [];
    await expect(move(1)).resolves.toBeUndefined(); // who comes later has tries of his own
  });

  it('fails for all who were moved together, and for nobody else', async () => {
    meanwhile = [
      () => {},
      () => {
        throw new WriteFailed('unreachable', true, undefined);
      },
    ];
    const moves = await Promise.allSettled([0, 1, 2].map((partition) => move(partition)));
    expect(moves.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(moves[1]).toMatchObject({ reason: expect.any(Unavailable) });
    await move(3);
    expect(ids()?.slice(0, 4)).toEqual(['new', 'old', 'old', 'new']);
  });

  it('that has died is nobody’s to move', async () => {
    meanwhile = [() => (there = undefined)];
    await expect(move(0)).rejects.toBeInstanceOf(OutcomeUnknown);
  });
});

it('a repeat of a request to very many partitions, of which none was filled, replaces the claim a few times', async () => {
  const partitions = 3 * PARALLEL_CALLS_MAX;
  const bench = await openLogBench();
  const once = (host: Host) =>
    appendBatches(host.backbone, {
      topic: 'orders',
      build: () => new Map(Array.from({ length: partitions }, (_, i) => [i, batchOf('a')])),
      once: { key: 'k', fingerprint: 'ab'.repeat(32) },
    });
  const dead = bench.host();
  await makeTopic(dead, 'orders', { partitions });
  // It dies when it has made its claim.
  dead.backbone.log.fill = () => new Promise(() => {});
  const made = new Promise<void>((resolve) => {
    const { claims } = dead.backbone;
    const make = claims.make.bind(claims);
    claims.make = async (...claim) => {
      const found = await make(...claim);
      resolve();
      return found;
    };
  });
  void once(dead);
  await made;
  bench.clock.pass(10 * FILL_DEADLINE_MS);

  const host = bench.host();
  const { claims } = host.backbone;
  const replace = claims.replace.bind(claims);
  let replaced = 0;
  claims.replace = (...claim) => {
    replaced += 1;
    return replace(...claim);
  };
  const { outcomes, duplicate } = await once(host);
  expect(duplicate).toBe(true);
  expect(outcomes.every((outcome) => 'baseOffset' in outcome)).toBe(true);
  expect(replaced).toBeLessThanOrEqual(partitions / 8);
  expect((await read(host, 'orders', 0, { partition: partitions - 1 })).got).toEqual(['a@1..1']);
  await bench.close();
});
