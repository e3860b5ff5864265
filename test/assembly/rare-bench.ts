import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type AttributeValue, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import { expect } from 'vitest';
import { openBackbone } from '../../functions/backbone.ts';
import type { AssemblyServer } from '../../local/assembly/assembly-server.ts';
import type { AwsResponse } from '../../local/aws/service.ts';
import { SETTLE_AFTER_MS, SPILL_ABOVE_BYTES_DEFAULT } from '../../shared/domain/limits.ts';
import { uploadKey } from '../../shared/store/keys.ts';
import { Trial } from '../scenarios/trial.ts';
import type { assemblyTarget } from './assembly-target.ts';

/** More than a slot holds inline, and than a dead letter does. */
export const LARGE = randomBytes(300_000).toString('base64');

/** Calls that go wrong on purpose: those of one function, by operation, on what their body or path names. */
interface Fault {
  readonly function: string;
  readonly operation: string;
  readonly naming?: string;
  readonly answer: AwsResponse;
  /** How often; absent: until the end. */
  readonly times?: number;
}

/** AWS tells who was there; not every engine does. */
export const UNTOLD: AwsResponse = {
  status: 400,
  headers: { 'content-type': 'application/x-amz-json-1.0' },
  body: JSON.stringify({ __type: 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException' }),
};
export const BROKEN: AwsResponse = {
  status: 500,
  headers: { 'content-type': 'application/x-amz-json-1.0' },
  body: JSON.stringify({ __type: 'com.amazon.coral.service#InternalServerError' }),
};

/** What provokes rare calls: a trial, and the hand of whoever may do everything. */
export class RareBench {
  readonly trial: Trial;
  readonly server: AssemblyServer;
  readonly of: ReturnType<typeof assemblyTarget>;

  constructor(server: AssemblyServer, of: ReturnType<typeof assemblyTarget>) {
    this.server = server;
    this.of = of;
    this.trial = new Trial(of.target);
  }

  /** A reservation whose writer is gone: whoever reads on has to settle it. */
  async abandon(topicId: string, partition = 0): Promise<void> {
    const { dynamodb, s3, places } = this.of;
    const env = { logTable: places.log, stateTable: places.state, bucket: places.bucket };
    const { heads, clock } = openBackbone({ dynamodb, s3 }, { ...env, spillAboveBytes: SPILL_ABOVE_BYTES_DEFAULT });
    const time = clock.now() - 2 * SETTLE_AFTER_MS;
    const reservation = { count: 1, time, expiresAt: 0, settleMs: SETTLE_AFTER_MS };
    await heads.reserve({ topicId, partition }, randomBytes(12).toString('hex'), reservation, () => false);
  }

  /** Lets calls go wrong while `work` is under way. @returns how often they did */
  async amid(faults: readonly Fault[], work: (met: () => number) => Promise<void>): Promise<void> {
    let met = 0;
    const left = faults.map(({ times = Number.POSITIVE_INFINITY }) => times);
    this.server.intercept(async (caller, operation, { path, body }) => {
      const about = `${path} ${typeof body === 'string' ? body : ''}`;
      const i = faults.findIndex(
        (fault, at) =>
          left[at]! > 0 &&
          operation === fault.operation &&
          caller.function.startsWith(`Vertebra-Backbone${fault.function}`) &&
          about.includes(fault.naming ?? ''),
      );
      if (i < 0) return undefined;
      left[i]! -= 1;
      met += 1;
      return faults[i]!.answer;
    });
    try {
      await work(() => met);
    } finally {
      this.server.intercept(undefined);
    }
    expect(met).toBeGreaterThan(0);
  }

  /** Makes a topic. @returns its name and its id */
  async topic(
    name: string,
    settings: object = { partitions: 1 },
  ): Promise<{ readonly name: string; readonly id: string }> {
    const topic = await this.trial.topic(name, settings);
    const { id } = await this.trial.json<{ id: string }>('GET', `/v1/topics/${topic}`);
    return { name: topic, id };
  }

  /** Subscribes the deployed consumer to a topic. @returns path of the subscription */
  async subscribe(name: string, topic: string, more: object = {}): Promise<string> {
    await this.trial.topic(name, { partitions: 1 }, '-received');
    const path = `/v1/subscriptions/${this.trial.named(name)}`;
    this.trial.removeLater(path);
    const target = { lambda: { functionArn: await this.of.target.consumer!() } };
    await this.trial.json('PUT', path, { body: { topics: [topic], from: 'earliest', target, ...more } }, 201);
    return path;
  }

  /** Waits until everything has been handed to a subscriber. */
  async delivered(path: string): Promise<void> {
    await this.trial.until('no lag', async () => {
      const { partitions } = await this.trial.json<{ partitions: { lag: number }[] }>('GET', path);
      return partitions.every(({ lag }) => lag === 0);
    });
  }

  /** Asks for a resource of a stack's, as CloudFormation does. @returns how that ended */
  async provision(type: string, properties: object, RequestType = 'Create'): Promise<string> {
    let told = 'nothing';
    const cloudFormation = createServer(async (request, response) => {
      told = (JSON.parse(await text(request)) as { Status: string }).Status;
      response.end();
    }).listen(0, '127.0.0.1');
    await once(cloudFormation, 'listening');
    try {
      const provisioner = this.server.lambda.find(this.functionNamed('Provision'))!;
      const event = {
        ...{ RequestType, RequestId: 'one', StackId: 'stack', LogicalResourceId: this.trial.named('Resource') },
        ResponseURL: `http://127.0.0.1:${(cloudFormation.address() as AddressInfo).port}/`,
        ...{ ResourceType: `Custom::Vertebra${type}`, ResourceProperties: properties },
      };
      await provisioner.invoke(JSON.stringify(event));
      return told;
    } finally {
      cloudFormation.close();
    }
  }

  /** Physical name of a function of the backbone. */
  functionNamed(name: string): string {
    const is = new RegExp(`^Vertebra/Backbone${name}[0-9A-F]{8}$`);
    return [...this.server.resources].find(([key]) => is.test(key))![1].ref;
  }

  /** Repeats a request until it is answered with success. */
  async insist(method: string, path: string, body?: object): Promise<void> {
    await this.trial.until(`${method} ${path}`, async () => {
      const { status } = await this.trial.send(method, path, body === undefined ? {} : { body });
      return status < 300;
    });
  }

  /** What is in a slot. */
  async slot(log: string, last: number): Promise<Record<string, AttributeValue> | undefined> {
    const Key = { log: { S: log }, last: { N: String(last) } };
    const command = new GetItemCommand({ TableName: this.of.places.log, Key });
    return (await this.of.dynamodb.send(command)).Item;
  }

  /** Whether anything is known of an upload. */
  async knowsUpload(topicId: string, uploadId: string): Promise<boolean> {
    const { pk, sk } = uploadKey({ topicId, uploadId });
    const command = new GetItemCommand({ TableName: this.of.places.state, Key: { pk: { S: pk }, sk: { S: sk } } });
    return (await this.of.dynamodb.send(command)).Item !== undefined;
  }

  /** Takes the payload of a slot away, which nobody but retention does. */
  async losePayload(topicId: string): Promise<void> {
    const [Key] = await this.of.target.objects!(`${topicId}/`);
    await this.of.s3.send(new DeleteObjectCommand({ Bucket: this.of.places.bucket, Key }));
  }
}
