import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { OF_LANES } from '../../infra/constructs/storage-rights.ts';
import { KEEP_DELIVERIES_MINUTES, LATE_MAX_MS } from '../../shared/domain/limits.ts';
import { BROKEN, LARGE, type RareBench, UNTOLD } from './rare-bench.ts';

/** Calls that no ordinary use provokes, and why functions have a right to them all the same. */
export interface Rare {
  /** What happens. */
  readonly name: string;
  /** Rights that this needs, in words. */
  readonly provokes: readonly string[];
  /** A function fails meanwhile, as it should. */
  readonly fails?: true;
  readonly run: (bench: RareBench) => Promise<void>;
}

/** One attempt, so that what cannot be handled is a dead letter at once. */
const ONCE = { maxAttempts: 1, minBackoffMs: 10, maxBackoffMs: 10 };
const HOUR_MS = 3_600_000;

interface Topic {
  readonly name: string;
  readonly id: string;
}

/**
 * A writer died between reserving a slot and filling it: whoever reads on settles the slot, and looks who was faster.
 * @param meet lets the function read on until it could
 * @param prepare what must be there before
 */
const settling = (
  fn: string,
  meet: (bench: RareBench, topic: Topic, met: () => number) => Promise<void>,
  prepare: (bench: RareBench, topic: Topic) => Promise<unknown> = async () => {},
): Rare => ({
  name: `${fn.toLowerCase()} meets a slot that was abandoned, and is not told who settled it`,
  provokes: [`${fn}  dynamodb:PutItem  StorageLog`, `${fn}  dynamodb:GetItem  StorageLog`],
  async run(bench) {
    const topic = await bench.topic(`abandoned-${fn.toLowerCase()}`);
    await prepare(bench, topic);
    await bench.abandon(topic.id);
    const naming = bench.of.places.log;
    const faults = [{ function: fn, operation: 'PutItem', naming, answer: UNTOLD, times: 1 }];
    await bench.amid(faults, (met) => meet(bench, topic, met));
  },
});

