import { createHash } from 'node:crypto';
import { GetItemCommand } from '@aws-sdk/client-dynamodb';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createBackboneTables, createBucket } from '../../local/aws/tables.ts';
import { PRESIGNED_LIFE_MS } from '../../shared/domain/limits.ts';
import type { Upload, UploadUse } from '../../shared/domain/upload.ts';
import { uploadLogKey, uploadObjectKey } from '../../shared/store/keys.ts';
import { UploadObjects } from '../../shared/store/upload-objects.ts';
import { UploadUrls } from '../../shared/store/upload-urls.ts';
import { Uploads } from '../../shared/store/uploads.ts';
import { contractEngine, type Engine, fresh } from '../support/engine.ts';

const PAYLOAD = Buffer.from('a payload of 28 bytes, or so');
const inTime = () => false;
let engine: Engine;
let names: { logTable: string; stateTable: string; bucket: string };
let uploads: Uploads;
let upload: Upload;
beforeAll(async () => {
  engine = await contractEngine();
  names = { logTable: fresh('log'), stateTable: fresh('state'), bucket: fresh('bucket') };
  await createBackboneTables(engine.dynamodb, names);
  await createBucket(engine.s3, names.bucket);
  uploads = new Uploads(engine.dynamodb, names);
});
afterAll(() => engine.close());

let ids = 0;
beforeEach(() => {
  const id = (++ids).toString().padStart(26, '0');
  const sha256 = createHash('sha256').update(PAYLOAD).digest('hex');
  upload = { topicId: id, uploadId: id, size: PAYLOAD.length, sha256, expiresAt: 1_800_000_000_001 };
});

const useOf = (last: number): UploadUse => ({ partition: 3, last, count: 2, at: 1_700_000_000_000 + last });

describe('an upload', () => {
  it('comes back as it was announced, and is of its topic alone', async () => {
    await uploads.create(upload);
    expect(await uploads.find(upload)).toEqual(upload);
    expect(await uploads.find({ ...upload, topicId: '0'.repeat(26) })).toBeUndefined();
  });

  it('is listed with the others of its topic, by id, from any on', async () => {
    const ids = ['A', 'B', 'C'].map((letter) => letter.repeat(26));
    for (const uploadId of ids) await uploads.create({ ...upload, uploadId });
    expect((await uploads.list(upload.topicId)).items.map(({ uploadId }) => uploadId)).toEqual(ids);
    expect((await uploads.list(upload.topicId, ids[1])).items.map(({ uploadId }) => uploadId)).toEqual([ids[2]]);
    expect(await uploads.list('0'.repeat(26))).toEqual({ items: [] });
  });

  it('is taken once, of many who want it at a time', async () => {
    await uploads.create(upload);
    const uses = Array.from({ length: 16 }, (_, last) => useOf(last));
    const holders = await Promise.all(uses.map((use) => uploads.take(upload, use, undefined, inTime)));
    const taken = uses.filter((_, i) => holders[i] === undefined);
    expect(taken).toHaveLength(1);
    for (const holder of holders) expect([undefined, taken[0]]).toContainEqual(holder);
    expect((await uploads.find(upload))!.use).toEqual(taken[0]);
  });

  it('is taken again for the same slot, and from the one that is named, and from no other', async () => {
    await uploads.create(upload);
    expect(await uploads.take(upload, useOf(1), undefined, inTime)).toBeUndefined();
    expect(await uploads.take(upload, useOf(1), undefined, inTime)).toBeUndefined();
    expect(await uploads.take(upload, useOf(2), useOf(7), inTime)).toEqual(useOf(1));
    expect(await uploads.take(upload, useOf(2), useOf(1), inTime)).toBeUndefined();
    expect(await uploads.take(upload, useOf(3), useOf(1), inTime)).toEqual(useOf(2));
  });

  it('that is not there cannot be taken', async () => {
    expect(await uploads.take(upload, useOf(1), undefined, inTime)).toBe('gone');
    expect(await uploads.find(upload)).toBeUndefined();
  });

  it('is not taken too late', async () => {
    await uploads.create(upload);
    const take = uploads.take(upload, useOf(1), undefined, () => true);
    await expect(take).rejects.toMatchObject({ reason: 'late', mayHaveLanded: false });
    expect((await uploads.find(upload))!.use).toBeUndefined();
  });

  it('is forgotten while nobody has taken it, and then cannot be taken', async () => {
    await uploads.create(upload);
    expect(await uploads.forget(upload, undefined)).toBeUndefined();
    expect(await uploads.forget(upload, undefined)).toBeUndefined();
    expect(await uploads.take(upload, useOf(1), undefined, inTime)).toBe('gone');
  });

  it('is forgotten with the use that it has, and with no other', async () => {
    await uploads.create(upload);
    await uploads.take(upload, useOf(1), undefined, inTime);
    expect(await uploads.forget(upload, undefined)).toEqual(useOf(1));
    expect(await uploads.forget(upload, useOf(2))).toEqual(useOf(1));
    expect(await uploads.forget(upload, useOf(1))).toBeUndefined();
    expect(await uploads.find(upload)).toBeUndefined();
    expect(await uploads.forget(upload, useOf(1))).toBeUndefined();
  });
});

