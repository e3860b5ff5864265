import { randomUUID } from 'node:crypto';
import type { AwsRequest, AwsResponse } from '../service.ts';
import { createBucket, deleteObjects, listBuckets, listObjects, xmlAnswer } from './bucket-requests.ts';
import { getObject, putObject } from './object-requests.ts';
import type { ObjectStore } from './object-store.ts';
import { noSuchKey, notImplemented, S3Error } from './s3-error.ts';
import { authorize, type SecretOf } from './signature.ts';

const EMPTY: AwsResponse = { status: 200, headers: {}, body: '' };

/** S3 over its REST protocol, path-style addresses only: `/<bucket>/<key>`. */
export class S3 {
  readonly #store: ObjectStore;
  readonly #secretOf: SecretOf;
  readonly #now: () => number;

  constructor(store: ObjectStore, secretOf: SecretOf, now: () => number) {
    this.#store = store;
    this.#secretOf = secretOf;
    this.#now = now;
  }

  async serve(request: AwsRequest): Promise<AwsResponse> {
    const requestId = randomUUID();
    const common = { date: new Date(this.#now()).toUTCString(), 'x-amz-request-id': requestId };
    try {
      authorize(request, this.#secretOf, this.#now());
      const answer = await this.#answer(request);
      return { ...answer, headers: { ...common, ...answer.headers } };
    } catch (error) {
      const known = error instanceof S3Error ? error : this.#unexpected(request, error);
      const body = request.method === 'HEAD' ? '' : known.toXml(requestId);
      return { status: known.status, headers: { ...common, 'content-type': 'application/xml' }, body };
    }
  }

  #unexpected({ method, path, signal }: AwsRequest, error: unknown): S3Error {
    if (signal?.aborted) return new S3Error(400, 'RequestTimeout', 'The caller closed the connection');
    console.error(`${method} ${path} failed:`, error);
    return new S3Error(500, 'InternalError', 'We encountered an internal error. Please try again.');
  }

  #answer(request: AwsRequest): Promise<AwsResponse> {
    const [, bucket = '', ...rest] = request.path.split('/');
    const key = decodeURIComponent(rest.join('/'));
    if (bucket === '') return this.#service(request);
    return key === ''
      ? this.#bucket(decodeURIComponent(bucket), request)
      : this.#object(decodeURIComponent(bucket), key, request);
  }

  async #service(request: AwsRequest): Promise<AwsResponse> {
    if (request.method === 'GET') return listBuckets(this.#store);
    throw notImplemented(`${request.method} /`);
  }

  async #bucket(bucket: string, { method, query, body }: AwsRequest): Promise<AwsResponse> {
    const store = this.#store;
    switch (true) {
      case method === 'PUT' && onlyHas(query, []):
        return createBucket(store, bucket);
      case method === 'HEAD':
        return store.requireBucket(bucket).then(() => EMPTY);
      case method === 'DELETE' && onlyHas(query, []):
        return store.deleteBucket(bucket).then(() => ({ ...EMPTY, status: 204 }));
      case method === 'GET' && query['list-type'] === '2':
        return listObjects(store, bucket, query);
      case method === 'GET' && 'location' in query:
        return store.requireBucket(bucket).then(() => xmlAnswer('LocationConstraint', undefined));
      case method === 'POST' && 'delete' in query:
        return deleteObjects(store, bucket, body);
      default:
        throw notImplemented(`${method} of a bucket with ${Object.keys(query).join(', ') || 'no parameter'}`);
    }
  }

  async #object(bucket: string, key: string, request: AwsRequest): Promise<AwsResponse> {
    const { method, query, headers } = request;
    for (const name of [
      'uploads',
      'uploadId',
      'partNumber',
      'tagging',
      'acl',
      'retention',
      'legal-hold',
      'torrent',
      'restore',
      'attributes',
    ]) {
      if (name in query) throw notImplemented(`${method} of an object with ${name}`);
    }
    switch (method) {
      case 'PUT':
        if (headers['x-amz-copy-source'] !== undefined) throw notImplemented('copies');
        return putObject(this.#store, bucket, key, request);
      case 'GET':
      case 'HEAD':
        if (query.versionId !== undefined) throw noSuchKey(key);
        return getObject(this.#store, bucket, key, request);
      case 'DELETE':
        return this.#store.delete(bucket, key).then(() => ({ ...EMPTY, status: 204 }));
      default:
        throw notImplemented(`${method} of an object`);
    }
  }
}

/** Whether there are no parameters but these and the SDK's own. */
function onlyHas(query: AwsRequest['query'], names: readonly string[]): boolean {
  return Object.keys(query).every((name) => name === 'x-id' || name.startsWith('X-Amz-') || names.includes(name));
}
