import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ProvisionBackbone, provisionHandler } from '../../functions/provision.ts';
import { Unavailable } from '../../shared/domain/errors.ts';
import { TargetForbidden } from '../../shared/domain/subscription-errors.ts';
import { putTopic } from '../../shared/operations/topics.ts';
import { Provisions } from '../../shared/store/provisions.ts';
import type { ProvisionEvent } from '../../shared/wire/provision-request.ts';
import { type Host, type LogBench, openLogBench } from '../support/log-bench.ts';

const FUNCTION = 'arn:aws:lambda:eu-central-1:111122223333:function:ship';
const STACK = 'arn:aws:cloudformation:eu-central-1:111122223333:stack/Mine/0a1b';

interface Answer {
  readonly Status: 'SUCCESS' | 'FAILED';
  readonly Reason?: string;
  readonly PhysicalResourceId: string;
  readonly Data?: Readonly<Record<string, unknown>>;
}

let cloudFormation: Server;
let answers: Answer[];
let refusals: number;
let bench: LogBench;
let host: Host;
let ports: ProvisionBackbone;
let switched: boolean[];

beforeAll(async () => {
  cloudFormation = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    request.on('end', () => {
      if (refusals-- > 0) return void response.writeHead(503).end();
      answers.push(JSON.parse(text) as Answer);
      response.end();
    });
  }).listen(0, '127.0.0.1');
  await once(cloudFormation, 'listening');
});
afterAll(() => void cloudFormation.close());
beforeEach(async () => {
  bench = await openLogBench();
  host = bench.host();
  [answers, switched, refusals] = [[], [], 0];
  ports = {
    ...host.backbone,
    wakeQueue: { wake: async () => {} },
    targets: { check: async () => ({ timeoutMs: 3_000 }) },
    deliveries: { switch: async (on) => void switched.push(on) },
    newSecret: () => 'whsec_',
    provisions: new Provisions(bench.tables.dynamodb, bench.tables.stateTable),
    pauseMs: 1,
  };
});
afterEach(() => bench.close());

type Kind = 'Topic' | 'Subscription' | 'Grant';

/** A request of CloudFormation, and what it was answered. */
async function ask(
  act: 'Create' | 'Update' | 'Delete',
  kind: Kind,
  properties: Readonly<Record<string, string>>,
  { id = `Mine${kind}`, before = {}, open = () => ports, timeMs = 60_000 } = {},
): Promise<Answer> {
  const { port } = cloudFormation.address() as AddressInfo;
  const event = {
    ...{ RequestType: act, StackId: STACK, RequestId: 'r', LogicalResourceId: id },
    ...{ ResourceType: `Custom::Vertebra${kind}`, ResponseURL: `http://127.0.0.1:${port}/answer?signed=yes` },
    ResourceProperties: { ServiceToken: 'arn', ...properties },
    ...(act === 'Update' && { OldResourceProperties: { ServiceToken: 'arn', ...before } }),
  } as unknown as ProvisionEvent;
  await provisionHandler(open)(event, { getRemainingTimeInMillis: () => timeMs });
  return answers.at(-1)!;
}

const topic = (settings: object = {}, onRemoval = 'retain', name = 'orders') => ({
  ...{ name, settings: JSON.stringify(settings), onRemoval },
});
const subscription = (settings: object = {}, onRemoval = 'unlessNeeded') => ({
  name: 'shipping',
  settings: JSON.stringify({ topics: ['orders'], target: { lambda: { functionArn: FUNCTION } }, ...settings }),
  onRemoval,
});
const partitions = async (name = 'orders') => (await host.backbone.topics.fresh(name)).partitions;
const isThere = (name = 'orders') =>
  host.backbone.topics.fresh(name).then(
    () => true,
    () => false,
  );

