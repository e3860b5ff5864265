import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  BackboneError,
  IdempotencyInProgress,
  Throttled,
  Unavailable,
  UploadInvalid,
} from '../../../shared/domain/errors.ts';
import { SLOW_FILL_DEADLINE_MS, SLOW_SETTLE_AFTER_MS } from '../../../shared/domain/limits.ts';
import type { UploadId } from '../../../shared/domain/upload.ts';
import { appendBatches } from '../../../shared/operations/append-batches.ts';
import { createUpload } from '../../../shared/operations/create-upload.ts';
import type { AppendResult } from '../../../shared/operations/partition-append.ts';
import { deleteTopic, putTopic } from '../../../shared/operations/topics.ts';
import { batchOf, type Host, type LogBench, makeTopic, openLogBench, read } from '../../support/log-bench.ts';
import { appendUploads as appendTo, makeUpload } from '../../support/uploads.ts';

let bench: LogBench;
let host: Host;
let topic: string;
let topicId: string;
let made = 0;
beforeAll(async () => {
  bench = await openLogBench({ spillAboveBytes: 8 });
});
afterAll(() => bench.close());
beforeEach(async () => {
  host = bench.host();
  topic = `topic-${++made}`;
  await makeTopic(host, topic);
  topicId = (await host.backbone.topics.get(topic)).id;
});

const uploaded = () => makeUpload(bench, host, topicId);

function appendUploads(
  from: Host,
  name: string,
  uploads: readonly UploadId[],
  { key }: { key?: string } = {},
): Promise<AppendResult> {
  return appendTo(from, topic, name, uploads, key);
}

const offsetOf = ({ outcomes: [outcome] }: AppendResult) => (outcome as { baseOffset: number }).baseOffset;
const stored = async (partition = 0) => (await read(bench.host(), topic, 0, { partition })).got;
/** The slot that has an upload, by its last offset. */
const usedBy = async (upload: UploadId) => (await host.backbone.uploads.find(upload))?.use?.last;

/** A writer that gets as far as `operation`, whose attempt never arrives and is never answered. */
async function die(operation: string, naming: string, uploads: UploadId[], name = 'a', key?: string): Promise<void> {
  const dead = bench.host();
  const { arrived } = dead.faults.hold(operation, 'lose-request', naming);
  void appendUploads(dead, name, uploads, key === undefined ? {} : { key }).catch(() => {});
  await arrived;
}

