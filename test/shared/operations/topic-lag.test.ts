import { SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openGroups } from '../../../functions/groups-backbone.ts';
import { CONFIGURATION_CACHE_MS } from '../../../shared/domain/limits.ts';
import type { MaxLag } from '../../../shared/domain/quota.ts';
import { ConsumersBehind } from '../../../shared/domain/quota-errors.ts';
import { LAG_MEASURE_MS } from '../../../shared/domain/quota-limits.ts';
import { commitOffsets } from '../../../shared/operations/commit-offsets.ts';
import { putTopic } from '../../../shared/operations/topics.ts';
import { append, type Host, type LogBench, openLogBench } from '../../support/log-bench.ts';

let bench: LogBench;
let host: Host;
let topic: string;
let group: string;
let made = 0;
beforeAll(async () => {
  bench = await openLogBench();
});
afterAll(() => bench.close());
beforeEach(() => {
  host = bench.host();
  topic = `topic-${++made}`;
  group = `group-${made}`;
});

const limit = (maxLag: MaxLag | null, partitions = 1) => putTopic(bench.host().backbone, topic, { partitions, maxLag });
/** The group has come so far. */
async function commit(offset: number, partition = 0, name = group): Promise<void> {
  const { aws, s3, bucket } = bench.tables;
  const noQueues = { deadLetterQueueUrl: 'http://127.0.0.1:1', wakeQueueUrl: 'http://127.0.0.1:1' };
  const ports = openGroups(host.backbone, { s3, sqs: new SQSClient(aws.clientConfig()) }, { bucket, ...noQueues });
  const offsets = [{ topic, partition, offset }];
  const [outcome] = await commitOffsets(ports, { group: name, offsets }, bench.clock.now() + 20_000);
  expect(outcome).not.toHaveProperty('error');
}
const refusalOf = (appended: Promise<unknown>): Promise<ConsumersBehind> =>
  appended.then(
    () => expect.unreachable('it was stored'),
    (error: unknown) => {
      if (error instanceof ConsumersBehind) return error;
      throw error;
    },
  );

describe('appends to a topic with maxLag', () => {
  it('wait while the group is too far behind, and go on once it has caught up', async () => {
    await limit({ groups: [group], records: 10 });
    await append(host, topic, 'a', 5);
    await commit(0);
    await append(host, topic, 'b', 10);
    bench.clock.pass(LAG_MEASURE_MS);
    const { data } = await refusalOf(append(host, topic, 'c'));
    expect(data).toEqual({ reason: 'lag', group, lag: 15, maxLag: 10, retryAfterMs: LAG_MEASURE_MS });
    await refusalOf(append(bench.host(), topic, 'c'));
    await commit(5);
    await refusalOf(append(host, topic, 'c'));
    bench.clock.pass(LAG_MEASURE_MS);
    await append(host, topic, 'c');
  });

  it('count what the group has left in all partitions together', async () => {
    await limit({ groups: [group], records: 10 }, 2);
    await append(host, topic, 'a', 6, 0);
    await append(host, topic, 'a', 6, 1);
    await commit(0, 0);
    await commit(2, 1);
    bench.clock.pass(LAG_MEASURE_MS);
    await append(host, topic, 'b', 1, 0);
    bench.clock.pass(LAG_MEASURE_MS);
    expect((await refusalOf(append(host, topic, 'c', 1, 1))).data).toMatchObject({ lag: 11 });
  });

  it('wait for each of the groups that are named, and for no other', async () => {
    await limit({ groups: [group, 'elsewhere'], records: 10 });
    await append(host, topic, 'a', 100);
    await commit(95);
    await commit(0, 0, `${group}-other`);
    bench.clock.pass(LAG_MEASURE_MS);
    await append(host, topic, 'b');
    await limit({ groups: [group, `${group}-other`], records: 10 });
    bench.clock.pass(CONFIGURATION_CACHE_MS);
    expect((await refusalOf(append(host, topic, 'c'))).data).toMatchObject({ group: `${group}-other` });
  });

  it('wait for nobody any more within the life of a copy of the topic, once it is taken away', async () => {
    await limit({ groups: [group], records: 1 });
    await append(host, topic, 'a', 100);
    await commit(0);
    bench.clock.pass(LAG_MEASURE_MS);
    await refusalOf(append(host, topic, 'b'));
    await limit(null);
    bench.clock.pass(CONFIGURATION_CACHE_MS);
    await append(host, topic, 'b');
  });

  it('do not wait for records that retention has taken', async () => {
    await limit({ groups: [group], records: 10 });
    await append(host, topic, 'a', 100);
    await commit(0);
    const { id } = await host.backbone.topics.fresh(topic);
    await host.backbone.heads.advance({ topicId: id, partition: 0 }, { from: 0, to: 100, logStart: 100 });
    bench.clock.pass(LAG_MEASURE_MS);
    await append(host, topic, 'b');
  });

  it('are not held up by what was so long ago, while another container measures anew', async () => {
    await limit({ groups: [group], records: 10 });
    await append(host, topic, 'a', 100);
    await commit(0);
    bench.clock.pass(LAG_MEASURE_MS);
    await refusalOf(append(host, topic, 'b'));
    bench.clock.pass(3_600_000);
    const measuring = host.faults.hold('GetItem', 'none', 'head#');
    const first = refusalOf(append(host, topic, 'b'));
    await measuring.arrived;
    await append(bench.host(), topic, 'c');
    measuring.release();
    await first;
  });

  it('hold nobody up when the lag cannot be found out', async () => {
    await limit({ groups: [group], records: 10 });
    await append(host, topic, 'a', 100);
    await commit(0);
    bench.clock.pass(LAG_MEASURE_MS);
    host.faults.next('GetItem', 'throttle', 3, `lag#`);
    await append(host, topic, 'b');
    bench.clock.pass(LAG_MEASURE_MS);
    await refusalOf(append(host, topic, 'c'));
  });
});

it('the lag is measured by one container for all, and not for each append', async () => {
  await limit({ groups: [group], records: 1_000 });
  await append(host, topic, 'a');
  await commit(0);
  bench.clock.pass(LAG_MEASURE_MS);
  const others = Array.from({ length: 4 }, () => bench.host());
  for (const other of [...others, ...others, ...others]) await append(other, topic, 'a');
  const updates = others.flatMap(({ faults }) => faults.calls).filter((call) => call === 'UpdateItem').length;
  expect(updates).toBe(3 * others.length + 2); // of reservations, and a measurement begun and put down
});
