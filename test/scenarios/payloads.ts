import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import type { Scenario } from './scenario.ts';
import type { Trial } from './trial.ts';

/** More than a slot holds, and nothing that could be compressed. */
const SPILLED_BYTES = 300_000;
const UPLOADED_BYTES = 1_000_000;

interface Announced {
  readonly uploadId: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Payloads that are kept in the bucket. */
export const PAYLOADS: readonly Scenario[] = [
  {
    name: 'a payload that is too large for the log comes back unchanged',
    async run(trial) {
      const topic = await trial.topic('large');
      const value = randomBytes(SPILLED_BYTES).toString('base64');
      await trial.produce(topic, [{ value: 'before' }]);
      await trial.produce(topic, [{ value, valueEncoding: 'base64' }]);
      await trial.produce(topic, [{ value: 'after' }]);
      const records = await trial.records(topic, 3);
      expect(records.map(({ value: got }) => got === value || got)).toEqual(['before', true, 'after']);
    },
  },
  {
    name: 'a payload that is too large for the log lies in the bucket, under the key of its slot',
    needs: ['bucket'],
    async run(trial) {
      const topic = await trial.topic('spilled');
      await trial.produce(topic, [{ value: randomBytes(SPILLED_BYTES).toString('base64'), valueEncoding: 'base64' }]);
      const { topicId } = await trial.fetch(topic, 'latest');
      expect(await trial.target.objects!(`${topicId}/`)).toEqual([`${topicId}/0/${'0'.repeat(16)}`]);
    },
  },
  {
    name: 'a payload goes after its slot',
    needs: ['bucket', 'expiry'],
    async run(trial) {
      const topic = await trial.topic('expiring');
      await trial.produce(topic, [{ value: randomBytes(SPILLED_BYTES).toString('base64'), valueEncoding: 'base64' }]);
      const { topicId } = await trial.fetch(topic, 'latest');
      expect(await trial.target.objects!(`${topicId}/`)).toHaveLength(1);
      await trial.target.expire!(`${topicId}.0`, 0);
      await trial.until('the payload to go', async () => (await trial.target.objects!(`${topicId}/`)).length === 0);
    },
  },
  {
    name: 'a payload is uploaded to a presigned URL, produced by its id, and fetched by another URL',
    async run(trial) {
      const topic = await trial.topic('uploads');
      const payload = randomBytes(UPLOADED_BYTES);
      const { uploadId, url, headers } = await announce(trial, topic, payload);
      const record = { key: 'film', value: { uploadId }, valueEncoding: 'upload' };
      const early = await trial.json('POST', `/v1/topics/${topic}/records`, { body: { records: [record] } }, 400);
      expect(early).toMatchObject({ code: 'upload_invalid' });

      const other = await fetch(url, { method: 'PUT', headers: sendable(headers), body: randomBytes(UPLOADED_BYTES) });
      expect(other.ok).toBe(false);
      const put = await fetch(url, { method: 'PUT', headers: sendable(headers), body: payload });
      expect(put.status, await put.text()).toBe(200);
      await trial.produce(topic, [record]);

      const [got] = await trial.records(topic, 1);
      expect(got).toMatchObject({ key: 'film', valueEncoding: 'url', value: { size: UPLOADED_BYTES } });
      const answer = await fetch((got!.value as { url: string }).url);
      expect(Buffer.from(await answer.arrayBuffer()).equals(payload)).toBe(true);
    },
  },
];

function announce(trial: Trial, topic: string, payload: Uint8Array): Promise<Announced> {
  const sha256 = createHash('sha256').update(payload).digest('hex');
  const body = { size: payload.length, sha256 };
  return trial.json<Announced>('POST', `/v1/topics/${topic}/uploads`, { body }, 201);
}

/** The length is told by the body itself. */
function sendable({ 'content-length': _, ...headers }: Readonly<Record<string, string>>): Record<string, string> {
  return headers;
}
