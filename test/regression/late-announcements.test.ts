import { beforeEach, describe, expect, it } from 'vitest';
import { HEAD_DEADLINE_MS, LATE_MAX_MS, SIGNATURE_LIFE_MS, UPLOAD_LIFE_MS } from '../../shared/domain/limits.ts';
import { sweep } from '../../shared/operations/sweep.ts';
import { deleteTopic, putTopic } from '../../shared/operations/topics.ts';
import { type BackgroundBench, openBackgroundBench } from '../support/background-bench.ts';
import { append, type Host, read } from '../support/log-bench.ts';
import { appendUploads, makeUpload } from '../support/uploads.ts';

// Found by simulated histories. What is announced is put before what it stands for. An attempt of that put, unanswered and
// repeated by the SDK, may land minutes later, when what it announced has changed: here it is sent once more.
let bench: BackgroundBench;
let host: Host;

beforeEach(async () => {
  bench = await openBackgroundBench();
  host = bench.host();
  return () => bench.close();
});

async function sweepLater(): Promise<void> {
  bench.clock.pass(LATE_MAX_MS + 1_000);
  const { ports } = bench.sweepHost();
  expect(await sweep(ports, ports.clock.now() + 40_000)).toEqual([]);
}

const leftovers = async () => (await bench.items('state')).filter(({ pk }) => pk!.S === 'leftovers');

describe('the announcement of a topic that lands after the topic was made', () => {
  it('does not have the topic purged', async () => {
    const { topic } = await putTopic(host.backbone, 'orders', { partitions: 2 });
    await append(host, 'orders', 'a');
    await host.backbone.topicItems.announce(topic);
    expect(await leftovers()).toHaveLength(1);
    await sweepLater();
    expect(await leftovers()).toEqual([]);
    await sweepLater();
    expect(await append(host, 'orders', 'b')).toBe(1);
    expect((await read(host, 'orders', 0)).got).toEqual(['a@0..0', 'b@1..1']);
  });

  it('and deleted, leaves the note of its deletion as it is', async () => {
    const { topic } = await putTopic(host.backbone, 'orders', { partitions: 2 });
    await deleteTopic(host.backbone, 'orders');
    const before = await leftovers();
    await host.backbone.topicItems.announce(topic);
    expect(await leftovers()).toEqual(before);
    await host.backbone.leftovers.withdraw(topic.id);
    expect(await leftovers()).toEqual(before);
  });

  it('is not even sent when it could land after somebody took it for abandoned', async () => {
    expect(HEAD_DEADLINE_MS + SIGNATURE_LIFE_MS).toBeLessThan(LATE_MAX_MS);
    const { topicItems } = host.backbone;
    const frozen = Object.assign(Object.create(topicItems), {
      announce: async (...[topic, isLate]: Parameters<typeof topicItems.announce>) => {
        bench.clock.pass(HEAD_DEADLINE_MS + 1);
        return topicItems.announce(topic, isLate);
      },
    });
    const made = putTopic({ ...host.backbone, topicItems: frozen }, 'orders', {});
    await expect(made).rejects.toMatchObject({ code: 'unavailable' });
    expect(await bench.items('state')).toEqual([]);
  });
});

it('the making of a topic that lands after its deletion does not bring it back', async () => {
  const { topic } = await putTopic(host.backbone, 'orders', { partitions: 1 });
  await deleteTopic(host.backbone, 'orders');
  expect(await host.backbone.topicItems.create(topic)).toBe(false);
  expect(await host.backbone.topicItems.read('orders')).toBeUndefined();
});

describe('the announcement of an upload that lands after a record took the upload', () => {
  it('leaves it taken: no other record gets it, and its payload stays', async () => {
    const { topic } = await putTopic(host.backbone, 'orders', { partitions: 1, retentionMs: -1 });
    const upload = await makeUpload(bench, host, topic.id);
    await appendUploads(host, 'orders', 'a', [upload]);
    await host.backbone.uploads.create(upload);
    await expect(appendUploads(host, 'orders', 'b', [upload])).rejects.toMatchObject({ code: 'upload_invalid' });
    bench.clock.pass(UPLOAD_LIFE_MS + 2_000);
    await bench.tables.aws.expireNow(bench.clock.now());
    await bench.follow();
    expect(await bench.objects()).toHaveLength(1);
  });
});
