import { expect, it } from 'vitest';
import { OffsetOutOfRange, TopicNotFound } from '../../shared/domain/errors.ts';
import { deleteTopic } from '../../shared/operations/topics.ts';
import { append, makeTopic, openLogBench, read } from '../support/log-bench.ts';

const waiting = { waitMs: 20_000, deadline: Number.MAX_SAFE_INTEGER };

it('ends a wait for a topic that was deleted meanwhile as a read that begins then', async () => {
  const bench = await openLogBench();
  const [host, reader] = [bench.host(), bench.host()];
  await makeTopic(host, 'orders');
  await append(host, 'orders', 'x');
  const { sleep } = reader.backbone;
  let deleted = false;
  Object.assign(reader.backbone, {
    sleep: async (ms: number) => {
      if (!deleted) await deleteTopic(host.backbone, 'orders');
      deleted = true;
      await sleep(ms);
    },
  });
  await expect(read(reader, 'orders', 1, waiting)).rejects.toBeInstanceOf(TopicNotFound);

  await makeTopic(host, 'orders');
  await append(host, 'orders', 'y');
  deleted = false;
  const again = read(reader, 'orders', 1, waiting);
  Object.assign(reader.backbone, {
    sleep: async (ms: number) => {
      if (!deleted) {
        await deleteTopic(host.backbone, 'orders');
        await makeTopic(host, 'orders');
      }
      deleted = true;
      await sleep(ms);
    },
  });
  await expect(again).rejects.toBeInstanceOf(OffsetOutOfRange); // in the topic that has the name now
  await bench.close();
});