describe('an upload that a record names', () => {
  it('is taken for the slot before that is filled', async () => {
    const upload = await uploaded();
    host.faults.calls.length = 0;
    expect(offsetOf(await appendUploads(host, 'a', [upload]))).toBe(0);
    expect(host.faults.calls).toEqual(['GetItem', 'HeadObject', 'UpdateItem', 'UpdateItem', 'PutItem']);
    expect(await usedBy(upload)).toBe(0);
  });

  it('may be named beside so many others that the batch goes to S3', async () => {
    const uploads = await Promise.all([uploaded(), uploaded()]);
    await appendUploads(host, 'a large batch', uploads);
    expect(await stored()).toEqual(['a large batch@0..1']);
    const [slot] = (await host.backbone.log.read({ topicId, partition: 0 }, 0, { limit: 1, outline: false })).slots;
    const ids = uploads.map(({ uploadId }, i) => [i, { topicId, uploadId }] as const);
    expect(slot).toMatchObject({ spilled: {}, uploads: new Map(ids) });
  });

  it('is waited for by readers for ten seconds, as a large batch is', async () => {
    const slow = bench.host();
    const held = slow.faults.hold('UpdateItem', 'none', 'usedBy');
    const appended = appendUploads(slow, 'a', [await uploaded()]);
    await held.arrived;
    await appendUploads(host, 'b', [await uploaded()]);
    bench.clock.pass(SLOW_FILL_DEADLINE_MS - 100);
    expect(await stored()).toEqual([]);
    held.release();
    expect(offsetOf(await appended)).toBe(0);
    expect(await stored()).toEqual(['a@0..0', 'b@1..1']);
  });

  it('is stored once, of twenty requests that name it at a time', async () => {
    const upload = await uploaded();
    const appends = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) => appendUploads(bench.host(), `r${i}`, [upload])),
    );
    const refusals = appends.flatMap((append) => (append.status === 'rejected' ? [append.reason] : []));
    expect(refusals).toHaveLength(19);
    for (const refusal of refusals)
      expect(refusal instanceof UploadInvalid || refusal instanceof Unavailable).toBe(true);
    bench.clock.pass(SLOW_SETTLE_AFTER_MS + 1);
    expect(await stored()).toHaveLength(1);
  });

  it('is refused when it went after it was looked at, and nothing is stored', async () => {
    const [first, second] = [await uploaded(), await uploaded()];
    const slow = bench.host();
    const held = slow.faults.hold('UpdateItem', 'none', 'usedBy');
    const appended = appendUploads(slow, 'a', [first, second]);
    await held.arrived;
    await host.backbone.uploads.forget(first, undefined);
    held.release();
    await expect(appended).rejects.toMatchObject({ code: 'upload_invalid', data: { index: 0, reason: 'expired' } });
    // No reader waits for the slot, and the other upload is free.
    await appendUploads(host, 'b', [second]);
    expect(await stored()).toEqual(['b@2..2']);
  });

  it('is refused when another got it after it was looked at; what else the request names is free', async () => {
    const [mine, contested] = [await uploaded(), await uploaded()];
    const slow = bench.host();
    const held = slow.faults.hold('UpdateItem', 'none', 'next');
    const appended = appendUploads(slow, 'a', [mine, contested]);
    await held.arrived;
    await appendUploads(host, 'b', [contested]);
    held.release();
    await expect(appended).rejects.toMatchObject({ code: 'upload_invalid', data: { index: 1, reason: 'used' } });
    await appendUploads(host, 'c', [mine]);
    expect(await stored()).toEqual(['b@0..0', 'c@3..3']);
  });

  it('fails its own partition alone, when another got it after it was looked at', async () => {
    await putTopic(host.backbone, topic, { partitions: 2 });
    const [mine, contested] = [await uploaded(), await uploaded()];
    const references = [mine, contested].map(({ uploadId }, index) => ({ index, uploadId }));
    const slow = bench.host();
    const held = slow.faults.hold('UpdateItem', 'none', `${topicId}.1`);
    const appended = appendBatches(slow.backbone, {
      topic,
      uploads: references,
      build: () =>
        new Map(
          references.map((upload, partition) => [
            partition,
            { ...batchOf('a'), uploads: [{ ...upload, position: 0 }] },
          ]),
        ),
    });
    await held.arrived;
    await appendUploads(host, 'b', [contested]);
    held.release();
    expect((await appended).outcomes).toMatchObject([
      { partition: 0, baseOffset: expect.any(Number) },
      { partition: 1, error: { code: 'upload_invalid' } },
    ]);
    expect((await stored()).map((slot) => slot[0])).toEqual(expect.arrayContaining(['a', 'b']));
    expect(await stored(1)).toEqual([]);
  });
});