describe('a topic in an app', () => {
  it('has the limits that the app sets, and loses those that it sets no more, but no others', async () => {
    const quota = { recordsPerSecond: 5 };
    const maxLag = { groups: ['billing'], records: 9 };
    await ask('Create', 'Topic', topic({ partitions: 1, quota }));
    expect(await host.backbone.topics.fresh('orders')).toMatchObject({ quota });
    await putTopic(host.backbone, 'orders', { maxLag });
    await ask('Update', 'Topic', topic({ partitions: 1 }), { before: topic({ partitions: 1, quota }) });
    const found = await host.backbone.topics.fresh('orders');
    expect(found).toMatchObject({ maxLag });
    expect(found).not.toHaveProperty('quota');
  });

  it('is made, and changed with it, under a name that stays', async () => {
    const made = await ask('Create', 'Topic', topic({ partitions: 2, retentionMs: 3_600_000 }));
    const { id } = await host.backbone.topics.fresh('orders');
    expect(made).toMatchObject({ Status: 'SUCCESS', PhysicalResourceId: 'topic/orders' });
    expect(made.Data).toEqual({ TopicId: id, Partitions: 2 });
    const changed = await ask('Update', 'Topic', topic({ partitions: 3 }), { before: topic({ partitions: 2 }) });
    expect(changed).toMatchObject({ PhysicalResourceId: 'topic/orders', Data: { Partitions: 3 } });
    expect(await host.backbone.topics.fresh('orders')).toMatchObject({ partitions: 3, retentionMs: 3_600_000 });
  });

  it('may be asked for twice', async () => {
    for (let times = 0; times < 2; times++) await ask('Create', 'Topic', topic({ partitions: 2 }, 'delete'));
    expect((await ask('Delete', 'Topic', topic({}, 'delete'))).Status).toBe('SUCCESS');
    expect(await isThere()).toBe(false);
    expect((await ask('Delete', 'Topic', topic({}, 'delete'))).Status).toBe('SUCCESS');
  });

  it('keeps partitions that were added to it otherwise, and is never made smaller', async () => {
    await ask('Create', 'Topic', topic({ partitions: 2 }));
    await putTopic(host.backbone, 'orders', { partitions: 5 });
    const longer = topic({ partitions: 2, retentionMs: 7_200_000 });
    expect((await ask('Update', 'Topic', longer, { before: topic({ partitions: 2 }) })).Status).toBe('SUCCESS');
    expect(await host.backbone.topics.fresh('orders')).toMatchObject({ partitions: 5, retentionMs: 7_200_000 });
    const smaller = await ask('Update', 'Topic', topic({ partitions: 1 }), { before: longer });
    expect(smaller).toMatchObject({ Status: 'FAILED', Reason: expect.stringContaining('cannot go back to 1') });
    // CloudFormation goes back to what it had.
    expect((await ask('Update', 'Topic', longer, { before: topic({ partitions: 1 }) })).Status).toBe('SUCCESS');
    expect(await partitions()).toBe(5);
  });

  it('that leaves the app keeps its records, unless the app said otherwise', async () => {
    await ask('Create', 'Topic', topic());
    expect((await ask('Delete', 'Topic', topic())).Status).toBe('SUCCESS');
    expect(await isThere()).toBe(true);
    await ask('Create', 'Topic', topic({}, 'delete', 'scratch'), { id: 'Scratch' });
    await ask('Delete', 'Topic', topic({}, 'delete', 'scratch'), { id: 'Scratch' });
    expect(await isThere('scratch')).toBe(false);
  });

  it('that was there before is taken over, and never removed', async () => {
    await putTopic(host.backbone, 'orders', { partitions: 4 });
    expect((await ask('Create', 'Topic', topic({ partitions: 2 }, 'delete'))).Data).toMatchObject({ Partitions: 4 });
    expect((await ask('Delete', 'Topic', topic({}, 'delete'))).Status).toBe('SUCCESS');
    expect(await isThere()).toBe(true);
  });

  it('that moves within the app is not removed by the resource that it was', async () => {
    await ask('Create', 'Topic', topic({}, 'delete'), { id: 'Before' });
    await ask('Create', 'Topic', topic({}, 'delete'), { id: 'After' });
    await ask('Delete', 'Topic', topic({}, 'delete'), { id: 'Before' });
    expect(await isThere()).toBe(true);
    await ask('Delete', 'Topic', topic({}, 'delete'), { id: 'After' });
    expect(await isThere()).toBe(false);
  });

  it('by another name is another one', async () => {
    await ask('Create', 'Topic', topic());
    const renamed = await ask('Update', 'Topic', topic({}, 'retain', 'invoices'), { before: topic() });
    expect(renamed.PhysicalResourceId).toBe('topic/invoices');
    expect(await isThere('invoices')).toBe(true);
  });
});

