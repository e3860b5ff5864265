import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BackboneError } from '../../../shared/domain/errors.ts';
import { Consumer, commits, type GroupBench, type GroupHost, openGroupBench } from '../../support/group-bench.ts';
import { append, makeTopic } from '../../support/log-bench.ts';

const WRITES = ['PutItem', 'UpdateItem', 'DeleteItem', 'TransactWriteItems'];

let bench: GroupBench;

beforeAll(async () => {
  bench = await openGroupBench();
  const host = bench.host();
  await makeTopic(host, 't', { partitions: 2 });
  for (const partition of [0, 1]) await append(host, 't', 'a', 5, partition);
});
afterAll(() => bench.close());

/** Loses the answers of the first `attempts` attempts of one write, after so many others. @returns whether it came to that */
function loseAnswerOf({ faults }: GroupHost, write: number, attempts: number): () => boolean {
  const seen: string[] = [];
  let lost = 0;
  const pass = faults.handle.bind(faults);
  faults.handle = async (request, options) => {
    const answer = await pass(request, options);
    if (!WRITES.includes(faults.calls.at(-1)!)) return answer;
    const call = request.headers['amz-sdk-invocation-id']!;
    if (!seen.includes(call)) seen.push(call);
    if (seen.indexOf(call) !== write || lost === attempts) return answer;
    lost += 1;
    throw Object.assign(new Error('no answer came'), { name: 'TimeoutError' });
  };
  return () => lost > 0;
}

/** What a caller does who gets no answer: the same again. */
async function insist<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof BackboneError) || !error.retryable) throw error;
    // A check that was claimed and not finished is another's after a while; nobody waits for it here.
    return call();
  }
}

/** One story for each write of it, and for each number of attempts whose answers are lost, told in a group of its own. */
async function eachLoss(story: (group: string, lossy: () => GroupHost) => Promise<unknown>): Promise<number> {
  let stories = 0;
  for (const attempts of [1, 3]) {
    for (let write = 0, hasLost = () => true; hasLost(); write++) {
      const lossy = () => {
        const host = bench.host();
        hasLost = loseAnswerOf(host, write, attempts);
        return host;
      };
      await story(`g${attempts}.${write}`, lossy);
      stories += 1;
    }
  }
  return stories;
}

let names = 0;

describe('a call whose writes lose their answers, one after the other', () => {
  it('is a join that gets the same records when it is repeated', async () => {
    const prefix = `join${names++}`;
    const stories = await eachLoss(async (group, lossy) => {
      const consumer = new Consumer(lossy(), { proposed: '01J00000000000000000000000' }, `${prefix}.${group}`);
      await insist(() => consumer.poll());
      for (let i = 0; i < 3 && consumer.held.length < 2; i++) {
        bench.clock.pass(3_000);
        await consumer.poll();
      }
      expect(consumer.records.toSorted()).toEqual([0, 1].flatMap((p) => [0, 1, 2, 3, 4].map((o) => `${p}:${o}`)));
      const id = (await consumer.host.ports.groups.read(`${prefix}.${group}`, true))!;
      expect(await consumer.host.ports.members.all(id)).toHaveLength(1);
    });
    expect(stories).toBeGreaterThan(10);
  });

  it('is a poll that commits, releases and takes; nothing is skipped, nothing is given to two', async () => {
    const prefix = `poll${names++}`;
    const stories = await eachLoss(async (group, lossy) => {
      const name = `${prefix}.${group}`;
      const [first, second] = [new Consumer(bench.host(), {}, name), new Consumer(bench.host(), {}, name)];
      await first.poll({}, { records: 4 });
      await second.poll();
      const { revoked } = await first.poll({}, { records: 0 });
      first.host = lossy();
      const [given, kept] = [revoked[0]!, first.held[0]!];
      const commit = [
        { ...given, offset: 2 },
        { topic: 't', partition: kept.partition, epoch: kept.epoch, offset: 1 },
      ];
      first.revoked = [];
      const answer = await insist(() => first.poll({ commit, release: revoked }, { records: 1 }));
      expect(answer.commits.map(({ error }) => error)).toEqual([undefined, undefined]);
      second.host = first.host;
      await insist(() => second.poll());
      for (let i = 0; i < 3 && second.held.length === 0; i++) {
        bench.clock.pass(3_000);
        await second.poll();
      }
      expect(second.records).toEqual([2, 3, 4].map((offset) => `${given.partition}:${offset}`));
    });
    expect(stories).toBeGreaterThan(4);
  });

  it('is a static member’s next session, which has all that the former had', async () => {
    const prefix = `static${names++}`;
    await eachLoss(async (group, lossy) => {
      const join = { instanceId: 'pod-1', proposed: '01J00000000000000000000000' };
      await new Consumer(bench.host(), { instanceId: 'pod-1' }, `${prefix}.${group}`).poll();
      const next = new Consumer(lossy(), join, `${prefix}.${group}`);
      await insist(() => next.poll());
      // A partition whose take is in doubt is told of, and left for the next poll.
      if (next.held.length < 2) await next.poll();
      expect(next.held).toHaveLength(2);
      expect(new Set(next.records).size).toBe(10);
    });
  });

  it('is a commit without a member', async () => {
    const prefix = `commit${names++}`;
    await eachLoss(async (group, lossy) => {
      const host = lossy();
      const request = {
        group: `${prefix}.${group}`,
        offsets: [0, 1].map((partition) => ({ topic: 't', partition, offset: 3 })),
      };
      expect(await insist(() => commits(host, request))).toEqual(['0:3 done', '1:3 done']);
      const next = { ...request, offsets: [{ topic: 't', partition: 0, offset: 4 }] };
      expect(await insist(() => commits(host, next))).toEqual(['0:4 done']);
    });
  });

  it('is a leave: the next member has its partitions, though a repeat finds no member any more', async () => {
    const prefix = `leave${names++}`;
    await eachLoss(async (group, lossy) => {
      const name = `${prefix}.${group}`;
      const [leaving, next] = [new Consumer(bench.host(), {}, name), new Consumer(bench.host(), {}, name)];
      await leaving.poll();
      await next.poll();
      leaving.host = lossy();
      await insist(() => leaving.leave()).catch(({ code }) => expect(code).toBe('member_not_found'));
      for (let i = 0; i < 4 && next.held.length < 2; i++) {
        await next.poll();
        bench.clock.pass(9_000);
      }
      expect(next.held).toHaveLength(2);
    });
  });
});
