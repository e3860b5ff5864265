import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Admin } from '../../client/admin.ts';
import { ApiError } from '../../client/api-error.ts';
import { Vertebra } from '../../client/vertebra.ts';
import { type LocalBackbone, startLocalBackbone } from '../../local/embedding.ts';
import { produceLines } from '../support/api-client.ts';
import { type FaultyProxy, openFaultyProxy, problem } from '../support/faulty-proxy.ts';

let backbone: LocalBackbone;
let proxy: FaultyProxy;
let admin: Admin;
beforeAll(async () => {
  backbone = await startLocalBackbone();
  proxy = await openFaultyProxy(backbone.url);
  admin = new Vertebra({ endpoint: proxy.url, retry: { minBackoffMs: 1 } }).admin();
});
afterAll(async () => {
  await proxy.close();
  await backbone.dispose();
});
beforeEach(() => {
  proxy.fault = () => undefined;
});

const code = (call: Promise<unknown>) =>
  call.then(
    () => 'fine',
    (error: unknown) => (error as ApiError).code,
  );

describe('topics', () => {
  it('are made, described, listed, grown and deleted', async () => {
    const topics = [{ topic: 'first', numPartitions: 3, retentionMs: 7_200_000 }, { topic: 'second' }];
    expect(await admin.createTopics({ topics })).toBe(true);
    expect(await admin.describeTopic('first')).toMatchObject({ name: 'first', partitions: 3, retentionMs: 7_200_000 });
    expect(await admin.describeTopic('second')).toMatchObject({ partitions: 8 });
    expect(await admin.listTopics()).toEqual(['first', 'second']);
    const grown = await admin.createPartitions({ topicPartitions: [{ topic: 'first', count: 5 }] });
    expect(grown).toMatchObject([{ name: 'first', partitions: 5, keysMoved: true }]);
    expect(await admin.setRetention({ topic: 'first', retentionMs: -1 })).toMatchObject({ retentionMs: -1 });
    await admin.deleteTopics({ topics: ['first', 'second'] });
    expect(await admin.listTopics()).toEqual([]);
  });

  it('that exist stay as they are when they are to be made again', async () => {
    await admin.createTopics({ topics: [{ topic: 'kept', numPartitions: 2 }] });
    expect(await admin.createTopics({ topics: [{ topic: 'kept', numPartitions: 9, retentionMs: -1 }] })).toBe(false);
    expect(await admin.describeTopic('kept')).toMatchObject({ partitions: 2, retentionMs: 604_800_000 });
  });

  it('that do not exist are not made by a change, and not deleted', async () => {
    const unknown = 'topic_not_found';
    expect(await code(admin.createPartitions({ topicPartitions: [{ topic: 'none', count: 2 }] }))).toBe(unknown);
    expect(await code(admin.setRetention({ topic: 'none', retentionMs: -1 }))).toBe(unknown);
    expect(await code(admin.deleteTopics({ topics: ['none'] }))).toBe(unknown);
    expect(await code(admin.describeTopic('__proto__'))).toBe(unknown);
  });

  it('do not shrink, and have no impossible names', async () => {
    await admin.createTopics({ topics: [{ topic: 'wide', numPartitions: 2 }] });
    const shrink = admin.createPartitions({ topicPartitions: [{ topic: 'wide', count: 1 }] });
    expect(await code(shrink)).toBe('partitions_cannot_shrink');
    expect(await code(admin.createTopics({ topics: [{ topic: 'a/b' }] }))).toBe('invalid_request');
    expect(await code(admin.createTopics({ topics: [{ topic: 'a b' }] }))).toBe('invalid_request');
    expect(await code(admin.deleteTopics({ topics: ['..'] }))).toBe('invalid_request');
  });

  it('are neither made nor deleted where names are missing, or a text stands for a list of them', async () => {
    await admin.createTopics({ topics: [{ topic: 'undefined' }, { topic: 'x' }] });
    expect(await code(admin.deleteTopics({ topics: [undefined as never] }))).toBe('invalid_request');
    expect(await code(admin.deleteTopics({ topics: 'x' as never }))).toBe('invalid_options');
    expect(await code(admin.deleteGroups('x' as never))).toBe('invalid_options');
    expect(await code(admin.createTopics({ topics: [{ name: 'y' } as never] }))).toBe('invalid_options');
    const kafkas = { topics: [{ topic: 'z' }], validateOnly: true };
    expect(await code(admin.createTopics(kafkas as never))).toBe('invalid_options');
    expect(await admin.listTopics()).toEqual(expect.arrayContaining(['undefined', 'x']));
    expect(await admin.listTopics()).not.toContain('z');
    await admin.deleteTopics({ topics: ['undefined', 'x'] });
  });

  it('are all listed, whatever fits into one page', async () => {
    const pages = [{ topics: [{ name: 'a' }], nextToken: 't' }, { topics: [{ name: 'b' }] }];
    proxy.fault = (_, index) => ({ status: 200, body: JSON.stringify(pages[index - first]) });
    const first = proxy.passed.length;
    expect(await admin.listTopics()).toEqual(['a', 'b']);
    expect(proxy.passed.at(-1)!.target).toContain('nextToken=t');
  });
});

