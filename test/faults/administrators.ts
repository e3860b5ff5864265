import { BackboneError, PartitionsCannotShrink } from '../../shared/domain/errors.ts';
import { deleteTopic, putTopic, type TopicSettings } from '../../shared/operations/topics.ts';
import type { Run } from './run.ts';

const HOUR = 3_600_000;

/** Refuses writes to some partitions for a while. */
export async function throttle(run: Run): Promise<void> {
  const { random, world } = run;
  await run.sleep(random.between(0, 1_500));
  for (const log of world.mirror.reserved.keys()) {
    if (random.chance(0.5)) world.throttle(log, random.pick([300, 1_500, 5_000]));
  }
}

/** Deletes the topic and makes it anew. */
export async function recreate(run: Run): Promise<void> {
  const { random, environment } = run;
  await run.sleep(random.between(0, 2_500));
  const host = run.anyHost();
  const noted = run.recorder.topic('orders');
  const told = await run.world.call(host, () => deleteTopic(host.backbone, 'orders'));
  if (told !== 'nothing' && 'answer' in told) noted({ deleted: true });
  await run.sleep(random.pick([0, 5, 200, 12_000]));
  const settings = { partitions: environment.partitions, retentionMs: environment.retentionMs };
  await make(run, 'orders', settings);
}

/** Changes the topic's retention, and perhaps its partitions. */
export async function reconfigure(run: Run): Promise<void> {
  await run.sleep(run.random.between(0, 2_500));
  const retentionMs = run.random.pick([HOUR, 3 * HOUR, 200 * HOUR, -1]);
  const partitions = run.random.chance(0.2) ? { partitions: run.environment.partitions + 1 } : {};
  const host = run.anyHost();
  const told = await run.world.call(host, () => putTopic(host.backbone, 'orders', { retentionMs, ...partitions }));
  // Whatever the answer, it may hold.
  for (const topicId of run.recorder.shortest.keys()) run.recorder.retained(topicId, retentionMs);
  if (told !== 'nothing' && 'error' in told && !(told.error instanceof BackboneError)) run.unexpected(told.error);
}

/** Makes a topic, however often it must be asked for. */
export async function make(run: Run, name: string, settings: TopicSettings): Promise<void> {
  let asked = settings;
  for (;;) {
    const host = run.anyHost();
    const noted = run.recorder.topic(name);
    const told = await run.world.call(host, () => putTopic(host.backbone, name, asked));
    if (told !== 'nothing' && 'answer' in told) {
      const { topic } = told.answer;
      noted({ made: topic.id });
      run.recorder.retained(topic.id, topic.retentionMs);
      return;
    }
    if (told !== 'nothing' && told.error instanceof PartitionsCannotShrink) {
      // It was grown meanwhile and has not been deleted after all.
      asked = { ...settings, partitions: Number(told.error.data.partitions) };
    } else if (told !== 'nothing' && !(told.error instanceof BackboneError)) run.unexpected(told.error);
    await run.sleep(500);
  }
}
