import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { beforeEach, describe, expect, it } from 'vitest';
import { queueEvent, streamEvent } from '../../local/events.ts';
import { INTENT_LIFE_MS, SLOW_SETTLE_AFTER_MS, WAKE_PAUSE_S, WAKE_PAUSE_S_MAX } from '../../shared/domain/limits.ts';
import type { Reservation } from '../../shared/domain/slot.ts';
import type { PartitionId } from '../../shared/domain/topic.ts';
import { deleteTopic, putTopic } from '../../shared/operations/topics.ts';
import { batchObjectKey } from '../../shared/store/keys.ts';
import { type BackgroundBench, CONTEXT, openBackgroundBench } from '../support/background-bench.ts';
import { append, batchOf, type Host, read } from '../support/log-bench.ts';

const LARGE = 'x'.repeat(100);
const HOUR = 3_600_000;
let bench: BackgroundBench;
let host: Host;
let partition: PartitionId;

beforeEach(async () => {
  bench = await openBackgroundBench({ spillAboveBytes: 50 });
  host = bench.host();
  partition = await newTopic('orders');
  return () => bench.close();
});

async function newTopic(name: string, retentionMs = -1): Promise<PartitionId> {
  const { topic } = await putTopic(host.backbone, name, { partitions: 1, retentionMs });
  return { topicId: topic.id, partition: 0 };
}

/** Time passes, and what has expired by then is removed. */
async function expire(ms: number): Promise<void> {
  bench.clock.pass(ms);
  await bench.tables.aws.expireNow(bench.clock.now());
}

/** A writer that puts intent and payload and does no more. */
async function abandonUpload(count = 3, at: PartitionId = partition): Promise<Reservation> {
  const { backbone } = host;
  const time = bench.clock.now();
  const reservation = await backbone.heads.reserve(
    at,
    backbone.newReservationId(),
    { count, time, expiresAt: 0, settleMs: SLOW_SETTLE_AFTER_MS },
    () => false,
  );
  const { last } = reservation!;
  await backbone.log.putIntent(at, last, time, Math.ceil((time + INTENT_LIFE_MS) / 1_000), () => false);
  await backbone.spill.put(at, last, Buffer.from(LARGE), () => false);
  return reservation!;
}

describe('the payload of a slot', () => {
  it('goes when the slot expires', async () => {
    const short = await newTopic('short', HOUR);
    await append(host, 'short', LARGE);
    expect(await bench.objects()).toEqual([batchObjectKey(short, 0)]);
    await expire(HOUR + 2_000);
    await bench.follow();
    expect(await bench.objects()).toEqual([]);
    await expire(INTENT_LIFE_MS);
    const dispatch = bench.dispatchHost();
    await bench.follow(dispatch);
    expect(dispatch.faults.calls).toContain('DeleteObjects');
  });

  it('is not told from that of a slot which has none: all of an event go in one call', async () => {
    const short = await newTopic('short', HOUR);
    for (let i = 0; i < 20; i++) await append(host, 'short', i % 4 === 0 ? LARGE : 'small');
    await expire(HOUR + 2_000);
    const dispatch = bench.dispatchHost();
    await bench.follow(dispatch);
    expect(dispatch.faults.calls).toEqual(['DeleteObjects']);
    expect(await bench.objects()).toEqual([]);
    expect(await bench.items('log')).toHaveLength(5); // intents
    expect(short.topicId).toBeTruthy();
  });

  it('stays, and can be read, when its intent expires', async () => {
    await append(host, 'orders', LARGE);
    await expire(INTENT_LIFE_MS + 2_000);
    expect(await bench.items('log')).toHaveLength(1);
    const dispatch = bench.dispatchHost();
    await bench.follow(dispatch);
    expect(dispatch.faults.calls).toEqual(['GetItem']);
    expect((await read(host, 'orders', 0)).got).toEqual([`${LARGE}@0..0`]);
  });
});