describe('a subscription in an app', () => {
  const read = () => host.backbone.subscriptions.read('shipping');
  beforeEach(() => ask('Create', 'Topic', topic({ partitions: 1 })));

  it('is made, with what its function says of itself; what the app no longer says is as usual', async () => {
    const made = await ask(
      'Create',
      'Subscription',
      subscription({ filter: { key: ['a'] }, batch: { maxRecords: 7 } }),
    );
    expect(made).toMatchObject({ Status: 'SUCCESS', PhysicalResourceId: 'subscription/shipping' });
    expect(await read()).toMatchObject({ timeoutMs: 3_000, batch: { maxRecords: 7 }, filter: '{"key":["a"]}' });
    expect(switched).toEqual([true]);
    await ask('Update', 'Subscription', subscription(), { before: subscription() });
    expect(await read()).toMatchObject({ batch: { maxRecords: 100 } });
    expect((await read())!.filter).toBeUndefined();
  });

  it('waits until its function lets the backbone in, which may take a while to be known', async () => {
    let looks = 0;
    const targets = {
      check: async () => {
        if (++looks < 3) throw new TargetForbidden('access is denied', 'aws lambda …');
        return {};
      },
    };
    expect(await ask('Create', 'Subscription', subscription(), { open: () => ({ ...ports, targets }) })).toMatchObject({
      Status: 'SUCCESS',
    });
  });

  it('fails with the sentence of the API, while there is time to say so', async () => {
    const targets = {
      check: async () => {
        throw new Unavailable('The target could not be looked at');
      },
    };
    const late = { open: () => ({ ...ports, targets }), timeMs: 1_000 };
    expect(await ask('Create', 'Subscription', subscription(), late)).toMatchObject({
      ...{ Status: 'FAILED', Reason: 'The target could not be looked at' },
    });
    expect(await ask('Create', 'Subscription', subscription({ topics: ['none'] }))).toMatchObject({
      ...{ Status: 'FAILED', Reason: "Topic 'none' does not exist" },
    });
    expect(await ask('Create', 'Subscription', subscription({ onFailure: 'drop' }))).toMatchObject({
      Status: 'FAILED',
    });
  });

  it('that leaves the app goes; where dead letters wait it is paused and stays, unless the app said otherwise', async () => {
    await ask('Create', 'Subscription', subscription());
    await ask('Delete', 'Subscription', subscription());
    expect(await read()).toBeUndefined();
    await ask('Create', 'Subscription', subscription());
    const { group } = (await read())!;
    const { id: topicId } = await host.backbone.topics.fresh('orders');
    await host.backbone.deadLetters.put(group, {
      ...{ topicId, partition: 0, offset: 0, topic: 'orders', error: { name: 'Error', message: 'no' } },
      ...{ attempts: 5, redrives: 0, firstFailedAt: 0, deadLetteredAt: 0 },
      payload: { object: { size: 1, sha256: 'ab'.repeat(32) } },
    });
    await ask('Delete', 'Subscription', subscription());
    expect(await read()).toMatchObject({ state: 'paused' });
    await ask('Create', 'Subscription', subscription());
    await ask('Delete', 'Subscription', subscription({}, 'retain'));
    expect(await read()).toBeDefined();
    await ask('Delete', 'Subscription', subscription({}, 'delete'));
    expect(await read()).toBeUndefined();
  });
});

