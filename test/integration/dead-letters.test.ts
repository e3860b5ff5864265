import { randomBytes } from 'node:crypto';
import { DeleteObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { INLINE_DEAD_LETTER_BYTES_MAX } from '../../shared/domain/limits.ts';
import { type Assigned, type GroupUnderTest, openGroupBench } from '../support/group-calls.ts';
import { upload } from '../support/upload.ts';

const bench = openGroupBench();
const error = { name: 'TypeError', message: 'no such thing' };

interface Letter {
  readonly id: string;
  readonly [field: string]: unknown;
}
interface Page {
  readonly deadLetters: readonly Letter[];
  readonly nextToken?: string;
}

/** A group of one member that owns every partition of its topic. */
async function newMember(partitions = 1, ...values: unknown[]) {
  const group = await bench.newGroup(partitions);
  if (values.length > 0) await group.produce(0, ...values);
  const { memberId, assigned } = await group.polled({ topics: [group.topic] });
  const report = (offset: number, more: object = {}, { topic, partition, epoch }: Assigned = assigned[0]!) =>
    group.call('dead-letters', { memberId, topic, partition, epoch, offset, error, attempts: 5, ...more });
  return { ...group, memberId, assigned, report };
}

async function listed({ path }: GroupUnderTest, query = ''): Promise<Page> {
  const reply = await bench.api.get(`${path}/dead-letters?${query}`);
  expect(reply.status, reply.text).toBe(200);
  return reply.json<Page>();
}

/** What was told since the last call. */
async function told(): Promise<Record<string, unknown>[]> {
  const { sqs, url: QueueUrl } = bench.api.deadLetters;
  const bodies: string[] = [];
  for (;;) {
    const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }));
    if (Messages.length === 0) return bodies.map((body) => JSON.parse(body));
    bodies.push(...Messages.map(({ Body }) => Body!));
  }
}

async function objects(prefix = 'dead-letters/'): Promise<string[]> {
  const { s3, bucket: Bucket } = bench.api.tables;
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket, Prefix: prefix }));
  return Contents.map(({ Key }) => Key!);
}

describe('a record that could not be handled', () => {
  it('is kept, told and committed past, and a repeated report is the same dead letter', async () => {
    const member = await newMember(1, 'fine', { poison: true }, 'after');
    await told();
    const reply = await member.report(1);
    const { id } = reply.json<Letter>();
    expect(reply.json()).toEqual({ id: expect.stringMatching(/^[0-9A-Z]{26}\.0\.1$/), committed: 2 });
    expect((await member.report(1, { attempts: 9 })).json()).toEqual({ id, committed: 2 });
    expect(await listed(member)).toEqual({
      deadLetters: [
        {
          ...{ id, topic: member.topic, partition: 0, offset: 1, timestamp: expect.any(Number), key: null },
          ...{ value: { poison: true }, headers: [], error, attempts: 5, redrives: 0, state: 'stored' },
          ...{ firstFailedAt: expect.any(Number), deadLetteredAt: expect.any(Number) },
        },
      ],
    });
    const [message, ...more] = await told();
    expect(more).toEqual([]);
    expect(message).toEqual({
      ...{ v: '1', id, group: member.path.split('/').at(-1), topic: member.topic, partition: 0, offset: 1 },
      ...{ error, attempts: 5, deadLetteredAt: expect.any(Number) },
    });
    expect((await member.described()).offsets).toMatchObject([{ committed: 2, lag: 1 }]);
  });

  it('is kept before it is committed past: a store or a queue that fails in between loses nothing', async () => {
    const member = await newMember(1, 'poison');
    await told();
    for (const operation of ['PutItem', 'SendMessage', 'UpdateItem']) {
      bench.api.faults.next(operation, 'lose-answer');
      expect((await member.report(0)).json()).toMatchObject({ status: 503, code: 'unavailable' });
    }
    expect((await member.report(0)).json()).toMatchObject({ committed: 1 });
    expect((await listed(member)).deadLetters).toHaveLength(1);
    expect(new Set((await told()).map(({ id }) => id)).size).toBe(1);
  });

  it('is not kept for a member that has lost it, nor where there is none, nor once it is committed', async () => {
    const member = await newMember(1, 'a', 'b');
    await member.call('commits', { memberId: member.memberId, offsets: [{ ...member.assigned[0]!, offset: 1 }] });
    const before = await bench.api.stored();
    expect((await member.report(1, { epoch: 1 })).json()).toMatchObject({ status: 409, code: 'fenced' });
    expect((await member.report(0)).json()).toMatchObject({ status: 409, code: 'commit_regressed', committed: 1 });
    expect((await member.report(2)).json()).toMatchObject({ status: 400, field: 'offset' });
    expect((await member.report(3)).json()).toMatchObject({ status: 416, highWatermark: 2 });
    expect((await member.report(1, { partition: 1 })).json()).toMatchObject({ status: 400, field: 'partition' });
    expect(await bench.api.stored()).toEqual(before);
  });

  it('may have any text in its error', async () => {
    const member = await newMember(1, 'a');
    const odd = { name: '\ufffe\u0000"', message: '\uffff\u2028😀' };
    expect((await member.report(0, { error: odd })).status).toBe(200);
    expect((await listed(member)).deadLetters).toMatchObject([{ error: odd }]);
    expect((await told()).at(-1)).toMatchObject({ error: odd });
  });

  it('goes to the bucket when it is large, and leaves it with its dead letter', async () => {
    const value = randomBytes(INLINE_DEAD_LETTER_BYTES_MAX).toString('base64');
    const member = await newMember(1, value);
    const { id } = (await member.report(0)).json<Letter>();
    expect(await objects()).toHaveLength(1);
    expect((await listed(member)).deadLetters).toMatchObject([{ id, value }]);
    expect((await bench.api.delete(`${member.path}/dead-letters/${id}`)).status).toBe(204);
    expect(await objects()).toEqual([]);
    expect((await listed(member)).deadLetters).toEqual([]);
  });

  it('is kept as what it is when its payload is missing', async () => {
    const value = randomBytes(60_000).toString('base64');
    const member = await newMember(1, value);
    const { s3, bucket: Bucket } = bench.api.tables;
    for (const Key of await objects('')) await s3.send(new DeleteObjectCommand({ Bucket, Key }));
    expect((await member.report(0)).json()).toMatchObject({ committed: 1 });
    const [letter] = (await listed(member)).deadLetters;
    expect(letter).toMatchObject({ offset: 0, recordError: { code: 'payload_missing' }, error });
    expect(letter).not.toHaveProperty('value');
  });

  it('has a link where its value was uploaded', async () => {
    const member = await newMember();
    const topic = `/v1/topics/${member.topic}`;
    const uploadId = await upload(bench.api, topic, Buffer.from('payload'));
    const records = [{ key: 'k', value: { uploadId }, valueEncoding: 'upload' }];
    expect((await bench.api.post(`${topic}/records`, { records })).status).toBe(200);
    await member.report(0);
    expect((await listed(member)).deadLetters).toMatchObject([
      { key: 'k', valueEncoding: 'url', value: { size: 7, url: expect.stringContaining(uploadId) } },
    ]);
  });
});

