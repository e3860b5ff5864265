import { expect, it } from 'vitest';
import { CONFIGURATION_CACHE_MS, RETENTION_MS_MIN } from '../../shared/domain/limits.ts';
import { HandClock } from '../support/log-bench.ts';
import { openTopicBench } from '../support/topic-bench.ts';

const clock = new HandClock();
const bench = openTopicBench({ clock });

it.each(['offset=earliest', 'offset=0&reset=earliest', 'offset=9&reset=earliest'])(
  'a fetch that begins where the log starts says so, when retention was shortened: %s',
  async (query) => {
    const topic = await bench.newTopic();
    const produce = (value: string) => bench.api.post(`${topic}/records`, { records: [{ value }] });
    await produce('old');
    await produce('old');
    clock.pass(2 * RETENTION_MS_MIN);
    await produce('new');
    await bench.fetched(topic); // from now on, readers know the head as it was
    await bench.api.put(topic, { retentionMs: RETENTION_MS_MIN });
    clock.pass(CONFIGURATION_CACHE_MS + 1_000);
    const told = (await bench.api.get(`${topic}/partitions`)).json();
    expect(told).toMatchObject({ partitions: [{ logStartOffset: 2 }] });

    const fetched = await bench.fetched(topic, query);
    expect(fetched).toMatchObject({ logStartOffset: 2, records: [{ offset: 2, value: 'new' }] });
  },
);