export const RARE: readonly Rare[] = [
  settling('Fetch', (bench, { name }) =>
    bench.insist('GET', `/v1/topics/${name}/partitions/0/records?offset=earliest`),
  ),
  settling('Topics', (bench, { name }) => bench.insist('GET', `/v1/topics/${name}/partitions`)),
  settling('Groups', async (bench, { name }) => {
    const group = bench.trial.named('settlers');
    bench.trial.removeLater(`/v1/groups/${group}`);
    await bench.insist('POST', `/v1/groups/${group}/poll`, { memberId: null, topics: [name], reset: 'latest' });
  }),
  settling('Subscriptions', async (bench, { name }) => {
    const path = `/v1/subscriptions/${bench.trial.named('settler')}`;
    bench.trial.removeLater(path);
    const target = { lambda: { functionArn: await bench.of.target.consumer!() } };
    await bench.insist('PUT', path, { topics: [name], from: 'latest', target });
  }),
  settling(
    'Deliver',
    async (bench, { name }, met) => {
      await bench.trial.produce(name, [{ value: 1 }]);
      // Whoever asked how far the subscription is would settle the slot.
      await bench.trial.until('deliver to meet it', async () => met() > 0);
    },
    (bench, { name }) => bench.subscribe('settling', name),
  ),
  settling('Provision', async (bench, { name }) => {
    const path = `/v1/subscriptions/${bench.trial.named('settled')}`;
    bench.trial.removeLater(path);
    const target = { lambda: { functionArn: await bench.of.target.consumer!() } };
    const settings = JSON.stringify({ topics: [name], from: 'latest', target });
    const properties = { name: path.split('/').at(-1), settings, onRemoval: 'delete' };
    expect(await bench.provision('Subscription', properties)).toBe('SUCCESS');
  }),
  {
    name: 'a stack makes a topic and a subscription, and gives rights; then it is rid of them',
    provokes: ['Get', 'Put', 'Update', 'Delete', 'ConditionCheck'].map(
      (verb) => `Provision  dynamodb:${verb}Item  StorageState`,
    ),
    async run(bench) {
      const name = bench.trial.named('stacked');
      const target = { lambda: { functionArn: await bench.of.target.consumer!() } };
      const topic = { name, settings: '{"partitions":1}', onRemoval: 'delete' };
      const settings = JSON.stringify({ topics: [name], from: 'earliest', target });
      const subscription = { name, settings, onRemoval: 'delete' };
      const grant = {
        principal: 'user:000000000000:nobody',
        rights: JSON.stringify([{ topics: name, allow: ['produce'] }]),
      };
      const parts = [
        ['Topic', topic],
        ['Subscription', subscription],
        ['Grant', grant],
      ] as const;
      for (const [type, properties] of parts) expect(await bench.provision(type, properties)).toBe('SUCCESS');
      for (const [type, properties] of parts.toReversed()) {
        expect(await bench.provision(type, properties, 'Delete')).toBe('SUCCESS');
      }
    },
  },
  {
    name: 'a reader walks past so much that it notes how far everything is settled',
    provokes: ['Fetch  dynamodb:UpdateItem  StorageState'],
    async run({ trial }) {
      const topic = await trial.topic('long');
      await trial.produce(
        topic,
        Array.from({ length: 1_000 }, (_, value) => ({ value, partition: 0 })),
      );
      await trial.fetch(topic, 0, '&maxRecords=1000');
      await trial.fetch(topic, 1_000);
    },
  },
  {
    name: 'a payload is gone that should be there: S3 says so only to who may list',
    provokes: [
      ...['Fetch', 'Groups', 'Deliver'].map((fn) => `${fn}  s3:ListBucket  StorageBucket`),
      ...['Groups  s3:GetObject  StorageBucket/*', 'Deliver  s3:GetObject  StorageBucket/*'],
    ],
    async run(bench) {
      const { trial } = bench;
      const { name, id } = await bench.topic('lost-payload');
      await trial.produce(name, [{ value: LARGE }]);
      await bench.losePayload(id);
      expect((await trial.fetch(name)).records).toMatchObject([{ offset: 0, error: { code: 'payload_missing' } }]);
      const group = trial.named('readers');
      trial.removeLater(`/v1/groups/${group}`);
      await trial.send('POST', `/v1/groups/${group}/poll`, { body: { memberId: null, topics: [name] } });
      const path = await bench.subscribe('bereft', name, { retry: ONCE });
      await bench.delivered(path);
    },
  },
  {
    name: 'a member gives a large record up, and somebody removes the dead letter',
    provokes: [
      ...['PutObject', 'DeleteObject'].map((verb) => `Groups  s3:${verb}  StorageBucket/dead-letters/*`),
      'Groups  sqs:SendMessage  DeliveryDeadLetters',
    ],
    async run({ trial }) {
      const topic = await trial.topic('unwieldy');
      await trial.produce(topic, [{ value: LARGE }]);
      const { path, id } = await giveUp(trial, topic, 'surrender');
      await trial.json('DELETE', `${path}/dead-letters/${id}`, {}, 204);
    },
  },
  {
    name: 'a subscriber cannot handle a large record',
    provokes: ['Deliver  s3:PutObject  StorageBucket/dead-letters/*'],
    async run(bench) {
      const topic = await bench.trial.topic('heavy');
      const path = await bench.subscribe('overburdened', topic, { retry: ONCE });
      await bench.trial.produce(topic, [{ value: { refuse: true, padding: LARGE } }]);
      await bench.delivered(path);
    },
  },
  {
    name: 'a topic grows that somebody subscribes to',
    provokes: ['Deliver  dynamodb:ConditionCheckItem  StorageState'],
    async run(bench) {
      const topic = await bench.trial.topic('growing');
      const path = await bench.subscribe('grower', topic);
      await bench.trial.json('PUT', `/v1/topics/${topic}`, { body: { partitions: 2 } });
      await bench.trial.produce(topic, [{ value: 1, partition: 1 }]);
      await bench.delivered(path);
    },
  },
  {
    name: 'the note of a payload that was put for a slot goes before the slot is filled',
    provokes: [
      ...['Dispatch  dynamodb:GetItem  StorageLog', 'Dispatch  dynamodb:PutItem  StorageLog'],
      'Dispatch  dynamodb:GetItem  StorageState',
    ],
    async run(bench) {
      const { name, id } = await bench.topic('unfilled');
      await bench.trial.produce(name, [{ value: LARGE }]);
      await bench.of.target.expire!(`${id}.0`, 0);
      await bench.of.target.expire!(`${id}.0#spill`, 0);
      await bench.trial.until('a void', async () => (await bench.slot(`${id}.0`, 0))?.void !== undefined);
    },
  },
  {
    name: 'an upload is forgotten; dispatch cannot do so once, and deliver does it',
    provokes: ['Dispatch', 'Deliver'].map(
      (fn) =>
        `${fn}  dynamodb:DeleteItem  StorageState  {"ForAllValues:StringLike":{"dynamodb:LeadingKeys":["uploads#*"]}}`,
    ),
    async run(bench) {
      const { name, id } = await bench.topic('forgetful');
      await bench.subscribe('watcher', name); // while nobody subscribes, the wake queue is left alone for minutes
      const forget = async () => {
        const uploadId = await announce(bench, name);
        await bench.of.target.expire!(`${id}#upload.${uploadId}`, 0);
        await bench.trial.until('it to be forgotten', async () => !(await bench.knowsUpload(id, uploadId)));
      };
      await forget();
      await bench.amid([{ function: 'Dispatch', operation: 'DeleteItem', answer: BROKEN }], forget);
    },
  },
  {
    name: 'dispatch cannot remove a payload, and deliver does it',
    provokes: ['Deliver  s3:DeleteObject  StorageBucket/*'],
    async run(bench) {
      const { name, id } = await bench.topic('stubborn');
      await bench.subscribe('stubborn', name);
      await bench.trial.produce(name, [{ value: LARGE }]);
      await bench.amid([{ function: 'Dispatch', operation: 'DeleteObject', answer: BROKEN }], async () => {
        await bench.of.target.expire!(`${id}.0`, 0);
        await bench.trial.until(
          'the payload to go',
          async () => (await bench.of.target.objects!(`${id}/`)).length === 0,
        );
      });
    },
  },
  {
    name: 'a delivery meets a table that is away, and its wake-up waits',
    provokes: ['Deliver  sqs:ChangeMessageVisibility  DeliveryWake'],
    async run(bench) {
      const topic = await bench.trial.topic('away');
      const path = await bench.subscribe('patient', topic);
      await bench.delivered(path);
      // Three attempts of one wake-up.
      await bench.amid([{ function: 'Deliver', operation: 'Query', answer: BROKEN, times: 3 }], async () => {
        await bench.trial.produce(topic, [{ value: 1 }]);
        await bench.delivered(path);
      });
    },
  },
  {
    name: 'a key is parked, and comes back when its record can be handled',
    provokes: [`Deliver  dynamodb:DeleteItem  StorageState  ${JSON.stringify(OF_LANES)}`],
    async run(bench) {
      const { trial } = bench;
      const topic = await trial.topic('parking');
      const retry = { maxAttempts: 1, minBackoffMs: 10, maxBackoffMs: 1_000 };
      const path = await bench.subscribe('parking', topic, { retry, onFailure: 'park' });
      await trial.produce(topic, [
        { key: 'K', value: { refuse: 'unless-mended' } },
        { key: 'other', value: 1 },
      ]);
      await bench.delivered(path);
      const parked = () => trial.json<{ parked: unknown[] }>('GET', `${path}/parked`);
      expect((await parked()).parked).toHaveLength(1);
      await trial.topic('parking', { partitions: 1 }, '-mended');
      await trial.until('it to be back', async () => (await parked()).parked.length === 0);
    },
  },
  {
    name: 'a retry is due in an hour, which no delayed message can wait for',
    provokes: ['Sweep  sqs:SendMessage  DeliveryWake'],
    async run(bench) {
      const { trial, server, of } = bench;
      const topic = await trial.topic('hourly');
      const retry = { maxAttempts: 10, minBackoffMs: HOUR_MS, maxBackoffMs: HOUR_MS };
      const path = await bench.subscribe('hourly', topic, { retry });
      await trial.produce(topic, [{ value: { refuse: 'unless-mended' } }]);
      await trial.until('a failure', async () => {
        const { lastError } = await trial.json<{ lastError: unknown }>('GET', path);
        return lastError !== null;
      });
      await trial.topic('hourly', { partitions: 1 }, '-mended');
      server.advance(HOUR_MS + 60_000);
      await trial.until('no lag', async () => {
        await of.target.sweep!();
        const { partitions } = await trial.json<{ partitions: { lag: number }[] }>('GET', path);
        return partitions.every(({ lag }) => lag === 0);
      });
    },
  },
  {
    name: 'what wakes deliveries was switched by hand, and the sweep switches it back',
    provokes: [
      'Sweep  sqs:GetQueueAttributes  DeliveryWake',
      ...['Get', 'Update'].flatMap((verb) =>
        ['Inserts', 'WakeUps'].map((source) => `Sweep  lambda:${verb}EventSourceMapping  Delivery${source}`),
      ),
    ],
    async run({ server, of, trial }) {
      const switched = server.lambda.mappings.filter(({ enabled }) => !enabled);
      expect(switched).toHaveLength(2);
      for (const mapping of switched) mapping.switch(true);
      await trial.until('them to be off', async () => {
        server.advance(KEEP_DELIVERIES_MINUTES * 60_000 - (server.now() % (KEEP_DELIVERIES_MINUTES * 60_000)));
        await of.target.sweep!();
        return switched.every(({ enabled }) => !enabled);
      });
    },
  },
  {
    name: 'what deleted topics and groups leave behind is purged',
    provokes: [
      ...['Sweep  dynamodb:BatchWriteItem  StorageLog', 'Sweep  dynamodb:UpdateItem  StorageState'],
      'Sweep  s3:DeleteObject  StorageBucket/dead-letters/*',
    ],
    async run(bench) {
      const { trial, of, server } = bench;
      const { name, id } = await bench.topic('doomed');
      await trial.produce(name, [{ value: LARGE }]);
      const { path } = await giveUp(trial, name, 'doomed');
      await trial.json('DELETE', path, {}, 204);
      await trial.json('DELETE', `/v1/topics/${name}`, {}, 204);
      const payloads = async () => [
        ...(await of.target.objects!(`${id}/`)),
        ...(await of.target.objects!('dead-letters/')),
      ];
      expect((await payloads()).length).toBeGreaterThan(1);
      server.advance(LATE_MAX_MS + 60_000);
      await trial.until('payloads to be gone', async () => {
        await of.target.sweep!();
        return (await payloads()).length === 0;
      });
    },
  },
  {
    name: 'the stream gives a removal up that nobody could follow for half a day',
    provokes: ['Dispatch  sqs:SendMessage  DeliveryDeadLetters'],
    fails: true,
    async run(bench) {
      const { name, id } = await bench.topic('stuck');
      await bench.trial.produce(name, [{ value: LARGE }]);
      const wake = bench.of.places.wakeQueueUrl.split('/').at(-1)!;
      const faults = [
        { function: 'Dispatch', operation: 'DeleteObject', answer: BROKEN },
        { function: 'Dispatch', operation: 'SendMessageBatch', naming: wake, answer: BROKEN },
        { function: 'Dispatch', operation: 'SendMessage', naming: wake, answer: BROKEN },
      ];
      await bench.amid(faults, async (met) => {
        await bench.of.target.expire!(`${id}.0`, 0);
        await bench.trial.until('an attempt', async () => met() > 1);
        bench.server.advance(13 * HOUR_MS);
        await bench.trial.until('a message', async () => {
          const bodies = await bench.of.target.takeDeadLetterMessages!();
          return bodies.some((body) => body.includes('DDBStreamBatchInfo'));
        });
      });
    },
  },
];

/** Lets a member give its first record up. @returns path of its group, and id of the dead letter */
async function giveUp(trial: RareBench['trial'], topic: string, name: string): Promise<{ path: string; id: string }> {
  const path = `/v1/groups/${trial.named(name)}`;
  trial.removeLater(path);
  const polled = await trial.json<{ memberId: string; assigned: object[] }>('POST', `${path}/poll`, {
    body: { memberId: null, topics: [topic] },
  });
  const error = { name: 'Error', message: 'no' };
  const body = { memberId: polled.memberId, ...polled.assigned[0], offset: 0, error, attempts: 1 };
  const { id } = await trial.json<{ id: string }>('POST', `${path}/dead-letters`, { body });
  return { path, id };
}

async function announce({ trial }: RareBench, topic: string): Promise<string> {
  const sha256 = createHash('sha256').update('x').digest('hex');
  const body = { size: 1, sha256 };
  return (await trial.json<{ uploadId: string }>('POST', `/v1/topics/${topic}/uploads`, { body }, 201)).uploadId;
}
