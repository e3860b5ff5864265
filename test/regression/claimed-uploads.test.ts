import { beforeEach, describe, expect, it } from 'vitest';
import { IdempotencyKeyReused, UploadInvalid } from '../../shared/domain/errors.ts';
import { SLOW_FILL_DEADLINE_MS } from '../../shared/domain/limits.ts';
import type { UploadId } from '../../shared/domain/upload.ts';
import { appendBatches } from '../../shared/operations/append-batches.ts';
import type { AppendResult } from '../../shared/operations/partition-append.ts';
import { batchOf, type Host, type LogBench, makeTopic, openLogBench, read } from '../support/log-bench.ts';
import { appendUploads, makeUpload } from '../support/uploads.ts';

// The uploads of a request were judged before its claim, and one that was forgotten since ended every repeat.
let bench: LogBench;
let host: Host;
let kept: UploadId;
let lost: UploadId;

beforeEach(async () => {
  bench = await openLogBench();
  host = bench.host();
  await makeTopic(host, 'orders', { partitions: 2 });
  const { id } = await host.backbone.topics.get('orders');
  kept = await makeUpload(bench, host, id);
  lost = await makeUpload(bench, host, id);
  return () => bench.close();
});

/** One upload to each of two partitions, under one key. */
function appendBoth(from: Host): Promise<AppendResult> {
  const references = [kept, lost].map(({ uploadId }, index) => ({ index, uploadId, position: 0 }));
  return appendBatches(from.backbone, {
    topic: 'orders',
    uploads: references,
    build: (_, payloads) => {
      for (const { uploadId } of references) expect(payloads.get(uploadId)).toBeDefined();
      return new Map(references.map((reference, i) => [i, { ...batchOf(`p${i}`), uploads: [reference] }]));
    },
    once: { key: 'k', fingerprint: 'ab'.repeat(32) },
  });
}

describe('a request with a key, one of whose uploads goes while it is made', () => {
  it('stores the others, and answers every repeat the same', async () => {
    const held = host.faults.hold('UpdateItem', 'none', lost.uploadId);
    const first = appendBoth(host);
    await held.arrived;
    await bench.host().backbone.uploads.forget(lost, undefined);
    held.release();
    const { outcomes } = await first;
    expect(outcomes[0]).toMatchObject({ baseOffset: 0 });
    expect(outcomes[1]).toMatchObject({ error: expect.any(UploadInvalid) });
    for (let repeats = 0; repeats < 3; repeats++) {
      bench.clock.pass(SLOW_FILL_DEADLINE_MS + 1);
      const repeat = await appendBoth(bench.host());
      expect(repeat.duplicate).toBe(true);
      expect(repeat.outcomes[0]).toEqual(outcomes[0]);
      expect(repeat.outcomes[1]).toMatchObject({ error: { code: 'upload_invalid', data: { reason: 'expired' } } });
    }
    expect((await read(host, 'orders', 0)).got).toEqual(['p0@0..0']);
    expect((await read(host, 'orders', 0, { partition: 1 })).got).toEqual([]);
  });
});

it('a key that stands for another request is refused as such, whatever the uploads that this one names', async () => {
  await appendUploads(host, 'orders', 'a', [kept], 'k');
  const unknown = { ...kept, uploadId: 'Z'.repeat(26) };
  for (const other of [unknown, kept, { ...kept, uploadId: 'no id at all' }]) {
    await expect(appendUploads(host, 'orders', 'b', [other], 'k')).rejects.toBeInstanceOf(IdempotencyKeyReused);
  }
  await expect(appendUploads(host, 'orders', 'b', [unknown], 'l')).rejects.toBeInstanceOf(UploadInvalid);
});
