import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { S3Client } from '@aws-sdk/client-s3';
import { expect, it } from 'vitest';
import { getPayload } from '../../../shared/store/payload-object.ts';

const STORED = Buffer.from('what was stored');
const SHA256 = createHash('sha256').update(STORED).digest('hex');
const ADDRESS = { Bucket: 'bucket', Key: 'key' };

type Answer = (headers: Record<string, string>) => { headers: Record<string, string>; body: Readable };

/** A client whose requests with these headers get this answer. */
function s3That(answer: Answer): S3Client {
  return new S3Client({
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    requestHandler: {
      handle: async (request: { headers: Record<string, string> }) => ({
        response: { statusCode: 200, ...answer(request.headers) },
      }),
    },
  });
}

it.each([STORED.length + 1, 2 ** 40, Number.MAX_SAFE_INTEGER, 0])(
  'tells a payload of which its item says that it has %i bytes, and makes no room for them',
  async (size) => {
    const body = Readable.from([STORED]);
    const s3 = s3That(() => ({ headers: { 'content-length': String(STORED.length) }, body }));
    expect(await getPayload(s3, ADDRESS, { size, sha256: SHA256 })).toBe('payload_corrupt');
    expect(body.destroyed).toBe(true);
  },
);

it('has the payload of a service that does not say how long it is', async () => {
  const s3 = s3That(() => ({ headers: {}, body: Readable.from([STORED.subarray(0, 4), STORED.subarray(4)]) }));
  expect(await getPayload(s3, ADDRESS, { size: STORED.length, sha256: SHA256 })).toEqual(STORED);
});

it('tells damage that the SDK would throw a bare error for, because S3 told it the checksum', async () => {
  const checksum = createHash('sha256').update(STORED).digest('base64');
  const damaged = Buffer.from(STORED).fill(0, 3, 4);
  const s3 = s3That((asked) => ({
    headers: asked['x-amz-checksum-mode'] === undefined ? {} : { 'x-amz-checksum-sha256': checksum },
    body: Readable.from([damaged]),
  }));
  expect(await getPayload(s3, ADDRESS, { size: STORED.length, sha256: SHA256 })).toBe('payload_corrupt');
});
