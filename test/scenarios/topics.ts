import { expect } from 'vitest';
import type { Scenario } from './scenario.ts';

/** Topics, and what is refused. */
export const TOPICS: readonly Scenario[] = [
  {
    name: 'the backbone says who it is, and what it can do',
    async run(trial) {
      expect(await trial.json('GET', '/v1/health')).toMatchObject({ status: 'ok', version: expect.any(String) });
      expect(await trial.json('GET', '/v1/openapi.json')).toMatchObject({ openapi: '3.1.0' });
    },
  },
  {
    name: 'a topic is made, grown, described, listed and deleted, and its name is free at once',
    async run(trial) {
      const topic = await trial.topic('life', { partitions: 2, retentionMs: 3_600_000 });
      const path = `/v1/topics/${topic}`;
      const made = await trial.json('GET', path);
      expect(made).toMatchObject({ name: topic, partitions: 2, retentionMs: 3_600_000 });
      expect(await trial.json('PUT', path, { body: { partitions: 3 } })).toMatchObject({ keysMoved: true });
      expect(await trial.json('PUT', path, { body: { partitions: 1 } }, 409)).toMatchObject({
        code: 'partitions_cannot_shrink',
      });
      await trial.produce(topic, [{ value: 1, partition: 2 }]);
      const { partitions } = await trial.json<{ partitions: object[] }>('GET', `${path}/partitions`);
      expect(partitions).toEqual([
        { partition: 0, logStartOffset: 0, highWatermark: 0, logEndOffset: 0 },
        { partition: 1, logStartOffset: 0, highWatermark: 0, logEndOffset: 0 },
        { partition: 2, logStartOffset: 0, highWatermark: 1, logEndOffset: 1 },
      ]);
      const { offsets } = await trial.json<{ offsets: object[] }>('GET', `${path}/offsets?at=latest`);
      expect(offsets[2]).toEqual({ partition: 2, offset: 1 });
      expect(await trial.lists('/v1/topics', 'topics', ({ name }) => name === topic)).toBe(true);
      await trial.json('DELETE', path, {}, 204);
      expect(await trial.json('GET', path, {}, 404)).toMatchObject({ code: 'topic_not_found' });
      const anew = await trial.json('PUT', path, { body: { partitions: 1 } }, 201);
      expect(anew.id).not.toBe(made.id);
      expect(await trial.fetch(topic)).toMatchObject({ topicId: anew.id, records: [] });
    },
  },
  {
    name: 'what is wrong is refused in the words of the API',
    async run(trial) {
      const topic = await trial.topic('strict');
      const path = `/v1/topics/${topic}`;
      const refused: [method: string, path: string, status: number, code: string, sent?: object][] = [
        ['GET', `/v1/topics/${topic}-no`, 404, 'topic_not_found'],
        ['GET', `${path}/partitions/7/records?offset=0`, 404, 'partition_not_found'],
        ['GET', `${path}/partitions/0/records`, 400, 'invalid_request'],
        ['GET', `${path}/partitions/0/records?offset=9`, 416, 'offset_out_of_range'],
        ['GET', '/v1/nothing', 404, 'not_found'],
        ['PATCH', path, 405, 'method_not_allowed'],
        ['PUT', path, 400, 'invalid_request', { body: '{"partitions":' }],
        ['POST', `${path}/records`, 400, 'invalid_request', { body: { records: [] } }],
        [
          ...(['POST', `${path}/records`, 415, 'unsupported_media_type'] as const),
          { headers: { 'content-type': 'text/csv' }, body: 'a,b' },
        ],
      ];
      for (const [method, target, status, code, sent] of refused) {
        const reply = await trial.send(method, target, sent);
        const type = reply.headers.get('content-type');
        expect([method, target, reply.status, reply.json().code, type]).toEqual([
          ...[method, target, status, code],
          'application/problem+json',
        ]);
      }
    },
  },
];