describe('a grant in an app', () => {
  const role = 'arn:aws:iam::111122223333:role/service/Shop';
  const grant = (rights: unknown, principal = role) => ({ principal, rights: JSON.stringify(rights) });
  const PRODUCE = [{ topics: 'orders', allow: ['produce'] }];
  const rightsOf = (principal = 'role:111122223333:Shop') => host.backbone.grants.of(principal, true);

  it('is stored for the principal that an ARN stands for, changed, and taken back', async () => {
    const made = await ask('Create', 'Grant', grant(PRODUCE));
    expect(made).toMatchObject({ Status: 'SUCCESS', PhysicalResourceId: `grant/${role}` });
    expect(await rightsOf()).toEqual(PRODUCE);
    const CONSUME = [{ topics: 'orders', groups: '*', allow: ['consume'] }];
    await ask('Update', 'Grant', grant(CONSUME), { before: grant(PRODUCE) });
    expect(await rightsOf()).toEqual(CONSUME);
    await ask('Delete', 'Grant', grant(CONSUME));
    expect(await rightsOf()).toEqual([]);
  });

  it('of one resource is not that of another', async () => {
    await ask('Create', 'Grant', grant(PRODUCE), { id: 'One' });
    await ask('Create', 'Grant', grant(PRODUCE), { id: 'Another' });
    await ask('Delete', 'Grant', grant(PRODUCE), { id: 'One' });
    expect(await rightsOf()).toEqual(PRODUCE);
  });

  it('of what is none fails with a sentence, and is no hindrance to be removed', async () => {
    const wrong: [object, string | RegExp][] = [
      [grant(PRODUCE, 'arn:aws:s3:::bucket'), /^'principal' must be the ARN of a role or a user/],
      [grant([{ topics: 'orders', allow: ['fly'] }]), /rights/],
      [{ principal: role, rights: 'not JSON' }, "'rights' must be JSON"],
      [{ principal: role }, "'rights' must be a text"],
    ];
    for (const [properties, reason] of wrong) {
      const failed = await ask('Create', 'Grant', properties as Record<string, string>);
      expect(failed.Status).toBe('FAILED');
      expect(failed.Reason).toMatch(reason);
      expect((await ask('Delete', 'Grant', properties as Record<string, string>)).Status).toBe('SUCCESS');
    }
  });
});

describe('every request', () => {
  it('is answered, also by a function that cannot be opened', async () => {
    const open = () => {
      throw new Error('not configured: VERTEBRA_STATE_TABLE must be set');
    };
    expect(await ask('Create', 'Topic', topic(), { open })).toMatchObject({
      ...{ Status: 'FAILED', Reason: expect.stringContaining('VERTEBRA_STATE_TABLE') },
    });
  });

  it('is answered again where the answer was not taken', async () => {
    refusals = 2;
    expect(await ask('Create', 'Topic', topic())).toMatchObject({ Status: 'SUCCESS' });
  });

  it('that nobody takes an answer to fails, so that Lambda asks once more', async () => {
    refusals = 100;
    await expect(ask('Create', 'Topic', topic())).rejects.toThrow('answered with 503');
  });

  it('waits for rights that were given a moment ago', async () => {
    let reads = 0;
    const provisions = {
      ...{ put: async () => {}, remove: async () => {} },
      read: async () => {
        if (++reads < 3) throw Object.assign(new Error('no'), { name: 'AccessDeniedException' });
        return undefined;
      },
    };
    expect(await ask('Create', 'Topic', topic(), { open: () => ({ ...ports, provisions }) })).toMatchObject({
      Status: 'SUCCESS',
    });
  });
});
