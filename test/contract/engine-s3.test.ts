import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  type GetObjectCommandInput,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  PutObjectCommand,
  type PutObjectCommandInput,
  S3Client,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contractEngine, type Engine, fresh } from '../support/engine.ts';

let engine: Engine;
let Bucket: string;

beforeAll(async () => {
  engine = await contractEngine();
  Bucket = await freshBucket();
});
afterAll(() => engine.close());

async function freshBucket(): Promise<string> {
  const name = fresh('bucket');
  await engine.s3.send(new CreateBucketCommand({ Bucket: name }));
  return name;
}

const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('base64');
const put = (Key: string, Body: PutObjectCommandInput['Body'], more: Partial<PutObjectCommandInput> = {}) =>
  engine.s3.send(new PutObjectCommand({ Bucket, Key, Body: Body!, ...more }));
const get = (Key: string, more: Partial<GetObjectCommandInput> = {}) =>
  engine.s3.send(new GetObjectCommand({ Bucket, Key, ...more }));
const bytesOf = async (Key: string, more: Partial<GetObjectCommandInput> = {}) =>
  Buffer.from(await (await get(Key, more)).Body!.transformToByteArray());
const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => 'accepted',
    (error) => `${error.$metadata?.httpStatusCode} ${error.name}`,
  );

describe('an object', () => {
  const everyByte = Uint8Array.from({ length: 100_000 }, (_, n) => n % 256);

  it.each([
    ['bytes', () => everyByte],
    ['a stream', () => Readable.from([everyByte.subarray(0, 70_000), everyByte.subarray(70_000)])],
  ])('comes back as it was put, from %s', async (_, body) => {
    const Key = fresh('folder/ä ~+%2F');
    await put(Key, body(), { ContentLength: everyByte.length });
    expect(await bytesOf(Key)).toEqual(Buffer.from(everyByte));
  });

  it('may be empty', async () => {
    const Key = fresh('empty');
    await put(Key, new Uint8Array());
    expect(await bytesOf(Key)).toHaveLength(0);
  });

  it('keeps its type, its metadata and its etag, and tells them without its bytes', async () => {
    const Key = fresh('key');
    const { ETag } = await put(Key, 'text', {
      ContentType: 'text/plain',
      ContentEncoding: 'identity',
      CacheControl: 'no-store',
      Metadata: { origin: 'here', two: '2' },
    });
    expect(ETag).toBe(`"${createHash('md5').update('text').digest('hex')}"`);
    const expected = {
      ContentType: 'text/plain',
      ContentEncoding: 'identity',
      CacheControl: 'no-store',
      Metadata: { origin: 'here', two: '2' },
      ContentLength: 4,
      ETag,
    };
    expect(await engine.s3.send(new HeadObjectCommand({ Bucket, Key }))).toMatchObject(expected);
    expect(await get(Key)).toMatchObject(expected);
    const overridden = await get(Key, { ResponseContentType: 'application/json' });
    expect(overridden.ContentType).toBe('application/json');
  });

  it('is replaced as a whole', async () => {
    const Key = fresh('key');
    await put(Key, 'one', { Metadata: { first: 'yes' } });
    await put(Key, 'another');
    expect(await bytesOf(Key)).toEqual(Buffer.from('another'));
    expect((await get(Key)).Metadata).toEqual({});
  });

  it('is gone once it is deleted; deleting nothing is no error', async () => {
    const Key = fresh('key');
    await put(Key, 'x');
    await engine.s3.send(new DeleteObjectCommand({ Bucket, Key }));
    await engine.s3.send(new DeleteObjectCommand({ Bucket, Key }));
    expect(await refusal(get(Key))).toBe('404 NoSuchKey');
    expect(await refusal(engine.s3.send(new HeadObjectCommand({ Bucket, Key })))).toBe('404 NotFound');
  });

  it('is not found in a bucket that does not exist', async () => {
    expect(await refusal(engine.s3.send(new GetObjectCommand({ Bucket: fresh('absent'), Key: 'a' })))).toBe(
      '404 NoSuchBucket',
    );
    expect(await refusal(engine.s3.send(new PutObjectCommand({ Bucket: fresh('absent'), Key: 'a', Body: 'x' })))).toBe(
      '404 NoSuchBucket',
    );
  });

  it.each([
    ['bytes=0-3', '0123', 'bytes 0-3/10'],
    ['bytes=7-', '789', 'bytes 7-9/10'],
    ['bytes=-2', '89', 'bytes 8-9/10'],
    ['bytes=8-99', '89', 'bytes 8-9/10'],
  ])('is read in part: %s', async (Range, text, contentRange) => {
    const Key = fresh('key');
    await put(Key, '0123456789');
    const part = await get(Key, { Range });
    expect(part.$metadata.httpStatusCode).toBe(206);
    expect(await part.Body!.transformToString()).toBe(text);
    expect(part.ContentRange).toBe(contentRange);
    expect(await refusal(get(Key, { Range: 'bytes=10-' }))).toBe('416 InvalidRange');
  });
});