describe('the watch of an upload', () => {
  const watch = async () => {
    const Key = { log: { S: uploadLogKey(upload) }, last: { N: '0' } };
    return (await engine.dynamodb.send(new GetItemCommand({ TableName: names.logTable, Key }))).Item;
  };

  it('expires when it is to, or never, and is moved by being put again', async () => {
    await uploads.watch(upload, 1_900_000_000);
    expect(await watch()).toMatchObject({ v: { N: '1' }, expiresAt: { N: '1900000000' } });
    await uploads.watch(upload, 0);
    expect(await watch()).not.toHaveProperty('expiresAt');
  });

  it('is deleted with others, those included that are not there', async () => {
    await uploads.watch(upload, 0);
    expect(await uploads.unwatch([upload, { ...upload, uploadId: 'Z'.repeat(26) }])).toEqual([]);
    expect(await watch()).toBeUndefined();
  });
});

describe('a payload', () => {
  let objects: UploadObjects;
  let urls: UploadUrls;
  beforeAll(() => {
    objects = new UploadObjects(engine.s3, names.bucket);
    urls = new UploadUrls(engine.s3, names.bucket);
  });
  /** Puts another object there, as nobody can who has nothing but a presigned URL. */
  const overwrite = (Body: string, more: object = {}) =>
    engine.s3.send(new PutObjectCommand({ Bucket: names.bucket, Key: uploadObjectKey(upload), Body, ...more }));
  const put = async (body: Uint8Array, change: Record<string, string | undefined> = {}, now = Date.now()) => {
    const { url, headers } = await urls.put(upload, now);
    const sent = Object.entries({ ...headers, ...change }).filter(([, value]) => value !== undefined);
    // The length is told by the body itself.
    return fetch(url, {
      method: 'PUT',
      body,
      headers: sent.filter(([name]) => name !== 'content-length') as [string, string][],
    });
  };

  it('is put by its presigned URL, twice if need be, and got byte for byte', async () => {
    expect(await objects.check(upload)).toBe('not_uploaded');
    expect((await put(PAYLOAD)).status).toBe(200);
    expect((await put(PAYLOAD)).status).toBe(200);
    expect(await objects.check(upload)).toBe('as_announced');
    const got = await fetch(await urls.get(upload, Date.now()));
    expect(Buffer.from(await got.arrayBuffer())).toEqual(PAYLOAD);
  });

  it('of other bytes, of another length, or under another checksum is not taken', async () => {
    const other = Buffer.from(PAYLOAD).reverse();
    expect((await put(other)).status).toBe(400);
    expect((await put(PAYLOAD.subarray(1))).status).toBe(403);
    const checksum = createHash('sha256').update(other).digest('base64');
    expect((await put(other, { 'x-amz-checksum-sha256': checksum })).status).toBe(403);
    expect((await put(other, { 'x-amz-checksum-sha256': undefined })).status).toBe(403);
    expect(await objects.check(upload)).toBe('not_uploaded');
  });

  it('cannot be put elsewhere with the same signature, nor got by it, nor later', async () => {
    const { url, headers } = await urls.put(upload, Date.now());
    const { 'content-length': _, ...sent } = headers;
    const elsewhere = url.replace(upload.uploadId, `${upload.uploadId}x`);
    expect((await fetch(elsewhere, { method: 'PUT', body: PAYLOAD, headers: sent })).status).toBe(403);
    expect((await fetch(url)).status).toBe(403);
    expect((await put(PAYLOAD, {}, Date.now() - PRESIGNED_LIFE_MS - 1_000)).status).toBe(403);
    expect(await objects.check(upload)).toBe('not_uploaded');
  });

  it('that is not what was announced is told by its size and its checksum', async () => {
    await overwrite('short', { ChecksumAlgorithm: 'SHA256' });
    expect(await objects.check(upload)).toBe('wrong_size');
    const other = Buffer.from(PAYLOAD).reverse().toString();
    await overwrite(other, { ChecksumAlgorithm: 'SHA256' });
    expect(await objects.check(upload)).toBe('wrong_checksum');
    await overwrite(PAYLOAD.toString(), { ChecksumAlgorithm: 'CRC32' });
    expect(await objects.check(upload)).toBe('wrong_checksum');
  });

  it('is removed, also when it is not there', async () => {
    await put(PAYLOAD);
    await objects.remove(upload);
    await objects.remove(upload);
    expect(await objects.check(upload)).toBe('not_uploaded');
  });
});
