import { expect } from 'vitest';
import type { Reply } from './gateway-call.ts';
import { HandClock } from './log-bench.ts';
import { openTopicBench, type TopicBench } from './topic-bench.ts';

export interface Assigned {
  readonly topic: string;
  readonly partition: number;
  readonly epoch: number;
  readonly offset: number;
  readonly error?: { readonly code: string };
}

export interface Polled {
  readonly memberId: string;
  readonly assigned: readonly Assigned[];
  readonly revoked: readonly Omit<Assigned, 'offset'>[];
  readonly commits: readonly object[];
  readonly records: readonly { readonly partition: number; readonly offset: number; readonly value: unknown }[];
  readonly errors: readonly object[];
}

export interface Described {
  readonly group: string;
  readonly members: readonly { readonly memberId: string; readonly assigned: readonly object[] }[];
  readonly offsets: readonly { readonly topic: string; readonly committed: number | null; readonly lag: number }[];
}

/** A group that no other test sees, with a topic of its own, called over the API. It is there once somebody joins. */
export interface GroupUnderTest {
  readonly path: string;
  readonly topic: string;
  /** Appends JSON values to one partition. */
  produce(partition: number, ...values: unknown[]): Promise<void>;
  /** POSTs to one of its calls. */
  call(act: string, body: object): Promise<Reply>;
  /** A poll; anything but 200 fails the test. */
  polled(body: object): Promise<Polled>;
  described(): Promise<Described>;
}

export interface GroupBench {
  readonly api: TopicBench['api'];
  readonly clock: HandClock;
  newGroup(partitions: number): Promise<GroupUnderTest>;
}

/** One API for a file of tests, under a clock that stands still unless it is moved. */
export function openGroupBench(): GroupBench {
  const clock = new HandClock();
  const bench = openTopicBench({ clock });
  let groups = 0;
  return {
    get api() {
      return bench.api;
    },
    clock,
    async newGroup(partitions) {
      const topicPath = await bench.newTopic(partitions);
      const path = `/v1/groups/g${++groups}`;
      const call: GroupUnderTest['call'] = (act, body) => bench.api.post(`${path}/${act}`, body);
      return {
        path,
        topic: topicPath.slice('/v1/topics/'.length),
        call,
        async produce(partition, ...values) {
          const records = values.map((value) => ({ partition, value }));
          expect((await bench.api.post(`${topicPath}/records`, { records })).status).toBe(200);
        },
        async polled(body) {
          const reply = await call('poll', body);
          expect(reply.status, reply.text).toBe(200);
          return reply.json<Polled>();
        },
        async described() {
          const reply = await bench.api.get(path);
          expect(reply.status, reply.text).toBe(200);
          return reply.json<Described>();
        },
      };
    },
  };
}