describe('a conditional request', () => {
  it('puts an object only where there is none: one of 16 wins, and its bytes stay', async () => {
    const Key = fresh('key');
    const attempts = await Promise.all(
      Array.from({ length: 16 }, (_, n) => refusal(put(Key, `body ${n}`, { IfNoneMatch: '*' }))),
    );
    const winner = attempts.indexOf('accepted');
    expect(attempts.filter((attempt) => attempt === 'accepted')).toHaveLength(1);
    for (const attempt of attempts)
      expect(['accepted', '412 PreconditionFailed', '409 ConditionalRequestConflict']).toContain(attempt);
    expect((await bytesOf(Key)).toString()).toBe(`body ${winner}`);
  });

  it('puts or reads an object only if it is the one that was seen', async () => {
    const Key = fresh('key');
    const { ETag } = await put(Key, 'one');
    expect(await refusal(get(Key, { IfMatch: '"other"' }))).toBe('412 PreconditionFailed');
    expect(await refusal(put(Key, 'two', { IfMatch: '"other"' }))).toBe('412 PreconditionFailed');
    expect((await bytesOf(Key, { IfMatch: ETag! })).toString()).toBe('one');
    await put(Key, 'two', { IfMatch: ETag! });
    expect((await bytesOf(Key)).toString()).toBe('two');
  });
});

describe('a checksum', () => {
  it('that was given is verified, kept, and told when asked for', async () => {
    const Key = fresh('key');
    await put(Key, 'text', { ChecksumSHA256: sha256('text') });
    const told = await engine.s3.send(new HeadObjectCommand({ Bucket, Key, ChecksumMode: 'ENABLED' }));
    expect(told.ChecksumSHA256).toBe(sha256('text'));
    const untold = await engine.s3.send(new HeadObjectCommand({ Bucket, Key }));
    expect(untold.ChecksumSHA256).toBeUndefined();
  });

  it('of another body is refused, and nothing is stored', async () => {
    const Key = fresh('key');
    expect(await refusal(put(Key, 'text', { ChecksumSHA256: sha256('other') }))).toBe('400 BadDigest');
    expect(await refusal(put(Key, 'text', { ContentMD5: createHash('md5').update('other').digest('base64') }))).toBe(
      '400 BadDigest',
    );
    expect(await refusal(get(Key))).toBe('404 NoSuchKey');
  });

  it('of a stream arrives behind it', async () => {
    const Key = fresh('key');
    await put(Key, Readable.from([Buffer.from('te'), Buffer.from('xt')]), {
      ContentLength: 4,
      ChecksumAlgorithm: 'SHA256',
    });
    const told = await engine.s3.send(new HeadObjectCommand({ Bucket, Key, ChecksumMode: 'ENABLED' }));
    expect(told.ChecksumSHA256).toBe(sha256('text'));
    expect((await bytesOf(Key)).toString()).toBe('text');
    expect((await get(Key)).ContentEncoding).toBeUndefined();
  });
});

