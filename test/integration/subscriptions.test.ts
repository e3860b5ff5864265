import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { OLD_SECRET_LIFE_MS } from '../../shared/domain/limits.ts';
import type { PositionId } from '../../shared/domain/position.ts';
import { decodeWakeUp } from '../../shared/store/wake-queue.ts';
import type { Api } from '../support/api.ts';
import { openGroupBench } from '../support/group-calls.ts';

const bench = openGroupBench();
const { newGroup, clock } = bench;
const HTTP = { http: { url: 'http://127.0.0.1:9009/hook' } };

interface Shown {
  readonly id: string;
  readonly state: string;
  readonly reason?: string;
  readonly target: { readonly http: { readonly url: string; readonly secret?: string } };
  readonly topics: readonly string[];
  readonly partitions: readonly {
    readonly partition: number;
    readonly committed: number | null;
    readonly lag: number;
  }[];
  readonly errors: readonly { readonly topic: string; readonly code: string }[];
  readonly lag: number;
}

/** A topic, and the path of a subscription that is not there yet. */
async function newTopic(partitions: number) {
  const { topic, path, produce } = await newGroup(partitions);
  return { topic, produce, path: path.replace('/groups/', '/subscriptions/'), group: path };
}

async function put(path: string, body: object) {
  const reply = await bench.api.put(path, body);
  expect(reply.status, reply.text).toBeLessThan(300);
  return { status: reply.status, ...reply.json<Shown>() };
}

async function shown(path: string): Promise<Shown> {
  const reply = await bench.api.get(path);
  expect(reply.status, reply.text).toBe(200);
  return reply.json<Shown>();
}

const committed = async (path: string) => (await shown(path)).partitions.map((partition) => partition.committed);