describe('a writer that died', () => {
  it('after it put its batch, but took no upload, keeps nobody from it', async () => {
    const upload = await uploaded();
    await die('UpdateItem', 'usedBy', [upload], 'a large batch');
    await appendUploads(host, 'b', [upload]);
    bench.clock.pass(SLOW_SETTLE_AFTER_MS + 1);
    expect(await stored()).toEqual(['b@1..1']);
  });

  it('after it took an upload keeps others from it while it may still fill its slot, and no longer', async () => {
    const upload = await uploaded();
    await die('PutItem', '"uploads"', [upload]);
    await expect(appendUploads(host, 'b', [upload])).rejects.toMatchObject({
      code: 'unavailable',
      data: { retryAfterMs: SLOW_FILL_DEADLINE_MS },
    });
    bench.clock.pass(SLOW_FILL_DEADLINE_MS + 1);
    await appendUploads(host, 'b', [upload]);
    expect(await host.backbone.log.find({ topicId, partition: 0 }, 0)).toMatchObject({ kind: 'void' });
    expect(await stored()).toEqual(['b@1..1']);
    expect(await usedBy(upload)).toBe(1);
  });

  it('after it filled its slot has the upload, though nobody was told', async () => {
    const upload = await uploaded();
    const dead = bench.host();
    dead.faults.next('PutItem', 'lose-answer', 3, '"uploads"');
    dead.faults.next('PutItem', 'lose-request', 3, '"void"');
    await expect(appendUploads(dead, 'a', [upload])).rejects.toMatchObject({ code: 'outcome_unknown' });
    bench.clock.pass(SLOW_FILL_DEADLINE_MS + 1);
    await expect(appendUploads(host, 'b', [upload])).rejects.toMatchObject({ data: { reason: 'used' } });
    expect(await stored()).toEqual(['a@0..0']);
  });

  it('is not taken for dead when it fills its slot in the last moment', async () => {
    const upload = await uploaded();
    const slow = bench.host();
    const filling = slow.faults.hold('PutItem', 'none', '"uploads"');
    const first = appendUploads(slow, 'a', [upload]);
    await filling.arrived;
    bench.clock.pass(SLOW_FILL_DEADLINE_MS + 1);
    const voiding = host.faults.hold('PutItem', 'none', '"void"');
    const second = appendUploads(host, 'b', [upload]);
    await voiding.arrived;
    filling.release();
    expect(offsetOf(await first)).toBe(0);
    voiding.release();
    await expect(second).rejects.toMatchObject({ data: { reason: 'used' } });
    expect(await stored()).toEqual(['a@0..0']);
  });

  it('and whose slot a reader has settled since has no upload', async () => {
    const upload = await uploaded();
    await die('PutItem', '"uploads"', [upload]);
    bench.clock.pass(SLOW_SETTLE_AFTER_MS + 1);
    expect(await stored()).toEqual([]);
    await appendUploads(host, 'b', [upload]);
    expect(await usedBy(upload)).toBe(1);
  });
});

describe('a write that is not confirmed', () => {
  it('is known again, when it took the upload', async () => {
    const upload = await uploaded();
    host.faults.next('UpdateItem', 'lose-answer', 1, 'usedBy');
    expect(offsetOf(await appendUploads(host, 'a', [upload]))).toBe(0);
    expect(await usedBy(upload)).toBe(0);
  });

  it('leaves the upload free, when nothing could be stored', async () => {
    const upload = await uploaded();
    host.faults.next('UpdateItem', 'lose-answer', 6, 'usedBy');
    await expect(appendUploads(host, 'a', [upload])).rejects.toBeInstanceOf(Unavailable);
    host.faults.next('UpdateItem', 'throttle', 3, 'usedBy');
    await expect(appendUploads(host, 'a', [upload])).rejects.toBeInstanceOf(Throttled);
    expect(offsetOf(await appendUploads(bench.host(), 'b', [upload]))).toBe(3);
    expect(await stored()).toEqual(['b@3..3']);
  });

  it('leaves no doubt when the slot cannot be given back, either: it was not filled', async () => {
    const upload = await uploaded();
    host.faults.next('UpdateItem', 'lose-answer', 3, 'usedBy');
    host.faults.next('PutItem', 'lose-request', 3, '"void"');
    await expect(appendUploads(host, 'a', [upload])).rejects.toBeInstanceOf(Unavailable);
    bench.clock.pass(SLOW_FILL_DEADLINE_MS + 1);
    expect(offsetOf(await appendUploads(bench.host(), 'a', [upload]))).toBe(1);
  });

  it('that comes late moves the append, and the upload with it', async () => {
    const upload = await uploaded();
    const slow = bench.host();
    const held = slow.faults.hold('UpdateItem', 'none', 'usedBy');
    const appended = appendUploads(slow, 'a', [upload]);
    await held.arrived;
    bench.clock.pass(SLOW_FILL_DEADLINE_MS + 1);
    held.release();
    expect(offsetOf(await appended)).toBe(1);
    expect(await usedBy(upload)).toBe(1);
    expect(await stored()).toEqual(['a@1..1']);
  });

  it('of a slot that a reader settled meanwhile moves the append, and the upload with it', async () => {
    const upload = await uploaded();
    const slow = bench.host();
    const held = slow.faults.hold('PutItem', 'none', '"uploads"');
    const appended = appendUploads(slow, 'a', [upload]);
    await held.arrived;
    bench.clock.pass(SLOW_SETTLE_AFTER_MS + 1);
    expect(await stored()).toEqual([]);
    held.release();
    expect(offsetOf(await appended)).toBe(1);
    expect(await usedBy(upload)).toBe(1);
  });
});