describe('a list', () => {
  const keysOf = async (more: Partial<ListObjectsV2CommandInput>) => {
    const {
      Contents = [],
      CommonPrefixes = [],
      ...rest
    } = await engine.s3.send(new ListObjectsV2Command({ Bucket: listed, ...more }));
    return { keys: Contents.map(({ Key }) => Key), folders: CommonPrefixes.map(({ Prefix }) => Prefix), ...rest };
  };
  const keys = ['a/1', 'a/2', 'a/b/3', 'a&<>"\' é', 'b/4', 'c'];
  let listed: string;

  beforeAll(async () => {
    listed = await freshBucket();
    for (const Key of keys) await engine.s3.send(new PutObjectCommand({ Bucket: listed, Key, Body: 'x' }));
  });

  it('has all keys in the order of their bytes, with size and etag', async () => {
    const { keys: found, KeyCount, IsTruncated } = await keysOf({});
    expect(found).toEqual([...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
    expect([KeyCount, IsTruncated]).toEqual([6, false]);
    const { Contents } = await engine.s3.send(new ListObjectsV2Command({ Bucket: listed, Prefix: 'c' }));
    expect(Contents).toMatchObject([{ Key: 'c', Size: 1, ETag: `"${createHash('md5').update('x').digest('hex')}"` }]);
  });

  it('is limited to a prefix, and begins after a key', async () => {
    expect((await keysOf({ Prefix: 'a/' })).keys).toEqual(['a/1', 'a/2', 'a/b/3']);
    expect((await keysOf({ Prefix: 'a/', StartAfter: 'a/1' })).keys).toEqual(['a/2', 'a/b/3']);
    expect((await keysOf({ Prefix: 'nothing' })).keys).toEqual([]);
  });

  it('folds keys at a delimiter', async () => {
    const { keys: found, folders } = await keysOf({ Delimiter: '/' });
    expect([found, folders]).toEqual([
      ['a&<>"\' é', 'c'],
      ['a/', 'b/'],
    ]);
  });

  it.each([
    ['keys', {}],
    ['folders', { Delimiter: '/' }],
  ])('comes in pages that miss nothing and repeat nothing: %s', async (_, more) => {
    const whole = await keysOf(more);
    const pages: (string | undefined)[] = [];
    let token: string | undefined;
    do {
      const page = await keysOf({ ...more, MaxKeys: 1, ...(token && { ContinuationToken: token }) });
      expect(page.KeyCount).toBe(1);
      pages.push(...page.keys, ...page.folders);
      token = page.NextContinuationToken;
    } while (token);
    expect(pages.sort()).toEqual([...whole.keys, ...whole.folders].sort());
  });

  it('is refused for a bucket that does not exist', async () => {
    expect(await refusal(engine.s3.send(new ListObjectsV2Command({ Bucket: fresh('absent') })))).toBe(
      '404 NoSuchBucket',
    );
  });
});

describe('a bucket', () => {
  it('exists from its creation to its deletion, and goes only when it is empty', async () => {
    const name = await freshBucket();
    await engine.s3.send(new HeadBucketCommand({ Bucket: name }));
    await engine.s3.send(new PutObjectCommand({ Bucket: name, Key: 'a', Body: 'x' }));
    expect(await refusal(engine.s3.send(new DeleteBucketCommand({ Bucket: name })))).toBe('409 BucketNotEmpty');
    const Objects = [{ Key: 'a' }, { Key: 'absent & <none>' }];
    const { Deleted } = await engine.s3.send(new DeleteObjectsCommand({ Bucket: name, Delete: { Objects } }));
    expect(Deleted).toEqual(Objects);
    await engine.s3.send(new DeleteBucketCommand({ Bucket: name }));
    expect(await refusal(engine.s3.send(new HeadBucketCommand({ Bucket: name })))).toBe('404 NotFound');
  });

  it('has a legal name', async () => {
    const illegal = engine.s3.send(new CreateBucketCommand({ Bucket: 'Upper_Case' }));
    expect(await refusal(illegal)).toBe('400 InvalidBucketName');
  });
});

describe('a presigned URL', () => {
  /** By default the SDK signs the checksum of a body that it does not have yet. */
  const signer = () => new S3Client({ ...engine.config, requestChecksumCalculation: 'WHEN_REQUIRED' });
  const signedPut = (Key: string) => getSignedUrl(signer(), new PutObjectCommand({ Bucket, Key }), { expiresIn: 60 });

  it('lets whoever has it put and get one object', async () => {
    const Key = fresh('key with spaces/ä');
    const stored = await fetch(await signedPut(Key), { method: 'PUT', body: 'text' });
    expect(stored.status).toBe(200);
    const read = await fetch(await getSignedUrl(engine.s3, new GetObjectCommand({ Bucket, Key }), { expiresIn: 60 }));
    expect(await read.text()).toBe('text');
  });

  it('is refused for another object, another method, or a changed signature', async () => {
    const Key = fresh('key');
    const url = new URL(await signedPut(Key));
    const attempts = [
      [Object.assign(new URL(url), { pathname: `${url.pathname}x` }), 'PUT'],
      [url, 'GET'],
      [new URL(url.href.replace(/Signature=[0-9a-f]{4}/, 'Signature=0000')), 'PUT'],
    ] as const;
    for (const [target, method] of attempts) {
      const response = await fetch(target, { method, ...(method === 'PUT' && { body: 'x' }) });
      expect(response.status).toBe(403);
      expect(await response.text()).toContain('<Code>SignatureDoesNotMatch</Code>');
    }
    expect(await refusal(get(Key))).toBe('404 NoSuchKey');
  });

  it('is refused once it has expired', async () => {
    const Key = fresh('key');
    const url = await getSignedUrl(signer(), new PutObjectCommand({ Bucket, Key }), {
      expiresIn: 60,
      signingDate: new Date(Date.now() - 120_000),
    });
    const response = await fetch(url, { method: 'PUT', body: 'x' });
    expect(response.status).toBe(403);
    expect(await response.text()).toContain('Request has expired');
  });

  it('holds the uploader to a checksum that the URL itself carries', async () => {
    const Key = fresh('key');
    const url = await getSignedUrl(engine.s3, new PutObjectCommand({ Bucket, Key }), { expiresIn: 60 });
    expect(url).toContain('x-amz-checksum-crc32=AAAAAA%3D%3D');
    expect((await fetch(url, { method: 'PUT', body: 'x' })).status).toBe(400);
    expect((await fetch(url, { method: 'PUT' })).status).toBe(200);
  });

  it('holds the uploader to size, hash and headers that were signed', async () => {
    const Key = fresh('key');
    const ChecksumSHA256 = sha256('text');
    const command = new PutObjectCommand({ Bucket, Key, ChecksumSHA256, ContentLength: 4 });
    const unhoistableHeaders = new Set(['x-amz-checksum-sha256']);
    const url = await getSignedUrl(signer(), command, { expiresIn: 60, unhoistableHeaders });
    const send = (body: string, hash: string) =>
      fetch(url, { method: 'PUT', body, headers: { 'x-amz-checksum-sha256': hash } });
    expect((await send('texts', sha256('texts'))).status).toBe(403);
    expect((await send('tex!', ChecksumSHA256)).status).toBe(400);
    expect(await refusal(get(Key))).toBe('404 NoSuchKey');
    const headers = { 'x-amz-checksum-sha256': ChecksumSHA256, 'x-amz-meta-extra': 'unsigned' };
    expect((await fetch(url, { method: 'PUT', body: 'text', headers })).status).toBe(403);
    expect((await send('text', ChecksumSHA256)).status).toBe(200);
    const told = await engine.s3.send(new HeadObjectCommand({ Bucket, Key, ChecksumMode: 'ENABLED' }));
    expect([told.ContentLength, told.ChecksumSHA256]).toEqual([4, ChecksumSHA256]);
  });
});

it('refuses requests without a signature and with an old one', async () => {
  const url = new URL(`/${Bucket}/key`, await getSignedUrl(engine.s3, new GetObjectCommand({ Bucket, Key: 'key' })));
  expect((await fetch(url)).status).toBe(403);
  const slow = new S3Client({ ...engine.config, maxAttempts: 1, systemClockOffset: -16 * 60_000 });
  expect(await refusal(slow.send(new PutObjectCommand({ Bucket, Key: 'late', Body: 'x' })))).toBe(
    '403 RequestTimeTooSkewed',
  );
  expect(await refusal(get('late'))).toBe('404 NoSuchKey');
});
