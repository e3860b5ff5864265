import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { ulid } from 'ulid';
import { openTables, type Tables } from '../functions/tables.ts';
import { openEmbeddedAws } from '../local/aws/embedded-aws.ts';
import { NEVER_DUE } from '../shared/operations/group-check.ts';
import { type Container, containerOf, createBackboneResources, putTopic, TABLES } from './backbone.ts';
import { type Call, Meter, sum } from './meter.ts';
import { median } from './section.ts';

/** What one call of a member consumed. */
export interface GroupCost {
  readonly readUnits: number;
  readonly writeUnits: number;
  readonly requests: number;
  /** Write units of the assignment among them. */
  readonly assignmentUnits: number;
}

/** What an answer tells of the partitions that a member holds. */
export interface Assigned {
  readonly topic: string;
  readonly partition: number;
  readonly epoch: number;
  readonly offset: number;
}

export interface Answer {
  readonly memberId: string;
  readonly assigned: readonly Assigned[];
  readonly revoked: readonly Assigned[];
  readonly records: readonly unknown[];
}

const SESSION_MS = 30_000;
/** How a call of a member is sent. */
const HEADERS = { 'content-type': 'application/json' };

/** A group of many members, most of them only stored; the functions as they are, metered, under a clock that is set. */
export class GroupBench {
  now = Date.now();
  readonly group: string;
  readonly #meter = new Meter();
  readonly #clients: { destroy(): void }[];
  readonly #close: () => Promise<void>;
  readonly #open: () => Container;
  readonly tables: Tables;

  private constructor(group: string, aws: Awaited<ReturnType<typeof openEmbeddedAws>>) {
    const dynamodb = new DynamoDBClient(aws.clientConfig());
    const metered = new DynamoDBClient(aws.clientConfig());
    const s3 = new S3Client(aws.clientConfig());
    this.group = group;
    this.#meter.watch(metered);
    this.#clients = [dynamodb, metered, s3];
    this.#close = () => aws.close();
    const clock = { now: () => this.now };
    this.#open = () => containerOf(metered, clock, s3);
    this.tables = openTables(dynamodb, TABLES, () => {}, clock);
  }

  static async open(group: string, topic: string, partitions: number): Promise<GroupBench> {
    const aws = await openEmbeddedAws();
    const bench = new GroupBench(group, aws);
    const [dynamodb, , s3] = bench.#clients as [DynamoDBClient, DynamoDBClient, S3Client];
    await createBackboneResources({ dynamodb, s3 });
    await bench.container()(putTopic(topic, partitions));
    return bench;
  }

  /** The functions anew, as after a cold start. */
  container(): Container {
    return this.#open();
  }

  /** Makes the group with members that nobody assigned anything to. @returns their ids */
  async store(members: number, topic: string): Promise<string[]> {
    const id = { name: this.group, id: ulid() };
    await this.tables.groups.create({ ...id, createdAt: this.now, version: 0, checkAt: NEVER_DUE, busyUntil: 0 });
    const times = { lastSeenAt: this.now, joinedAt: this.now, sessionTimeoutMs: SESSION_MS };
    const ids = Array.from({ length: members }, () => ulid());
    await Promise.all(
      ids.map((key) => this.tables.members.join(id, { key, memberId: key, topics: [topic], ...times })),
    );
    return ids;
  }

  /** Appends one record. */
  async append(container: Container, topic: string, partition: number): Promise<void> {
    const body = Buffer.from(JSON.stringify({ records: [{ partition, value: { total: 12.5 } }] }));
    await container({ method: 'POST', target: `/v1/topics/${topic}/records`, headers: HEADERS, body });
  }

  /** One call, and what it consumed, its topics and heads included. */
  async call(container: Container, what: string, body: object): Promise<{ answer: Answer; cost: GroupCost }> {
    await this.#meter.takeAll();
    const target = `/v1/groups/${this.group}/${what}`;
    const reply = await container({
      method: 'POST',
      target,
      headers: HEADERS,
      body: Buffer.from(JSON.stringify(body)),
    });
    const cost = costOf(await this.#meter.takeAll());
    return { answer: reply.statusCode === 204 ? NO_ANSWER : JSON.parse(String(reply.body)), cost };
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.destroy();
    await this.#close();
  }
}

const NO_ANSWER: Answer = { memberId: '', assigned: [], revoked: [], records: [] };

function costOf(calls: readonly Call[]): GroupCost {
  const puts = calls.filter(({ operation }) => operation === 'PutItem');
  return {
    readUnits: sum(calls, 'readUnits'),
    writeUnits: sum(calls, 'writeUnits'),
    requests: sum(calls, 'attempts'),
    // No other item is put while members poll but one of a member that joins, which is small.
    assignmentUnits: Math.max(0, ...puts.map(({ writeUnits }) => writeUnits)),
  };
}

/** The middle of what several calls consumed. */
export function medianCost(costs: readonly GroupCost[]): GroupCost {
  return {
    readUnits: median(costs.map(({ readUnits }) => readUnits)),
    writeUnits: median(costs.map(({ writeUnits }) => writeUnits)),
    requests: median(costs.map(({ requests }) => requests)),
    assignmentUnits: median(costs.map(({ assignmentUnits }) => assignmentUnits)),
  };
}
