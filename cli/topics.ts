import type { Command } from 'commander';
import { ApiError, type TopicDescription } from '../client/index.ts';
import type { Runner } from './context.ts';
import { CommandFailure, EXIT } from './exit-codes.ts';
import { table } from './table.ts';
import { addSettings, limitsText, type SettingOptions, settingsOf } from './topic-settings.ts';

const EXAMPLES = `
Examples:
  $ vertebra topics create orders --partitions 16 --retention 30d
  $ vertebra topics alter orders --quota-records 5000 --max-lag 100000 --max-lag-groups billing,shipping
  $ vertebra topics list
  $ vertebra topics describe orders --json
  $ vertebra topics delete orders`;

/** `vertebra topics …` */
export function topicsCommand(program: Command, run: Runner): void {
  const topics = program
    .command('topics')
    .summary('create, alter, list, describe and delete topics')
    .description('Creates, alters, lists, describes and deletes topics.')
    .helpCommand(false)
    .addHelpText('after', EXAMPLES);
  addCreate(topics, run);
  addAlter(topics, run);
  addList(topics, run);
  addDescribe(topics, run);
  addDelete(topics, run);
}

interface CreateOptions extends SettingOptions {
  readonly ifNotExists?: boolean;
}

function addCreate(topics: Command, run: Runner): void {
  const create = topics
    .command('create')
    .argument('<topic>', 'letters, digits and . _ -')
    .description('Creates a topic. One that exists stays as it is: exit code 5.');
  addSettings(create, { partitions: ' (default 8)', retention: ' (default 7d)' });
  create.option('--if-not-exists', 'exit code 0 when it exists');
  run<CreateOptions>(create, async ({ vertebra, json, print, tell }, options, topic) => {
    const { quota, maxLag, ...settings } = settingsOf(options);
    const admin = vertebra.admin();
    const limits = { ...(quota && { quota }), ...(maxLag && { maxLag }) };
    const isNew = await admin.createTopics({ topics: [{ topic: topic!, ...settings, ...limits }] });
    if (!isNew && !options.ifNotExists) throw new CommandFailure(`topic ${topic} exists already`, EXIT.conflict);
    const description = await admin.describeTopic(topic!);
    if (json) return print(JSON.stringify(description));
    if (!isNew) tell(`Topic ${topic} exists already; it was left as it is.`);
    await print(summaryOf(description));
  });
}

function addAlter(topics: Command, run: Runner): void {
  const alter = topics
    .command('alter')
    .argument('<topic>')
    .description('Changes what is given. A quota is given as a whole: what is not named of it is not limited.');
  addSettings(alter)
    .option('--no-quota', 'as much may be appended as comes')
    .option('--no-max-lag', 'appends wait for no group');
  run<SettingOptions>(alter, async ({ vertebra, json, print }, options, topic) => {
    const description = await vertebra.admin().alterTopic({ topic: topic!, ...settingsOf(options) });
    await print(json ? JSON.stringify(description) : summaryOf(description));
  });
}

function addList(topics: Command, run: Runner): void {
  const list = topics.command('list').description('Lists all topics.');
  run(list, async ({ vertebra, json, print }) => {
    const found = await vertebra.admin().describeTopics();
    if (json) return print(JSON.stringify(found));
    const lines = table(found, [
      { title: 'TOPIC', of: ({ name }) => name },
      { title: 'PARTITIONS', of: ({ partitions }) => partitions },
      { title: 'RECORDS', of: ({ retentionMs }) => keptFor(retentionMs) },
      { title: 'CREATED', of: ({ createdAt }) => new Date(createdAt).toISOString() },
    ]);
    for (const line of lines) await print(line);
  });
}

function addDescribe(topics: Command, run: Runner): void {
  const describe = topics
    .command('describe')
    .argument('<topic>')
    .description('Shows a topic, and where each of its partitions begins and ends.');
  run(describe, async ({ vertebra, json, print }, _, topic) => {
    const admin = vertebra.admin();
    const [description, offsets] = await Promise.all([admin.describeTopic(topic!), admin.fetchTopicOffsets(topic!)]);
    const bounds = offsets.map(({ partition, low, high, logEndOffset }) => ({
      ...{ partition, logStartOffset: low, highWatermark: high, logEndOffset },
    }));
    if (json) return print(JSON.stringify({ ...description, bounds }));
    await print(summaryOf(description));
    const lines = table(bounds, [
      { title: 'PARTITION', of: ({ partition }) => partition },
      { title: 'START', of: ({ logStartOffset }) => logStartOffset },
      { title: 'END', of: ({ highWatermark }) => highWatermark },
      { title: 'OFFSETS', of: ({ logStartOffset, highWatermark }) => highWatermark - logStartOffset },
    ]);
    for (const line of lines) await print(line);
  });
}

function addDelete(topics: Command, run: Runner): void {
  const remove = topics
    .command('delete')
    .argument('<topic...>')
    .description('Deletes topics, with all that is in them. Nothing brings it back.')
    .option('--if-exists', 'exit code 0 when there is no such topic');
  run<{ readonly ifExists?: boolean }>(remove, async ({ vertebra, json, tell }, { ifExists }, ...given) => {
    for (const topic of given.flat()) {
      try {
        await vertebra.admin().deleteTopics({ topics: [topic] });
        if (!json) tell(`Deleted ${topic}.`);
      } catch (error) {
        if (!ifExists || !(error instanceof ApiError) || error.code !== 'topic_not_found') throw error;
      }
    }
  });
}

function summaryOf(topic: TopicDescription): string {
  return `${topic.name}: ${topic.partitions} partitions, ${keptFor(topic.retentionMs)}${limitsText(topic)}`;
}

const DAY_MS = 86_400_000;

function keptFor(retentionMs: number): string {
  if (retentionMs === -1) return 'kept for ever';
  if (retentionMs % DAY_MS === 0) return `kept for ${retentionMs / DAY_MS} d`;
  return `kept for ${Math.round(retentionMs / 36_000) / 100} h`;
}
