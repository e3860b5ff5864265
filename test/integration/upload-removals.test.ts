import { beforeEach, describe, expect, it } from 'vitest';
import { queueEvent } from '../../local/events.ts';
import { LATE_MAX_MS, PRESIGNED_LIFE_MS, SLOW_SETTLE_AFTER_MS, UPLOAD_LIFE_MS } from '../../shared/domain/limits.ts';
import type { Upload } from '../../shared/domain/upload.ts';
import { sweep } from '../../shared/operations/sweep.ts';
import { deleteTopic, putTopic } from '../../shared/operations/topics.ts';
import { uploadObjectKey } from '../../shared/store/keys.ts';
import { type BackgroundBench, CONTEXT, openBackgroundBench } from '../support/background-bench.ts';
import { type Host, read } from '../support/log-bench.ts';
import { appendUploads, makeUpload, putPayload } from '../support/uploads.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
let bench: BackgroundBench;
let host: Host;
let upload: Upload;

beforeEach(async () => {
  bench = await openBackgroundBench();
  host = bench.host();
  return () => bench.close();
});

/** A topic, and an upload to it. */
async function begin(retentionMs: number): Promise<void> {
  const { topic } = await putTopic(host.backbone, 'orders', { partitions: 1, retentionMs });
  upload = await makeUpload(bench, host, topic.id);
}

/** Time passes; what has expired by then is removed, and that is followed. */
async function pass(ms: number): Promise<void> {
  bench.clock.pass(ms);
  await bench.tables.aws.expireNow(bench.clock.now());
  await bench.follow();
}

/** A writer that takes the upload and never fills its slot. */
async function takeAndDie(): Promise<void> {
  const dead = bench.host();
  const { arrived } = dead.faults.hold('PutItem', 'lose-request', '"uploads"');
  void appendUploads(dead, 'orders', 'dead', [upload]).catch(() => {});
  await arrived;
}

const isThere = async () => (await bench.objects()).includes(uploadObjectKey(upload));
const watches = async () => (await bench.items('log')).filter(({ log }) => log!.S!.includes('#upload.'));
/** Nothing is left of it anywhere. */
async function expectGone(): Promise<void> {
  expect(await bench.objects()).toEqual([]);
  expect(await host.backbone.uploads.find(upload)).toBeUndefined();
  expect(await watches()).toEqual([]);
}

describe('an upload that no record names', () => {
  it('goes after a day, and nothing is left of it', async () => {
    await begin(-1);
    await pass(UPLOAD_LIFE_MS - 1_000);
    expect(await isThere()).toBe(true);
    await pass(3_000);
    await expectGone();
  });

  it('that was never put goes as well; what is put later goes with its watch', async () => {
    await begin(-1);
    await host.backbone.uploadObjects.remove(upload);
    await pass(UPLOAD_LIFE_MS + 2_000);
    await expectGone();
  });
});

describe('an upload that a record names', () => {
  it('stays as long as the record, and an hour more for whoever has its URL', async () => {
    await begin(7 * DAY);
    await appendUploads(host, 'orders', 'a', [upload]);
    await pass(UPLOAD_LIFE_MS + 2_000);
    expect(await isThere()).toBe(true);
    expect(await watches()).toHaveLength(1);
    await pass(6 * DAY - 3_000);
    expect((await read(host, 'orders', 0)).got).toEqual(['a@0..0']);
    await pass(5_000);
    expect(await isThere()).toBe(true);
    await pass(PRESIGNED_LIFE_MS + 2_000);
    await expectGone();
  });

  it('stays for a day though its record does not', async () => {
    await begin(HOUR);
    await appendUploads(host, 'orders', 'a', [upload]);
    await pass(2 * HOUR);
    expect(await isThere()).toBe(true);
    await pass(UPLOAD_LIFE_MS);
    await expectGone();
  });

  it('stays for ever with a record that does, and goes with its topic', async () => {
    await begin(-1);
    await appendUploads(host, 'orders', 'a', [upload]);
    await pass(400 * DAY);
    expect(await isThere()).toBe(true);
    expect(await watches()).toMatchObject([{ v: { N: '1' } }]);
    await deleteTopic(host.backbone, 'orders');
    await purge();
    await expectGone();
  });

  it('stays when dispatch looks while the record is on its way, however slowly', async () => {
    await begin(-1);
    bench.clock.pass(UPLOAD_LIFE_MS - 1_000);
    const slow = bench.host();
    const held = slow.faults.hold('PutItem', 'none', '"uploads"');
    const appended = appendUploads(slow, 'orders', 'a', [upload]);
    await held.arrived;
    await pass(3_000);
    expect(await isThere()).toBe(true);
    held.release();
    expect((await appended).outcomes).toMatchObject([{ baseOffset: 0 }]);
    await pass(LATE_MAX_MS + 2_000);
    await pass(400 * DAY);
    expect(await isThere()).toBe(true);
    expect(await watches()).toHaveLength(1);
  });
});

