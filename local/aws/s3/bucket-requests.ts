import { type AwsRequest, type AwsResponse, textOf } from '../service.ts';
import type { ObjectStore } from './object-store.ts';
import { invalidArgument, S3Error } from './s3-error.ts';
import { document, textsOf } from './xml.ts';

/** Source: AWS, ListObjectsV2 and DeleteObjects: keys per call. */
const KEYS_MAX = 1_000;

export function xmlAnswer(name: string, content: Parameters<typeof document>[1]): AwsResponse {
  return { status: 200, headers: { 'content-type': 'application/xml' }, body: document(name, content) };
}

export async function listBuckets(store: ObjectStore): Promise<AwsResponse> {
  const Bucket = (await store.buckets()).map(([Name, madeAt]) => ({
    Name,
    CreationDate: new Date(madeAt).toISOString(),
  }));
  return xmlAnswer('ListAllMyBucketsResult', { Buckets: { Bucket } });
}

export async function createBucket(store: ObjectStore, bucket: string): Promise<AwsResponse> {
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket)) {
    throw new S3Error(400, 'InvalidBucketName', 'The specified bucket is not valid.', { BucketName: bucket });
  }
  if (!(await store.createBucket(bucket))) {
    throw new S3Error(409, 'BucketAlreadyOwnedByYou', 'The bucket you tried to create already exists, and you own it.');
  }
  return { status: 200, headers: { location: `/${bucket}` }, body: '' };
}

/** ListObjectsV2. A continuation token is the last key of the page before, in base64. */
export async function listObjects(
  store: ObjectStore,
  bucket: string,
  query: AwsRequest['query'],
): Promise<AwsResponse> {
  await store.requireBucket(bucket);
  const prefix = query.prefix ?? '';
  const delimiter = query.delimiter ?? '';
  const token = query['continuation-token'];
  const asked = Number(query['max-keys'] ?? KEYS_MAX);
  if (!Number.isInteger(asked) || asked < 0) throw invalidArgument('max-keys must be a non-negative integer');
  const most = Math.min(asked, KEYS_MAX);
  const name =
    query['encoding-type'] === 'url'
      ? (key: string) => encodeURIComponent(key).replaceAll('%2F', '/')
      : (key: string) => key;

  const contents: Parameters<typeof document>[1][] = [];
  const prefixes: string[] = [];
  const before = token === undefined ? '' : Buffer.from(token, 'base64').toString();
  let last = before || (query['start-after'] ?? '');
  let more = false;
  for await (const [key, object] of most > 0 ? store.list(bucket, prefix, last) : []) {
    const cut = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
    const folder = cut < 0 ? undefined : key.slice(0, cut + delimiter.length);
    if (folder !== undefined && (prefixes.at(-1) === folder || before.startsWith(folder))) {
      last = key;
      continue;
    }
    if (contents.length + prefixes.length === most) {
      more = true;
      break;
    }
    last = key;
    if (folder !== undefined) prefixes.push(folder);
    else {
      const { etag, size, modifiedAt } = object;
      const LastModified = new Date(modifiedAt).toISOString();
      contents.push({ Key: name(key), LastModified, ETag: etag, Size: size, StorageClass: 'STANDARD' });
    }
  }
  return xmlAnswer('ListBucketResult', {
    Name: bucket,
    Prefix: name(prefix),
    Delimiter: delimiter === '' ? undefined : name(delimiter),
    StartAfter: query['start-after'] === undefined ? undefined : name(query['start-after']),
    EncodingType: query['encoding-type'],
    MaxKeys: asked,
    KeyCount: contents.length + prefixes.length,
    IsTruncated: more,
    ContinuationToken: token,
    NextContinuationToken: more ? Buffer.from(last).toString('base64') : undefined,
    Contents: contents,
    CommonPrefixes: prefixes.map((folder) => ({ Prefix: name(folder) })),
  });
}

export async function deleteObjects(
  store: ObjectStore,
  bucket: string,
  body: AwsRequest['body'],
): Promise<AwsResponse> {
  const xml = (await textOf(body)) ?? '';
  const keys = textsOf(xml, 'Object').flatMap((object) => textsOf(object, 'Key'));
  if (keys.length === 0 || keys.length > KEYS_MAX) {
    throw new S3Error(
      400,
      'MalformedXML',
      'The XML you provided was not well-formed or did not validate against our published schema',
    );
  }
  for (const key of keys) await store.delete(bucket, key);
  const quiet = textsOf(xml, 'Quiet')[0] === 'true';
  return xmlAnswer('DeleteResult', quiet ? {} : { Deleted: keys.map((Key) => ({ Key })) });
}