describe('a request with a key', () => {
  it('is finished by its repeat, however many died over it after they took the upload', async () => {
    const upload = await uploaded();
    for (let deaths = 0; deaths < 3; deaths++) {
      await die('PutItem', '"uploads"', [upload], 'a', 'k');
      await expect(appendUploads(host, 'a', [upload], { key: 'k' })).rejects.toBeInstanceOf(IdempotencyInProgress);
      bench.clock.pass(SLOW_FILL_DEADLINE_MS + 1);
      // One that moved the claim, and took no upload.
      await die('UpdateItem', 'usedBy', [upload], 'a', 'k');
      bench.clock.pass(SLOW_FILL_DEADLINE_MS + 1);
    }
    const finished = await appendUploads(host, 'a', [upload], { key: 'k' });
    expect(finished.duplicate).toBe(true);
    expect(await appendUploads(bench.host(), 'a', [upload], { key: 'k' })).toEqual(finished);
    expect(await usedBy(upload)).toBe(offsetOf(finished));
    bench.clock.pass(SLOW_SETTLE_AFTER_MS + 1);
    expect(await stored()).toHaveLength(1);
  });

  it.each([
    ['takes the upload', 'UpdateItem', 'usedBy'],
    ['fills its slot', 'PutItem', '"uploads"'],
  ])('that %s after its repeat has finished it answers the same', async (_, operation, naming) => {
    const upload = await uploaded();
    const slow = bench.host();
    const held = slow.faults.hold(operation, 'none', naming);
    const first = appendUploads(slow, 'a', [upload], { key: 'k' });
    await held.arrived;
    bench.clock.pass(SLOW_FILL_DEADLINE_MS + 1);
    const second = await appendUploads(host, 'a', [upload], { key: 'k' });
    held.release();
    expect(offsetOf(await first)).toBe(offsetOf(second));
    expect(await usedBy(upload)).toBe(offsetOf(second));
    bench.clock.pass(SLOW_SETTLE_AFTER_MS + 1);
    expect(await stored()).toHaveLength(1);
  });

  it('that finds its repeat about to take the upload answers the same, or may be repeated', async () => {
    const upload = await uploaded();
    const [slow, other] = [bench.host(), bench.host()];
    const taking = slow.faults.hold('UpdateItem', 'none', 'usedBy');
    const first = appendUploads(slow, 'a', [upload], { key: 'k' });
    await taking.arrived;
    bench.clock.pass(SLOW_FILL_DEADLINE_MS + 1);
    const filling = other.faults.hold('PutItem', 'none', '"uploads"');
    const second = appendUploads(other, 'a', [upload], { key: 'k' });
    await filling.arrived;
    taking.release();
    const outcome = await first.then(offsetOf, (error: unknown) => error);
    filling.release();
    const answer = offsetOf(await second);
    expect([answer, expect.any(BackboneError)]).toContainEqual(outcome);
    expect(offsetOf(await appendUploads(bench.host(), 'a', [upload], { key: 'k' }))).toBe(answer);
    bench.clock.pass(2 * SLOW_SETTLE_AFTER_MS);
    expect(await stored()).toHaveLength(1);
    expect(await usedBy(upload)).toBe(answer);
  });

  it('is appended once when twenty send it at a time', async () => {
    const upload = await uploaded();
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, () => appendUploads(bench.host(), 'a', [upload], { key: 'k' })),
    );
    const answered = results.flatMap((result) => (result.status === 'fulfilled' ? [offsetOf(result.value)] : []));
    expect(new Set(answered).size).toBe(1);
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(IdempotencyInProgress);
    expect(await usedBy(upload)).toBe(answered[0]);
    bench.clock.pass(SLOW_SETTLE_AFTER_MS + 1);
    expect(await stored()).toHaveLength(1);
  });
});

it('is announced to the topic that is there now, not to one of the same name that this process remembers', async () => {
  const other = bench.host();
  await deleteTopic(other.backbone, topic);
  await makeTopic(other, topic);
  const payload = { size: 1, sha256: '00'.repeat(32) };
  const { uploadId } = await createUpload(host.backbone, topic, payload);
  const { id } = await other.backbone.topics.get(topic);
  expect(await other.backbone.uploads.find({ topicId: id, uploadId })).toMatchObject(payload);
});