describe('offsets', () => {
  it('are told of every partition, by end and by time', async () => {
    await admin.createTopics({ topics: [{ topic: 'logs', numPartitions: 2 }] });
    const [placed] = await produceLines(backbone.url, 'logs', ['{"k":"a"}', '{"k":"a"}'], '/k');
    const offsets = await admin.fetchTopicOffsets('logs');
    expect(offsets[placed!.partition]).toEqual({
      ...{ partition: placed!.partition, offset: 2, high: 2, low: 0, logEndOffset: 2 },
    });
    expect(offsets[1 - placed!.partition]).toMatchObject({ high: 0, low: 0 });
    const at = async (time?: 'earliest' | number | Date) =>
      (await admin.fetchTopicOffsetsByTimestamp('logs', time))[placed!.partition]!.offset;
    expect(await at()).toBe(2);
    expect(await at('earliest')).toBe(0);
    expect(await at(0)).toBe(0);
    expect(await at(new Date(Date.now() + 3_600_000))).toBe(2);
  });
});

describe('groups', () => {
  it('are listed, described, moved and deleted', async () => {
    await admin.createTopics({
      topics: [
        { topic: 'held', numPartitions: 2 },
        { topic: 'idle', numPartitions: 1 },
      ],
    });
    await produceLines(backbone.url, 'held', ['{"k":"a"}', '{"k":"b"}', '{"k":"c"}', '{"k":"d"}'], '/k');
    const group = 'readers';
    const commit = (topic: string, offset: number) => ({ topic, partition: 0, offset, metadata: 'by hand' });
    const post = async (act: string, body: object) => {
      const response = await fetch(`${backbone.url}/v1/groups/${group}/${act}`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
      });
      expect(response.ok).toBe(true);
      return response;
    };
    const poll = await post('poll', { topics: ['held', 'idle'] });
    const { memberId } = (await poll.json()) as { memberId: string };
    expect(await admin.listGroups()).toMatchObject([{ group }]);
    expect(await admin.describeGroup(group)).toMatchObject({
      group,
      members: [{ memberId, topics: ['held', 'idle'] }],
    });
    const reset = () => admin.resetOffsets({ groupId: group, topic: 'held', partitions: [0], to: { at: new Date(0) } });
    expect(await code(reset())).toBe('group_active');
    await post('leave', { memberId });
    expect(await reset()).toMatchObject([{ topic: 'held', partition: 0, offset: 0 }]);
    await post('commits', { offsets: [commit('held', 1)] });
    const [held] = await admin.fetchOffsets({ groupId: group, topics: ['held'] });
    const byHand = { partition: 0, offset: 1, metadata: 'by hand' };
    expect(held).toEqual({ topic: 'held', partitions: [byHand, { partition: 1, offset: 0 }] });
    const partitions = [
      { partition: 0, offset: 1 },
      { partition: 1, offset: 0 },
    ];
    await admin.setOffsets({ groupId: group, topic: 'held', partitions });
    const { offsets } = await admin.describeGroup(group);
    expect(offsets.filter(({ topic }) => topic === 'held').map(({ committed }) => committed)).toEqual([1, 0]);
    expect(await admin.listDeadLetters({ groupId: group, topic: 'held', since: 0 })).toEqual({ deadLetters: [] });
    await admin.deleteGroups([group]);
    expect(await code(admin.describeGroup(group))).toBe('group_not_found');
    expect(await code(admin.fetchTopicOffsetsByTimestamp('held', Number.NaN))).toBe('invalid_options');
  });
});

