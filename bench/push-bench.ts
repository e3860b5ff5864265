import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import { ulid } from 'ulid';
import { openBackbone } from '../functions/backbone.ts';
import { type DeliverHandler, deliverHandler, openDeliver } from '../functions/deliver.ts';
import { type DispatchHandler, dispatchHandler } from '../functions/dispatch.ts';
import { openGroups } from '../functions/groups-backbone.ts';
import { produceHandler } from '../functions/produce.ts';
import { openSweep, sweepHandler } from '../functions/sweep.ts';
import { type EmbeddedAws, openEmbeddedAws } from '../local/aws/embedded-aws.ts';
import { createBackboneResources } from '../local/aws/tables.ts';
import { type Background, contextNow, startBackground } from '../local/background.ts';
import { invoke } from '../local/invocation.ts';
import type { Delivered, DeliveryBatch } from '../shared/domain/delivery.ts';
import {
  BACKGROUND_FUNCTION_TIMEOUT_MS,
  DELIVER_FUNCTION_TIMEOUT_MS,
  INLINE_BATCH_BYTES_MAX,
} from '../shared/domain/limits.ts';
import type { Subscription } from '../shared/domain/subscription.ts';
import type { WakeUp } from '../shared/domain/wake-up.ts';
import { Doorbell } from '../shared/operations/doorbell.ts';
import { putTopic } from '../shared/operations/topics.ts';
import { logKey } from '../shared/store/keys.ts';
import { WakeQueue } from '../shared/store/wake-queue.ts';
import { BUCKET, gatewayEvent, type Sent, TABLES } from './backbone.ts';
import { Meter } from './meter.ts';

type Target = (batch: DeliveryBatch) => Promise<Delivered>;

const NAMES = { ...TABLES, bucket: BUCKET, wakeQueue: 'wake', deadLetterQueue: 'dead-letters' };
const TIMEOUT_MS = 30_000;

/** A backbone in memory that pushes: its functions over metered clients, and targets that are functions in this process. */
export class PushBench {
  readonly meter: Meter;
  readonly #aws: EmbeddedAws;
  readonly #clients: Clients;
  readonly #wakeQueueUrl: string;
  readonly #targets = new Map<string, Target>();
  /** Deliveries that were handed aside and are under way. */
  readonly #asides = new Set<Promise<unknown>>();
  #aheadMs = 0;
  readonly #backbone;
  readonly #deliver: DeliverHandler;
  readonly #dispatch: DispatchHandler;
  readonly #groups;
  #background: Background | undefined;