describe('an upload that was taken for a record which was never stored', () => {
  it('goes after a day, whether anybody has settled the slot or not', async () => {
    await begin(-1);
    await takeAndDie();
    await pass(UPLOAD_LIFE_MS + 2_000);
    await expectGone();
  });

  it('goes when a reader has settled the slot', async () => {
    await begin(-1);
    await takeAndDie();
    bench.clock.pass(SLOW_SETTLE_AFTER_MS + 1);
    await read(host, 'orders', 0);
    await pass(UPLOAD_LIFE_MS);
    await expectGone();
  });

  it('goes a little later when it was taken in the last moment', async () => {
    await begin(-1);
    bench.clock.pass(UPLOAD_LIFE_MS - 1_000);
    await takeAndDie();
    await pass(3_000);
    expect(await isThere()).toBe(true);
    await pass(LATE_MAX_MS + 2_000);
    await expectGone();
  });
});

describe('looking after an upload', () => {
  it('leaves it alone when a record takes it in that moment', async () => {
    await begin(-1);
    bench.clock.pass(UPLOAD_LIFE_MS - 1);
    const dispatch = bench.dispatchHost();
    const forgetting = dispatch.faults.hold('DeleteItem');
    bench.clock.pass(3_000);
    await bench.tables.aws.expireNow(bench.clock.now());
    bench.clock.pass(-3_000);
    const following = bench.follow(dispatch);
    await forgetting.arrived;
    await appendUploads(host, 'orders', 'a', [upload]);
    forgetting.release();
    await following;
    expect(await isThere()).toBe(true);
    expect(await watches()).toHaveLength(1);
  });

  it('leaves it alone when it passes from a void slot to another in that moment', async () => {
    await begin(-1);
    await takeAndDie();
    bench.clock.pass(UPLOAD_LIFE_MS - 1);
    const dispatch = bench.dispatchHost();
    bench.clock.pass(3_000);
    await bench.tables.aws.expireNow(bench.clock.now());
    bench.clock.pass(-3_000);
    // It is found to be taken for the slot of the dead writer; then that slot is found to be void, or nothing.
    const forgetting = dispatch.faults.hold('DeleteItem', 'none', ':use');
    const following = bench.follow(dispatch);
    await forgetting.arrived;
    await appendUploads(host, 'orders', 'a', [upload]);
    forgetting.release();
    await following;
    expect(await isThere()).toBe(true);
    expect((await read(host, 'orders', 0)).got).toEqual(['a@1..1']);
  });

  it('keeps a record from taking it once it is forgotten', async () => {
    await begin(-1);
    const slow = bench.host();
    bench.clock.pass(UPLOAD_LIFE_MS - 1_000);
    const taking = slow.faults.hold('UpdateItem', 'none', 'usedBy');
    const appended = appendUploads(slow, 'orders', 'a', [upload]);
    await taking.arrived;
    await pass(3_000);
    taking.release();
    await expect(appended).rejects.toMatchObject({ code: 'upload_invalid', data: { reason: 'expired' } });
    await expectGone();
  });

  it.each([
    ['DeleteItem', 'throttle'],
    ['DeleteObject', 'internal-error'],
    ['DeleteObject', 'lose-answer'],
  ] as const)('is done from the wake queue when %s fails: %s', async (operation, fault) => {
    await begin(-1);
    bench.clock.pass(UPLOAD_LIFE_MS + 2_000);
    await bench.tables.aws.expireNow(bench.clock.now());
    const dispatch = bench.dispatchHost();
    dispatch.faults.next(operation, fault);
    await bench.follow(dispatch);
    const messages = await bench.messages();
    const removed = [[`${upload.topicId}#upload.${upload.uploadId}`, 0, 1]];
    expect(messages.map(({ Body }) => JSON.parse(Body!).removed)).toEqual([removed]);
    const event = queueEvent(messages, 'arn:aws:sqs:us-east-1:000000000000:wake');
    for (let times = 0; times < 2; times++) {
      expect(await dispatch.handler(event, CONTEXT)).toEqual({ batchItemFailures: [] });
    }
    await expectGone();
  });
});

/** The sweep removes deleted topics, and that is followed. */
async function purge(): Promise<void> {
  bench.clock.pass(LATE_MAX_MS + 2_000);
  expect(await sweep(bench.sweepHost().ports, bench.clock.now() + 60_000)).toEqual([]);
  await bench.follow();
}

describe('the uploads of a deleted topic', () => {
  it('go with it, all of them', async () => {
    await begin(7 * DAY);
    const more = await Promise.all(Array.from({ length: 29 }, () => makeUpload(bench, host, upload.topicId)));
    await appendUploads(host, 'orders', 'a', [upload, ...more]);
    await pass(2 * DAY);
    expect(await bench.objects()).toHaveLength(30);
    await deleteTopic(host.backbone, 'orders');
    await purge();
    await expectGone();
    expect(await bench.items('log')).toEqual([]);
    expect(await bench.items('state')).toEqual([]);
  });

  it('that were made today go at the end of their day: until then their URLs may be used', async () => {
    await begin(-1);
    const used = await makeUpload(bench, host, upload.topicId);
    await appendUploads(host, 'orders', 'a', [used]);
    await deleteTopic(host.backbone, 'orders');
    await purge();
    expect(await bench.objects()).toHaveLength(2);
    await host.backbone.uploadObjects.remove(upload);
    await putPayload(bench, upload);
    await pass(UPLOAD_LIFE_MS);
    await expectGone();
    expect(await bench.items('state')).toEqual([]);
  });
});