describe('a call that fails', () => {
  it('is made again while that may help', async () => {
    await admin.createTopics({ topics: [{ topic: 'busy' }] });
    const before = proxy.passed.length;
    proxy.fault = (_, index) => (index < before + 2 ? problem(429, 'throttled', { retryAfterMs: 1 }) : undefined);
    expect(await admin.describeTopic('busy')).toMatchObject({ name: 'busy' });
    expect(proxy.passed.length).toBe(before + 3);
  });

  it('is a success when it was done and only the answer was lost', async () => {
    let lost = 0;
    proxy.fault = ({ method }) => (method !== 'GET' && lost++ % 2 === 0 ? 'lose' : undefined);
    expect(await admin.createTopics({ topics: [{ topic: 'lost', numPartitions: 2 }] })).toBe(true);
    await admin.deleteTopics({ topics: ['lost'] });
    expect(lost).toBe(4);
    expect(await code(admin.describeTopic('lost'))).toBe('topic_not_found');
  });

  it('is given up when the caller aborts', async () => {
    const stop = new AbortController();
    const patient = new Vertebra({ endpoint: proxy.url }).admin({ signal: stop.signal });
    proxy.fault = () => {
      stop.abort();
      return 'hang';
    };
    await expect(patient.listTopics()).rejects.toMatchObject({ code: 'aborted' });
    await expect(patient.deleteTopics({ topics: ['a'] })).rejects.toMatchObject({ code: 'aborted' });
  });

  it('is given up when its time is over', async () => {
    const impatient = new Vertebra({ endpoint: proxy.url, retry: { withinMs: 30, minBackoffMs: 1 } }).admin();
    proxy.fault = () => problem(503, 'unavailable');
    await expect(impatient.listTopics()).rejects.toBeInstanceOf(ApiError);
    await expect(impatient.deleteTopics({ topics: ['a'] })).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('subscriptions', () => {
  const target = { http: { url: 'http://127.0.0.1:9009/' } };

  it('are made, changed, described, sought, paused, resumed, listed and deleted', async () => {
    await admin.createTopics({ topics: [{ topic: 'pushed', numPartitions: 2 }] });
    const made = await admin.putSubscription('invoices', { topics: ['pushed'], target, from: { at: 0 } });
    expect(made).toMatchObject({ state: 'active', target: { http: { secret: expect.stringMatching(/^whsec_/) } } });
    expect(await admin.putSubscription('invoices', { timeoutMs: 2_000 })).toMatchObject({
      id: made.id,
      timeoutMs: 2_000,
    });
    expect(await admin.describeSubscription('invoices')).toMatchObject({ lag: 0, partitions: [{}, {}], errors: [] });
    expect(await admin.seekSubscription({ name: 'invoices', topic: 'pushed', partitions: [1], to: 'latest' })).toEqual([
      { topic: 'pushed', partition: 1, offset: 0 },
    ]);
    expect(await admin.pauseSubscription('invoices')).toMatchObject({ state: 'paused' });
    expect(await admin.resumeSubscription('invoices')).toMatchObject({ state: 'active' });
    expect((await admin.listSubscriptions()).map(({ name }) => name)).toEqual(['invoices']);
    await admin.deleteSubscriptions(['invoices']);
    expect(await code(admin.describeSubscription('invoices'))).toBe('subscription_not_found');
    expect(await code(admin.deleteDeadLetter({ groupId: 'invoices', id: 'x' }))).toBe('group_not_found');
  });

  it('have dead letters redriven by one call, and no other', async () => {
    await admin.createTopics({ topics: [{ topic: 'pushed', numPartitions: 2 }] });
    await admin.putSubscription('again', { topics: ['pushed'], target });
    const filter = { topic: 'pushed', since: new Date(0) };
    const none = { redriving: 0, more: false };
    expect(await admin.redriveDeadLetters({ groupId: 'again', filter, ratePerSecond: 5 })).toEqual(none);
    expect(await admin.redriveDeadLetters({ groupId: 'again', filter: {}, dryRun: true })).toEqual(none);
    expect(await code(admin.redriveDeadLetters({ groupId: 'again' }))).toBe('invalid_request');
    const ids = ['01J00000000000000000000000.3.41'];
    expect(await code(admin.redriveDeadLetters({ groupId: 'again', ids }))).toBe('dead_letter_not_found');
    let calls = 0;
    proxy.fault = () => {
      calls++;
      return problem(503, 'unavailable');
    };
    expect(await code(admin.redriveDeadLetters({ groupId: 'again', filter }))).toBe('unavailable');
    expect(calls).toBe(1);
    proxy.fault = () => undefined;
    await admin.deleteSubscriptions(['again']);
  });

  it('have parked keys listed, resumed and given up: that by one call, and no other', async () => {
    await admin.createTopics({ topics: [{ topic: 'pushed', numPartitions: 2 }] });
    await admin.putSubscription('parking', { topics: ['pushed'], target, onFailure: 'park' });
    const name = 'parking';
    expect(await admin.listParkedKeys({ name, limit: 5 })).toEqual({ parked: [] });
    expect(await admin.resumeParkedKeys({ name })).toEqual({ resuming: 0, more: false });
    expect(await admin.deadLetterParkedKeys({ name })).toEqual({ deadLettering: 0, more: false });
    const ids = ['01J00000000000000000000000.3.8f14e45fceea167a'];
    expect(await code(admin.resumeParkedKeys({ name, ids }))).toBe('parked_key_not_found');
    expect(await code(admin.deadLetterParkedKeys({ name, ids: ['x'] }))).toBe('invalid_request');
    expect(await code(admin.listParkedKeys({ name: 'nobody' }))).toBe('subscription_not_found');
    let calls = 0;
    proxy.fault = () => (calls++ === 0 ? problem(503, 'unavailable') : undefined);
    expect(await code(admin.deadLetterParkedKeys({ name }))).toBe('unavailable');
    expect(calls).toBe(1);
    calls = 0;
    expect(await admin.resumeParkedKeys({ name })).toEqual({ resuming: 0, more: false });
    proxy.fault = () => undefined;
    await admin.deleteSubscriptions([name]);
  });

  it('have their secret rotated once, even when the answer is lost', async () => {
    await admin.createTopics({ topics: [{ topic: 'pushed', numPartitions: 2 }] });
    await admin.putSubscription('hooks', { topics: ['pushed'], target });
    expect(await admin.rotateSecret('hooks')).toMatch(/^whsec_/);
    let calls = 0;
    proxy.fault = () => {
      calls++;
      return problem(503, 'unavailable');
    };
    expect(await code(admin.rotateSecret('hooks'))).toBe('unavailable');
    expect(calls).toBe(1);
    proxy.fault = () => undefined;
    await admin.deleteSubscriptions(['hooks']);
  });
});

describe('API keys', () => {
  const rights = [{ topics: 'orders-*', allow: ['produce'] }] as const;

  it('are made, listed and revoked', async () => {
    const expiresAt = new Date('2100-01-01T00:00:00Z');
    const { key, ...made } = await admin.createApiKey({ name: 'shop', rights, expiresAt });
    expect(made).toMatchObject({ name: 'shop', rights, expiresAt: expiresAt.getTime() });
    expect(key).toContain(made.id);
    expect(await admin.listApiKeys()).toEqual([made]);
    await admin.revokeApiKey(made.id);
    expect(await admin.listApiKeys()).toEqual([]);
    expect(await code(admin.revokeApiKey(made.id))).toBe('api_key_not_found');
  });

  it('are made by one attempt, for nobody would know the key of the one before', async () => {
    let calls = 0;
    proxy.fault = () => {
      calls++;
      return problem(503, 'unavailable');
    };
    expect(await code(admin.createApiKey({ name: 'shop', rights }))).toBe('unavailable');
    expect(calls).toBe(1);
  });
});