describe('the payload of an upload that was abandoned', () => {
  it('goes when its intent expires, without a void: nothing can land there a day later', async () => {
    await abandonUpload();
    await append(host, 'orders', 'later');
    await expire(INTENT_LIFE_MS + 2_000);
    const dispatch = bench.dispatchHost();
    await bench.follow(dispatch);
    expect(await bench.objects()).toEqual([]);
    expect(dispatch.faults.calls).toEqual(['GetItem', 'DeleteObjects']);
  });

  it('goes when its intent is deleted, after its slot was voided for good', async () => {
    const reservation = await abandonUpload();
    await append(host, 'orders', 'later');
    const dispatch = bench.dispatchHost();
    await dispatch.handler(await deletedIntent(), CONTEXT);
    expect(await bench.objects()).toEqual([]);
    expect(await host.backbone.log.find(partition, reservation.last)).toMatchObject({ kind: 'void', count: 1 });
    expect(await host.backbone.log.fill(partition, reservation, batchOf('late', 3), () => false)).toMatchObject({
      kind: 'void',
    });
    expect(dispatch.seen).toEqual([
      { kind: 'slots_voided', log: `${partition.topicId}.${partition.partition}`, count: 1 },
    ]);
  });

  it('costs readers no wait and one void, however many records it was to hold', async () => {
    await abandonUpload(900);
    await append(host, 'orders', 'later');
    await expire(INTENT_LIFE_MS + 2_000);
    await bench.follow();
    const before = (await bench.items('log')).length;
    expect((await read(host, 'orders', 0)).got).toEqual(['later@900..900']);
    expect(await bench.items('log')).toHaveLength(before + 1);
  });

  it('goes when a reader has voided the slot before', async () => {
    await abandonUpload();
    await append(host, 'orders', 'later');
    bench.clock.pass(SLOW_SETTLE_AFTER_MS + 1);
    expect((await read(host, 'orders', 0)).got).toEqual(['later@3..3']);
    await expire(INTENT_LIFE_MS - SLOW_SETTLE_AFTER_MS + 2_000);
    await bench.follow();
    expect(await bench.objects()).toEqual([]);
  });

  it('goes without a void when the topic was deleted meanwhile', async () => {
    await abandonUpload();
    await deleteTopic(host.backbone, 'orders');
    await expire(INTENT_LIFE_MS + 2_000);
    await bench.follow();
    expect(await bench.objects()).toEqual([]);
    expect(await bench.items('log')).toEqual([]);
  });

  it('goes without a void when the topic is gone altogether', async () => {
    await abandonUpload();
    await host.backbone.heads.remove(partition);
    await expire(INTENT_LIFE_MS + 2_000);
    await bench.follow();
    expect(await bench.objects()).toEqual([]);
    expect(await bench.items('log')).toEqual([]);
  });

  it('goes without a void where everything is settled already', async () => {
    await abandonUpload();
    await host.backbone.heads.advance(partition, { from: 0, to: 3 });
    await expire(INTENT_LIFE_MS + 2_000);
    await bench.follow();
    expect(await bench.objects()).toEqual([]);
    expect(await bench.items('log')).toEqual([]);
  });

  it('stays when the slot is filled in the last moment: the void meets the batch', async () => {
    const reservation = await abandonUpload();
    const dispatch = bench.dispatchHost();
    const held = dispatch.faults.hold('PutItem');
    const following = dispatch.handler(await deletedIntent(), CONTEXT);
    await held.arrived;
    await host.backbone.log.fill(partition, reservation, batchOf('late', 3), () => false);
    held.release();
    await following;
    expect(await bench.objects()).toHaveLength(1);
    expect(dispatch.seen).toEqual([]);
  });

  it('of which nobody knows since when it is there is settled all the same, as if it were new', async () => {
    const { last } = await abandonUpload();
    await bench.dispatchHost().handler(await deletedIntent(), CONTEXT);
    const slot = await host.backbone.log.find(partition, last);
    expect(slot).toMatchObject({ kind: 'void', reservedBy: bench.clock.now() });
    expect(await bench.objects()).toEqual([]);
  });

  /** What the stream tells of an intent that somebody deleted. */
  async function deletedIntent() {
    bench.changes();
    await expire(INTENT_LIFE_MS + 2_000);
    return streamEvent([{ ...bench.changes()[0]!, userIdentity: undefined }] as never);
  }
});