describe('a list of dead letters', () => {
  it('has those that are wanted, page by page', async () => {
    const member = await newMember(2);
    const records = ['a', 'b', 'a', 'b'].map((key, i) => ({ key, value: i, partition: i >> 1 }));
    await bench.api.post(`/v1/topics/${member.topic}/records`, { records });
    for (const held of member.assigned) for (const offset of [0, 1]) await member.report(offset, {}, held);
    const places = ({ deadLetters }: Page) => deadLetters.map(({ partition, offset }) => `${partition}:${offset}`);
    expect(places(await listed(member))).toEqual(['0:0', '0:1', '1:0', '1:1']);
    expect(places(await listed(member, 'key=b'))).toEqual(['0:1', '1:1']);
    expect(places(await listed(member, `topic=${member.topic}&partition=1`))).toEqual(['1:0', '1:1']);
    expect(places(await listed(member, 'topic=other'))).toEqual([]);
    expect(places(await listed(member, 'since=2200-01-01T00:00:00Z'))).toEqual([]);
    const seen: string[] = [];
    for (let token: string | undefined = ''; token !== undefined; ) {
      const page: Page = await listed(member, `limit=1&key=a${token && `&nextToken=${token}`}`);
      expect(page.deadLetters.length).toBeLessThanOrEqual(1);
      seen.push(...places(page));
      token = page.nextToken;
    }
    expect(seen).toEqual(['0:0', '1:0']);
  });

  it('ends a page before it is more than an answer carries', async () => {
    const member = await newMember();
    const values = Array.from({ length: 3 }, () => randomBytes(1_500_000).toString('base64'));
    for (const value of values) await member.produce(0, value);
    for (const offset of [0, 1, 2]) expect((await member.report(offset)).status).toBe(200);
    const first = await listed(member);
    expect(first.deadLetters.map(({ value }) => value)).toEqual(values.slice(0, 2));
    const second = await listed(member, `nextToken=${first.nextToken}`);
    expect(second.deadLetters.map(({ value }) => value)).toEqual(values.slice(2));
    expect(second.nextToken).toBeUndefined();
  });
});