describe('a subscription', () => {
  it('is made with defaults, shows its secret once, and its settings after that', async () => {
    const { topic, path } = await newTopic(2);
    const made = await put(path, { topics: [topic], target: HTTP });
    expect(made).toMatchObject({
      ...{ status: 201, state: 'active', topics: [topic], from: 'latest', timeoutMs: 15_000, onFailure: 'deadLetter' },
      batch: { maxRecords: 100, maxBytes: 1_048_576 },
      retry: { maxAttempts: 5, minBackoffMs: 500, maxBackoffMs: 60_000 },
      haltAfterDeadLetters: 10,
    });
    expect(made.target.http.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const again = await put(path, { batch: { maxRecords: 7 }, filter: { value: { a: [1] } } });
    expect(again).toMatchObject({
      ...{ status: 200, id: made.id, filter: { value: { a: [1] } } },
      batch: { maxRecords: 7, maxBytes: 1_048_576 },
    });
    expect(again.target).toEqual(HTTP);
    expect(JSON.stringify(await shown(path))).not.toContain('whsec_');
    const { filter: _, ...without } = await put(path, { filter: null }).then((reply) => ({
      filter: undefined,
      ...reply,
    }));
    expect(without).not.toHaveProperty('filter');
  });

  it('begins where it is told to, in every partition, before the answer', async () => {
    const { topic, path, produce } = await newTopic(2);
    await produce(0, 'a', 'b');
    clock.pass(10_000);
    const at = new Date(clock.now()).toISOString();
    await produce(1, 'c');
    await put(path, { topics: [topic], target: HTTP });
    expect(await committed(path)).toEqual([2, 1]);
    await put(`${path}e`, { topics: [topic], target: HTTP, from: 'earliest' });
    expect(await committed(`${path}e`)).toEqual([0, 0]);
    expect((await shown(`${path}e`)).lag).toBe(3);
    await put(`${path}t`, { topics: [topic], target: HTTP, from: { at } });
    expect(await committed(`${path}t`)).toEqual([2, 0]);
  });

  it('has appends to its topics told, itself woken once it is made, and deliveries switched on with the first', async () => {
    const { topic, path } = await newTopic(1);
    const { id } = await put(path, { topics: [topic], target: HTTP, from: 'earliest' });
    expect(await bench.api.backbone.topicItems.read(topic)).toMatchObject({ subscribed: true });
    expect(bench.api.deliveries.on).toBe(true);
    const woken = (await wakeUps(bench.api)).filter((wakeUp) => wakeUp?.to?.group.id === id);
    expect(woken).toMatchObject([{ partition: 0, to: { topic, known: 1 }, hop: 0 }]);
    expect(woken[0]).not.toHaveProperty('last');
  });

  it('completes, when it is put again, what a call before it left undone', async () => {
    const { topic, path, produce } = await newTopic(2);
    await produce(0, 'a');
    for (const operation of ['UpdateItem', 'Query', 'GetItem'] as const) {
      bench.api.faults.next(operation, 'internal-error', 1);
      expect((await bench.api.put(path, { topics: [topic], target: HTTP, from: 'earliest' })).status).toBe(503);
    }
    await bench.api.put(path, { topics: [topic], target: HTTP, from: 'earliest' });
    expect(await committed(path)).toEqual([0, 0]);
  });

  it('keeps its place when its settings change, begins in topics that are added, and leaves those that are not named any more', async () => {
    const [one, two] = [await newTopic(1), await newTopic(1)];
    await one.produce(0, 'a');
    await two.produce(0, 'b');
    await put(one.path, { topics: [one.topic], target: HTTP, from: 'earliest' });
    await put(one.path, { topics: [one.topic, two.topic], from: 'latest' });
    expect(await committed(one.path)).toEqual([0, 1]);
    await put(one.path, { topics: [two.topic] });
    expect((await shown(one.path)).partitions).toMatchObject([{ topic: two.topic, committed: 1 }]);
    const { id } = (await bench.api.backbone.topicItems.read(one.topic))!;
    expect(await bench.api.backbone.subscribers.of(id)).toEqual([]);
  });

  it('starts at the first record of partitions that are added after it knew the topic', async () => {
    const { topic, path, produce } = await newTopic(1);
    await put(path, { topics: [topic], target: HTTP });
    await bench.api.put(`/v1/topics/${topic}`, { partitions: 2 });
    await produce(1, 'a');
    expect(await committed(path)).toEqual([0, null]);
    await put(path, {});
    expect(await committed(path)).toEqual([0, 0]);
  });

  it('is paused and resumed, and forgets then what had failed', async () => {
    const { topic, path } = await newTopic(1);
    const { id } = await put(path, { topics: [topic], target: HTTP });
    expect((await bench.api.post(`${path}/pause`)).json()).toMatchObject({
      state: 'paused',
      reason: expect.any(String),
    });
    expect((await bench.api.post(`${path}/pause`, {})).json()).toMatchObject({ state: 'paused' });
    const position = await positionOf(path, topic, id);
    const failure = {
      ...{ retryAt: clock.now() + 60_000, attempts: 3, absences: 0 },
      span: 1,
      end: 0,
      firstFailedAt: 1,
    };
    const { positions } = bench.api.backbone;
    await positions.remove(position);
    const push = { failure, deadLettersInARow: 9, lastError: { name: 'Error', message: 'no', at: 1 } };
    await positions.create(position, { epoch: 7, committed: 0, push });
    expect(await shown(path)).toMatchObject({
      lastError: { message: 'no' },
      partitions: [{ retrying: { offset: 0, attempts: 3 }, lastError: { message: 'no', at: 1 } }],
    });
    const resumed = (await bench.api.post(`${path}/resume`)).json<Shown>();
    expect(resumed.state).toBe('active');
    expect(resumed).not.toHaveProperty('reason');
    expect(await positions.read(position)).toEqual({ epoch: expect.any(Number), committed: 0 });
  });

  it('has added partitions looked at, too, when it is resumed', async () => {
    const { topic, path } = await newTopic(1);
    const { id } = await put(path, { topics: [topic], target: HTTP });
    await bench.api.post(`${path}/pause`);
    expect((await bench.api.put(`/v1/topics/${topic}`, { partitions: 2 })).status).toBe(200);
    await bench.api.post(`${path}/resume`);
    const { items } = await bench.api.backbone.pending.list(1_000);
    const marked = items.filter(({ to }) => to.group.id === id).map(({ partition }) => partition);
    expect(new Set(marked)).toEqual(new Set([0, 1]));
  });

  it('seeks to an end, a time or an offset, and fences whoever was at it', async () => {
    const { topic, path, produce } = await newTopic(2);
    await produce(0, 'a', 'b');
    const { id } = await put(path, { topics: [topic], target: HTTP });
    const before = (await bench.api.backbone.positions.read(await positionOf(path, topic, id)))!;
    const seek = async (body: object) => {
      const reply = await bench.api.post(`${path}/seek`, body);
      expect(reply.status, reply.text).toBe(200);
      return reply.json<{ offsets: object[] }>().offsets;
    };
    expect(await seek({ to: 'earliest' })).toEqual([
      { topic, partition: 0, offset: 0 },
      { topic, partition: 1, offset: 0 },
    ]);
    const after = (await bench.api.backbone.positions.read(await positionOf(path, topic, id)))!;
    expect(after.epoch).toBeGreaterThan(before.epoch);
    expect(await seek({ topic, partitions: [0], to: { offset: 1 } })).toEqual([{ topic, partition: 0, offset: 1 }]);
    expect(await committed(path)).toEqual([1, 0]);
    const late = await bench.api.post(`${path}/seek`, { to: { offset: 9 } });
    expect(late.json()).toMatchObject({ status: 416, code: 'offset_out_of_range' });
    expect((await wakeUps(bench.api)).some((wakeUp) => wakeUp?.to?.group.id === id)).toBe(true);
  });

  it('gets a new secret, and keeps the old one for a day', async () => {
    const { topic, path } = await newTopic(1);
    const made = await put(path, { topics: [topic], target: HTTP });
    const { secret } = (await bench.api.post(`${path}/rotate-secret`)).json<{ secret: string }>();
    const stored = await bench.api.backbone.subscriptions.read(path.split('/').at(-1)!);
    const previous = { secret: made.target.http.secret, until: clock.now() + OLD_SECRET_LIFE_MS };
    expect(stored?.target).toEqual({ http: { ...HTTP.http, secret, previous } });
    await put(path, { target: { http: { url: 'http://127.0.0.1:9010/moved' } } });
    expect((await bench.api.backbone.subscriptions.read(path.split('/').at(-1)!))?.target).toMatchObject({
      http: { url: 'http://127.0.0.1:9010/moved', secret, previous },
    });
  });

  it('is listed by name, page by page', async () => {
    const { topic, path } = await newTopic(1);
    for (const end of ['x', 'y', 'z']) await put(path + end, { topics: [topic], target: HTTP });
    const seen: string[] = [];
    for (let token: string | undefined = ''; token !== undefined; ) {
      const reply = await bench.api.get(`/v1/subscriptions?limit=2${token && `&nextToken=${token}`}`);
      const page = reply.json<{ subscriptions: { name: string }[]; nextToken?: string }>();
      seen.push(...page.subscriptions.map(({ name }) => name));
      token = page.nextToken;
    }
    expect(seen).toEqual([...seen].sort());
    expect(seen).toEqual(expect.arrayContaining(['x', 'y', 'z'].map((end) => path.split('/').at(-1)! + end)));
  });

  it('tells of a topic that was deleted under it, and begins anew in its successor when it is put again', async () => {
    const { topic, path } = await newTopic(1);
    await put(path, { topics: [topic], target: HTTP });
    await bench.api.delete(`/v1/topics/${topic}`);
    expect((await shown(path)).errors).toMatchObject([{ topic, code: 'topic_not_found' }]);
    await bench.api.put(`/v1/topics/${topic}`, { partitions: 1 });
    await bench.api.post(`/v1/topics/${topic}/records`, { records: [{ value: 1 }] });
    expect((await shown(path)).errors).toMatchObject([{ topic, code: 'topic_not_found' }]);
    await put(path, { from: 'earliest' });
    expect(await shown(path)).toMatchObject({ errors: [], lag: 1, partitions: [{ committed: 0 }] });
  });

  it('is gone with its group when it is deleted, and one that is made again shares nothing with it', async () => {
    const { topic, path, group } = await newTopic(1);
    const first = await put(path, { topics: [topic], target: HTTP });
    const position = await positionOf(path, topic, first.id);
    expect((await bench.api.delete(path)).status).toBe(204);
    for (const gone of [path, group]) expect((await bench.api.get(gone)).status).toBe(404);
    expect(await bench.api.backbone.positions.read(position)).toBeUndefined();
    expect(await bench.api.backbone.subscribers.of(position.topicId)).toEqual([]);
    expect(await bench.api.backbone.topicItems.read(topic)).not.toHaveProperty('subscribed');
    expect((await put(path, { topics: [topic], target: HTTP })).id).not.toBe(first.id);
  });

  it('switches deliveries off when it is the last to go', async () => {
    const { topic, path } = await newTopic(1);
    await put(path, { topics: [topic], target: HTTP });
    let left = (await bench.api.get('/v1/subscriptions?limit=1000')).json<{ subscriptions: { name: string }[] }>();
    for (const { name } of left.subscriptions) {
      expect(bench.api.deliveries.on).toBe(true);
      await bench.api.delete(`/v1/subscriptions/${name}`);
    }
    left = (await bench.api.get('/v1/subscriptions')).json();
    expect(left.subscriptions).toEqual([]);
    expect(bench.api.deliveries.on).toBe(false);
  });
});

async function positionOf(path: string, topic: string, groupId: string): Promise<PositionId> {
  const { id: topicId } = (await bench.api.backbone.topicItems.read(topic))!;
  return { group: { name: path.split('/').at(-1)!, id: groupId }, topicId, partition: 0 };
}

/** Takes what lies in the wake queue. */
async function wakeUps({ deadLetters: { sqs }, wakeQueueUrl }: Api) {
  const found: ReturnType<typeof decodeWakeUp>[] = [];
  for (;;) {
    const command = new ReceiveMessageCommand({ QueueUrl: wakeQueueUrl, MaxNumberOfMessages: 10 });
    const { Messages = [] } = await sqs.send(command);
    if (Messages.length === 0) return found;
    found.push(...Messages.map(({ Body }) => decodeWakeUp(Body!)));
  }
}
