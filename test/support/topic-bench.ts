import { afterAll, beforeAll, expect } from 'vitest';
import { type Api, type ApiOptions, openApi } from './api.ts';

export interface Fetched {
  readonly topicId: string;
  readonly records: readonly Record<string, unknown>[];
  readonly nextOffset: number;
  readonly logStartOffset: number;
  readonly highWatermark: number;
}

export interface TopicBench {
  readonly api: Api;
  /** Where requests without keys go: 0 ≤ n < 1. */
  spread: number;
  /** Makes a topic that no other test sees. @returns its path */
  newTopic(partitions?: number): Promise<string>;
  /** Reads a partition; anything but 200 fails the test. */
  fetched(topic: string, query?: string, partition?: number): Promise<Fetched>;
}

/** One API for a file of tests, each with topics of its own. */
export function openTopicBench(options: Omit<ApiOptions, 'random'> = {}): TopicBench {
  let api: Api | undefined;
  let topics = 0;
  const bench: TopicBench = {
    get api() {
      if (api === undefined) throw new Error('the tests have not begun');
      return api;
    },
    spread: 0,
    async newTopic(partitions = 1) {
      const path = `/v1/topics/t${++topics}`;
      expect((await bench.api.put(path, { partitions })).status).toBe(201);
      return path;
    },
    async fetched(topic, query = 'offset=0', partition = 0) {
      const reply = await bench.api.get(`${topic}/partitions/${partition}/records?${query}`);
      expect(reply.status).toBe(200);
      return reply.json<Fetched>();
    },
  };
  beforeAll(async () => {
    api = await openApi({ ...options, random: () => bench.spread });
  });
  afterAll(() => api?.close());
  return bench;
}