  private constructor(aws: EmbeddedAws, clients: Clients, wakeQueueUrl: string) {
    this.meter = new Meter();
    this.#aws = aws;
    this.#clients = clients;
    this.#wakeQueueUrl = wakeQueueUrl;
    for (const client of Object.values(clients)) this.meter.watch(client);
    const env = { ...TABLES, bucket: BUCKET, spillAboveBytes: INLINE_BATCH_BYTES_MAX };
    const host = { now: () => Date.now() + this.#aheadMs };
    this.#backbone = openBackbone(clients, env, undefined, host);
    this.#groups = openGroups(this.#backbone, clients, {
      bucket: BUCKET,
      deadLetterQueueUrl: wakeQueueUrl,
      wakeQueueUrl,
    });
    const besides = deliverHandler(() => this.#open());
    const wakeQueue = new WakeQueue(clients.sqs, wakeQueueUrl);
    this.#dispatch = dispatchHandler(() => ({ ...this.#backbone, wakeQueue }));
    const aside = async (wakeUp: WakeUp) => {
      const run = besides({ aside: wakeUp }, contextNow(DELIVER_FUNCTION_TIMEOUT_MS)).catch(() => {});
      this.#asides.add(run);
      void run.finally(() => this.#asides.delete(run));
    };
    this.#deliver = deliverHandler(() => this.#open(aside));
  }

  static async open(): Promise<PushBench> {
    const aws = await openEmbeddedAws();
    const config = aws.clientConfig();
    const clients = { dynamodb: new DynamoDBClient(config), s3: new S3Client(config), sqs: new SQSClient(config) };
    const { wakeQueueUrl } = await createBackboneResources(clients, NAMES);
    return new PushBench(aws, clients, wakeQueueUrl);
  }

  /** Has what is appended delivered from now on, as when deployed. */
  start(): void {
    const { sqs } = this.#clients;
    const wakeQueue = new WakeQueue(sqs, this.#wakeQueueUrl);
    this.#background = startBackground({
      ...{ aws: this.#aws, sqs, wakeQueueUrl: this.#wakeQueueUrl, logTable: TABLES.logTable },
      dispatch: this.#dispatch,
      deliver: this.#deliver,
      sweep: sweepHandler(() => ({ ...openSweep(this.#clients, { ...TABLES, bucket: BUCKET }), wakeQueue })),
      onFailure: () => {},
    });
  }

  async topic(name: string, partitions = 1): Promise<void> {
    await putTopic(this.#backbone, name, { partitions });
  }

  /** Subscribes a target to what is appended to a topic from now on. */
  async subscribe(name: string, topic: string, target: Target, change: Partial<Subscription> = {}): Promise<void> {
    const { subscriptions, subscribers, positions, topics, topicItems } = this.#backbone;
    const { id: topicId, partitions } = await topics.fresh(topic);
    const [now, group] = [Date.now(), { name, id: ulid() }];
    await subscriptions.create({
      ...{ group, topics: [topic], target: { lambda: { functionArn: name } }, from: 'earliest', timeoutMs: 15_000 },
      batch: { maxRecords: 100, maxBytes: 1_048_576 },
      retry: { maxAttempts: 5, minBackoffMs: 500, maxBackoffMs: 60_000 },
      ...{ onFailure: 'deadLetter', haltAfterDeadLetters: 10, state: 'active' },
      ...{ createdAt: now, updatedAt: now, revision: 1 },
      ...change,
    });
    const starts = Array.from({ length: partitions }, (_, partition) => ({
      topicId,
      partition,
      epoch: now,
      committed: 0,
    }));
    for (let i = 0; i < starts.length; i += 99) await positions.createAll(group, starts.slice(i, i + 99));
    await topicItems.markSubscribed({ name: topic, id: topicId });
    await subscribers.put(topicId, { group, topic, known: partitions });
    topics.drop(topic);
    this.#targets.set(name, target);
  }

  /** Makes groups that pull: what is stored of each. */
  async groups(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const group = { name: `pull${i}`, id: ulid(), createdAt: Date.now(), version: 0, checkAt: 0, busyUntil: 0 };
      await this.#backbone.groups.create(group);
    }
  }

  /** A container of produce. */
  producer(): (sent: Sent) => Promise<void> {
    const wakeQueue = new WakeQueue(this.#clients.sqs, this.#wakeQueueUrl);
    const handler = produceHandler({ ...this.#backbone, doorbell: new Doorbell({ ...this.#backbone, wakeQueue }) });
    const { signal } = new AbortController();
    return async (sent) => {
      const { route, event } = gatewayEvent(sent);
      const { answer } = await invoke(handler, route.function, event, { timeoutMs: TIMEOUT_MS, signal });
      if (answer.statusCode >= 300) throw new Error(`${sent.target}: ${answer.statusCode} ${answer.body}`);
    };
  }

  /** The wake-up of an append to partition 0, handed to a delivery. */
  async deliver(topic: string, last: number): Promise<void> {
    const { id: topicId } = await this.#backbone.topics.get(topic);
    await this.wake({ topicId, partition: 0, last, hop: 0 });
  }

  /** A wake-up, handed to a delivery: over when what was handed aside is, too. */
  async wake(wakeUp: WakeUp): Promise<void> {
    await this.#deliver({ aside: wakeUp }, contextNow(DELIVER_FUNCTION_TIMEOUT_MS));
    while (this.#asides.size > 0) await Promise.all(this.#asides);
  }

  /** Wake-ups of a subscription's partition 0: its own, and those of its lanes. */
  async wakeUps(name: string, topic: string): Promise<{ readonly partition: WakeUp; readonly lanes: WakeUp[] }> {
    const { topics, subscriptions, lanes } = this.#backbone;
    const [{ id: topicId, partitions: known }, subscription] = await Promise.all([
      topics.get(topic),
      subscriptions.read(name),
    ]);
    const { group } = subscription!;
    const partition = { topicId, partition: 0, to: { group, topic, known }, hop: 0 };
    const found = await lanes.list({ group, topicId, partition: 0 });
    return { partition, lanes: found.map(({ lane }) => ({ ...partition, lane })) };
  }

  /** Sets the clock of all functions forward. */
  passTime(ms: number): void {
    this.#aheadMs += ms;
  }

  /** What the log's stream tells of an append. */
  async dispatch(topic: string, last: number): Promise<void> {
    const { id: topicId } = await this.#backbone.topics.get(topic);
    const Keys = { log: { S: logKey({ topicId, partition: 0 }) }, last: { N: String(last) } };
    const Records = [{ eventName: 'INSERT' as const, dynamodb: { Keys } }];
    await this.#dispatch({ Records }, contextNow(BACKGROUND_FUNCTION_TIMEOUT_MS));
  }

  /** A write of one small item, and nothing else. @returns ms */
  async putItem(): Promise<number> {
    const begun = performance.now();
    const Item = { pk: { S: `bare#${ulid()}` }, sk: { S: 'bare' } };
    await this.#clients.dynamodb.send(new PutItemCommand({ TableName: TABLES.stateTable, Item }));
    return performance.now() - begun;
  }

  async close(): Promise<void> {
    await this.#background?.close();
    for (const client of Object.values(this.#clients)) client.destroy();
    await this.#aws.close();
  }

  #open(aside?: (wakeUp: WakeUp) => Promise<void>) {
    const call = (batch: DeliveryBatch) => this.#targets.get(batch.group.name)!(batch);
    return openDeliver(this.#groups, this.#clients.sqs, { wakeQueueUrl: this.#wakeQueueUrl }, () => call, aside);
  }
}

interface Clients {
  readonly dynamodb: DynamoDBClient;
  readonly s3: S3Client;
  readonly sqs: SQSClient;
}
