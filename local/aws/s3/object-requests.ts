import type { Readable } from 'node:stream';
import type { AwsRequest, AwsResponse } from '../service.ts';
import { decodeAwsChunked } from './aws-chunked.ts';
import type { ByteRange } from './bodies.ts';
import { expectedChecksums, verify } from './checksums.ts';
import type { ObjectStore, StoredObject } from './object-store.ts';
import { badDigest, invalidArgument, noSuchKey, preconditionFailed, S3Error } from './s3-error.ts';

/** Headers that are kept with an object and given back with it. */
const KEPT = [
  'content-type',
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'expires',
];
/** Source: AWS, "Uploading objects": the most that a single PUT takes. */
const OBJECT_BYTES_MAX = 5 * 1024 ** 3;
/** Source: AWS, "Object metadata": user-defined metadata, names and values. */
const METADATA_BYTES_MAX = 2 * 1024;
const KEY_BYTES_MAX = 1_024;

export async function putObject(
  store: ObjectStore,
  bucket: string,
  key: string,
  request: AwsRequest,
): Promise<AwsResponse> {
  // A presigned URL may carry headers of the service as parameters.
  const parameters = Object.entries(request.query).filter(([name]) => name.toLowerCase().startsWith('x-amz-'));
  const headers = {
    ...Object.fromEntries(parameters.map(([name, value]) => [name.toLowerCase(), value])),
    ...request.headers,
  };
  const ifNoneMatch = headers['if-none-match'];
  if (ifNoneMatch !== undefined && ifNoneMatch !== '*') throw invalidArgument('If-None-Match of a PUT can only be *');
  if (Buffer.byteLength(key) > KEY_BYTES_MAX) throw new S3Error(400, 'KeyTooLongError', 'Your key is too long');

  const trailers: Record<string, string> = {};
  const chunked = headers['x-amz-content-sha256']?.startsWith('STREAMING-') ?? false;
  const body = chunked ? decodeAwsChunked(bytesOf(request.body), trailers) : bytesOf(request.body);
  const length = Number((chunked ? headers['x-amz-decoded-content-length'] : headers['content-length']) ?? Number.NaN);
  if (length > OBJECT_BYTES_MAX) throw tooLarge();
  const object = await store.put(
    bucket,
    key,
    limited(body),
    keptHeaders(headers),
    { ifNoneMatch, ifMatch: headers['if-match'] },
    (found) => {
      if (!Number.isNaN(length) && length !== found.size) {
        throw new S3Error(
          400,
          'IncompleteBody',
          'You did not provide the number of bytes specified by the Content-Length HTTP header',
        );
      }
      const md5 = headers['content-md5'];
      if (md5 !== undefined && md5 !== found.md5.toString('base64')) throw badDigest('Content-MD5');
      const sha256 = headers['x-amz-content-sha256'] ?? '';
      if (/^[0-9a-f]{64}$/.test(sha256) && Buffer.from(sha256, 'hex').toString('base64') !== found.checksums.sha256) {
        throw new S3Error(
          400,
          'XAmzContentSHA256Mismatch',
          "The provided 'x-amz-content-sha256' header does not match what was computed.",
        );
      }
      const expected = expectedChecksums({ ...headers, ...trailers });
      verify(expected, found.checksums);
      return expected;
    },
  );
  return { status: 200, headers: { etag: object.etag, ...checksumHeaders(object) }, body: '' };
}

/** GET and HEAD of an object. */
export async function getObject(
  store: ObjectStore,
  bucket: string,
  key: string,
  request: AwsRequest,
): Promise<AwsResponse> {
  // An object that is replaced between look-up and opening is looked up again.
  for (let attempt = 0; attempt < 3; attempt++) {
    const object = await store.find(bucket, key);
    const unchanged = checkConditions(object, request.headers);
    if (unchanged) return { status: 304, headers: { etag: object.etag }, body: '' };
    const range = rangeOf(request.headers.range, object.size);
    const headers = {
      ...object.headers,
      ...overrides(request.query),
      'accept-ranges': 'bytes',
      etag: object.etag,
      'last-modified': new Date(object.modifiedAt).toUTCString(),
      'content-length': String(range ? range.end - range.start + 1 : object.size),
      ...(range && { 'content-range': `bytes ${range.start}-${range.end}/${object.size}` }),
      ...(!range && request.headers['x-amz-checksum-mode'] === 'ENABLED' && checksumHeaders(object)),
    };
    const status = range ? 206 : 200;
    if (request.method === 'HEAD') return { status, headers, body: '' };
    const body: Readable | undefined = await store.read(object, range);
    if (body) return { status, headers, body };
  }
  throw noSuchKey(key);
}

async function* bytesOf(body: AwsRequest['body']): AsyncGenerator<Uint8Array> {
  if (typeof body === 'string') yield Buffer.from(body);
  else if (body instanceof Uint8Array) yield body;
  else for await (const chunk of body) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
}

async function* limited(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > OBJECT_BYTES_MAX) throw tooLarge();
    yield chunk;
  }
}

function tooLarge(): S3Error {
  return new S3Error(400, 'EntityTooLarge', 'Your proposed upload exceeds the maximum allowed object size.');
}

function keptHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const kept: Record<string, string> = { 'content-type': 'application/octet-stream' };
  let metadataBytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    if (KEPT.includes(name)) kept[name] = value;
    if (!name.startsWith('x-amz-meta-')) continue;
    kept[name] = value;
    metadataBytes += name.length - 'x-amz-meta-'.length + Buffer.byteLength(value);
  }
  if (metadataBytes > METADATA_BYTES_MAX) {
    throw new S3Error(400, 'MetadataTooLarge', 'Your metadata headers exceed the maximum allowed metadata size');
  }
  const encodings = kept['content-encoding']
    ?.split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== 'aws-chunked');
  if (encodings) {
    if (encodings.length > 0) kept['content-encoding'] = encodings.join(',');
    else delete kept['content-encoding'];
  }
  return kept;
}

function checksumHeaders({ checksums }: StoredObject): Record<string, string> {
  const found = Object.entries(checksums).map(([name, value]) => [`x-amz-checksum-${name}`, value]);
  return found.length > 0 ? { ...Object.fromEntries(found), 'x-amz-checksum-type': 'FULL_OBJECT' } : {};
}

/** `response-content-type` and the like. */
function overrides(query: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    KEPT.flatMap((name) => (query[`response-${name}`] ? [[name, query[`response-${name}`]!]] : [])),
  );
}

/** @returns whether the reader has this object already */
function checkConditions({ etag }: StoredObject, headers: AwsRequest['headers']): boolean {
  const names = (list: string) => list.split(',').map((name) => name.trim().replaceAll('"', ''));
  const own = etag.replaceAll('"', '');
  const matches = (list: string) => names(list).some((name) => name === '*' || name === own);
  if (headers['if-match'] !== undefined && !matches(headers['if-match'])) throw preconditionFailed('If-Match');
  return headers['if-none-match'] !== undefined && matches(headers['if-none-match']);
}

/** `bytes=a-b`, `a-` or `-n`; anything else is no range. @throws {S3Error} InvalidRange when it begins behind the end */
function rangeOf(header: string | undefined, size: number): ByteRange | undefined {
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (from !== '' && to !== '' && Number(to) < start) return undefined;
  if (start >= size) {
    throw new S3Error(416, 'InvalidRange', 'The requested range is not satisfiable', {
      ActualObjectSize: String(size),
    });
  }
  return { start, end };
}
