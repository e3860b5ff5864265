import { PutObjectCommand } from '@aws-sdk/client-s3';
import { ulid } from 'ulid';
import { UPLOAD_LIFE_MS } from '../../shared/domain/limits.ts';
import type { Upload, UploadId } from '../../shared/domain/upload.ts';
import { appendBatches } from '../../shared/operations/append-batches.ts';
import type { AppendResult } from '../../shared/operations/partition-append.ts';
import { uploadObjectKey } from '../../shared/store/keys.ts';
import { batchOf, type Host, type LogBench } from './log-bench.ts';
import { sha256Of } from './upload.ts';

const PAYLOAD = Buffer.from('payload');

/** An upload with its watch, and its payload in the bucket, as if it had come by its URL. */
export async function makeUpload(bench: LogBench, { backbone }: Host, topicId: string): Promise<Upload> {
  const expiresAt = bench.clock.now() + UPLOAD_LIFE_MS;
  const upload = { topicId, uploadId: ulid(), size: PAYLOAD.length, sha256: sha256Of(PAYLOAD), expiresAt };
  await backbone.uploads.watch(upload, Math.ceil(expiresAt / 1_000));
  await backbone.uploads.create(upload);
  await putPayload(bench, upload);
  return upload;
}

export async function putPayload({ tables: { s3, bucket } }: LogBench, upload: UploadId): Promise<void> {
  const object = { Bucket: bucket, Key: uploadObjectKey(upload), Body: PAYLOAD };
  await s3.send(new PutObjectCommand({ ...object, ChecksumAlgorithm: 'SHA256' }));
}

/** Appends a batch called `name` of one record per upload, whose values these are. */
export function appendUploads(
  from: Host,
  topic: string,
  name: string,
  uploads: readonly UploadId[],
  key?: string,
): Promise<AppendResult> {
  const references = uploads.map(({ uploadId }, index) => ({ index, uploadId }));
  const batch = {
    ...batchOf(name, uploads.length),
    uploads: references.map((reference) => ({ ...reference, position: reference.index })),
  };
  return appendBatches(from.backbone, {
    topic,
    uploads: references,
    build: () => new Map([[0, batch]]),
    ...(key !== undefined && { once: { key, fingerprint: Buffer.from(name.padEnd(32)).toString('hex') } }),
  });
}