describe('a removal that cannot be followed at once', () => {
  async function spilledAndExpired(): Promise<void> {
    await newTopic('short', HOUR);
    await append(host, 'short', LARGE);
    await append(host, 'short', LARGE);
    await expire(HOUR + 2_000);
  }
  const arn = 'arn:aws:sqs:us-east-1:000000000000:wake';

  it('is handed to the wake queue, and is done from there, later and later', async () => {
    await spilledAndExpired();
    const dispatch = bench.dispatchHost();
    dispatch.faults.next('DeleteObjects', 'internal-error', 2);
    await bench.follow(dispatch);
    expect(await bench.objects()).toHaveLength(2);
    expect(dispatch.seen).toEqual([{ kind: 'removals_deferred', count: 2 }]);
    const messages = await bench.messages();
    expect(messages).toHaveLength(1);

    const again = (count: string) => {
      const event = queueEvent(messages, arn);
      event.Records[0]!.attributes.ApproximateReceiveCount = count;
      return dispatch.handler(event, CONTEXT);
    };
    expect(await again('1')).toEqual({ batchItemFailures: [{ itemIdentifier: messages[0]!.MessageId }] });
    expect(await bench.objects()).toHaveLength(2);
    expect(await again('2')).toEqual({ batchItemFailures: [] });
    expect(await bench.objects()).toEqual([]);
  });

  it.each([
    ['1', WAKE_PAUSE_S],
    ['4', WAKE_PAUSE_S * 8],
    ['40', WAKE_PAUSE_S_MAX],
  ])('waits the longer the more often it was tried: try %s, %i s', async (tries, pauseS) => {
    await spilledAndExpired();
    const dispatch = bench.dispatchHost();
    dispatch.faults.next('DeleteObjects', 'internal-error', 2);
    await bench.follow(dispatch);
    const event = queueEvent(await bench.messages(), arn);
    event.Records[0]!.attributes.ApproximateReceiveCount = tries;
    const bodies: string[] = [];
    const held = dispatch.faults.hold('ChangeMessageVisibility', 'none', `"VisibilityTimeout":${pauseS}`);
    void held.arrived.then(() => bodies.push('delayed'));
    held.release();
    await dispatch.handler(event, CONTEXT);
    expect(bodies).toEqual(['delayed']);
  });

  it('is delivered by the stream once more when the queue fails, too', async () => {
    await spilledAndExpired();
    const records = bench.changes();
    const dispatch = bench.dispatchHost();
    dispatch.faults.next('DeleteObjects', 'lose-request');
    dispatch.faults.next('SendMessageBatch', 'lose-request');
    await expect(dispatch.handler(streamEvent(records), CONTEXT)).rejects.toThrow(/write failed/);
    expect(await bench.objects()).toHaveLength(2);
    await dispatch.handler(streamEvent(records), CONTEXT);
    expect(await bench.objects()).toEqual([]);
  });

  it('does not hold up others: only what failed is handed on', async () => {
    const other = await newTopic('other');
    const failing = await abandonUpload();
    await abandonUpload(3, other);
    await expire(INTENT_LIFE_MS + 2_000);
    const dispatch = bench.dispatchHost();
    dispatch.faults.next('GetItem', 'throttle', 1, `${partition.topicId}.0`);
    await bench.follow(dispatch);
    expect(await bench.objects()).toEqual([batchObjectKey(partition, failing.last)]);
    const [message] = await bench.messages();
    expect(JSON.parse(message!.Body!)).toEqual({
      v: '1',
      removed: [[`${partition.topicId}.0#spill`, failing.last, 1]],
    });
  });

  it('is left to the queue when the function has no time left', async () => {
    await spilledAndExpired();
    const dispatch = bench.dispatchHost();
    await dispatch.handler(streamEvent(bench.changes()), { getRemainingTimeInMillis: () => 1_000 });
    expect(dispatch.faults.calls).toEqual(['SendMessageBatch']);
    expect(JSON.parse((await bench.messages())[0]!.Body!).removed).toHaveLength(2);
  });

  it('is split over messages when there are many', async () => {
    const short = await newTopic('short', HOUR);
    const records = Array.from({ length: 1_200 }, (_, last) => ({
      eventName: 'REMOVE',
      dynamodb: { Keys: { log: { S: `${short.topicId}.0` }, last: { N: String(last) } } },
    }));
    const dispatch = bench.dispatchHost();
    dispatch.faults.next('DeleteObjects', 'internal-error', 2);
    await dispatch.handler(streamEvent(records as never), CONTEXT);
    const removed = (await bench.messages()).map(({ Body }) => JSON.parse(Body!).removed.length);
    expect(removed.sort()).toEqual([200, 500, 500]);
  });

  it('comes back when its message is none of ours, until it is a dead letter', async () => {
    const event = queueEvent([{ MessageId: 'm', ReceiptHandle: 'r', Body: '{"v":"2"}' }], arn);
    expect(await bench.dispatchHost().handler(event, CONTEXT)).toEqual({
      batchItemFailures: [{ itemIdentifier: 'm' }],
    });
  });
});

describe('what the stream tells beside', () => {
  it('is passed over when its key is none of ours, new or removed', async () => {
    const { dynamodb, logTable, s3, bucket } = bench.tables;
    const item = { log: { S: 'somebody/else' }, last: { N: '0' }, expiresAt: { N: '1' } };
    await dynamodb.send(
      new PutItemCommand({
        TableName: logTable,
        Item: { ...item, expiresAt: { N: String(Math.floor(bench.clock.now() / 1_000)) } },
      }),
    );
    await s3.send(new PutObjectCommand({ Bucket: bucket, Key: 'somebody/else', Body: 'x' }));
    await append(host, 'orders', LARGE);
    await expire(10_000);
    expect(await bench.items('log')).toHaveLength(2); // the slot and its intent
    const dispatch = bench.dispatchHost();
    await bench.follow(dispatch);
    const { log, last } = item;
    await dispatch.handler(streamEvent([{ eventName: 'INSERT', dynamodb: { Keys: { log, last } } }]), CONTEXT);
    expect(dispatch.faults.calls).toEqual([]);
    expect(await bench.objects()).toHaveLength(2);
  });
});
