import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { ArnPrincipal, Role, ServicePrincipal, User } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { BackboneStack } from '../../infra/backbone-stack.ts';
import { EventBackbone, type EventBackboneProps } from '../../infra/index.ts';
import { temporaryFolder } from './temporary-folder.ts';

const { '@aws-cdk/core:validateAgainstDefaultRules': _, ...FLAGS } = (
  JSON.parse(readFileSync('cdk.json', 'utf8')) as { context: Record<string, unknown> }
).context;

/** @param outdir of its synthesis */
function emptyApp(outdir: string): App {
  return new App({ outdir, context: { ...FLAGS, 'aws:cdk:bundling-stacks': [] }, analyticsReporting: false });
}

/** A backbone in a stack, for one test: for what is refused. */
export function someBackbone(props: EventBackboneProps = {}): { stack: Stack; backbone: EventBackbone } {
  const stack = new Stack(emptyApp(temporaryFolder()), 'Mine');
  return { stack, backbone: new EventBackbone(stack, 'Backbone', props) };
}

export function makeFunction(stack: Stack, id: string): LambdaFunction {
  const code = Code.fromInline('exports.handler = async () => {};');
  const role = new Role(stack, `${id}Role`, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
  return new LambdaFunction(stack, id, { runtime: Runtime.NODEJS_24_X, handler: 'index.handler', code, role });
}

/** Of one of its topics. */
export const LIMITS = {
  quota: { recordsPerSecond: 1_000, perCaller: { bytesPerSecond: 50_000 } },
  maxLag: { groups: ['a', 'b'], records: 10_000 },
};

/** Everything that can be asked for, in one app: what costs most is its synthesis. */
export function somebodysApp() {
  const outdir = mkdtempSync(join(tmpdir(), 'vertebra-app-'));
  const app = emptyApp(outdir);
  const mine = new Stack(app, 'Mine');
  const backbone = new EventBackbone(mine, 'Backbone');
  const orders = backbone.addTopic('orders', { partitions: 12, retention: Duration.days(30) });
  backbone.addTopic('audit', { retention: 'forever', ...LIMITS });
  backbone.addTopic('scratch', { removalPolicy: RemovalPolicy.DESTROY });
  const near = makeFunction(mine, 'BackboneNear');
  const { RETAIN } = RemovalPolicy;
  backbone.subscribe('near', near, { topics: [orders, 'elsewhere'], removalPolicy: RETAIN });
  backbone.grantProduce(near, 'orders');
  backbone.grantConsume(near.role!, { topics: 'o*', groups: ['a', 'b'] });
  backbone.grant('role:111122223333:Ops', { topics: '*', groups: '*', targets: '*', allow: ['admin'] });
  backbone.grantProduce(new ArnPrincipal('arn:aws:iam::111122223333:role/Shop'), orders);

  const second = new EventBackbone(mine, 'BackboneTwo');
  second.addTopic('orders').subscribe('near', near);

  const ship = new Stack(app, 'Ship');
  const filter = { value: { total: [{ numeric: ['>', 10] }] } };
  orders.subscribe('shipping', makeFunction(ship, 'Ship'), { filter, batch: { maxRecords: 10 } });

  const shop = new Stack(app, 'Shop');
  backbone.grantProduce(makeFunction(shop, 'Shop'), [orders, 'invoices-*']);
  const setup = new Stack(app, 'Setup');
  backbone.grantSubscribe(makeFunction(setup, 'Setup'), {
    ...{ topics: 'orders', subscriptions: 'ship-*', targets: 'sqs:*' },
  });
  const ops = new Stack(app, 'Ops');
  backbone.grantAdmin(new User(ops, 'All'));
  const team = new Stack(app, 'Team');
  backbone.grantAdmin(new User(team, 'Some'), { topics: 'team-*' });

  const special = new Stack(app, 'Special');
  const concurrency = { produce: 20, fetch: 10, groups: 30, slow: 5, deliver: 4 };
  new EventBackbone(special, 'Capped', { concurrency, spillAboveBytes: 8_192 });
  const encryptionKey = new Key(special, 'Key', { enableKeyRotation: true });
  const locked = new EventBackbone(special, 'Locked', {
    encryptionKey,
    functionUrl: true,
    corsOrigins: ['https://a.example'],
  });

  const caller = new Stack(app, 'Caller');
  locked.grantProduce(makeFunction(caller, 'Caller'), 'orders');

  const keys = new BackboneStack(app, 'Keys', { auth: 'apiKey', functionUrl: true });
  const tokens = new Stack(app, 'Tokens');
  const jwt = { issuer: 'https://login.example', audience: ['web'] };
  const taking = new EventBackbone(tokens, 'Backbone', { auth: 'jwt', jwt });
  taking.grant('sub:alice', { topics: 'orders', allow: ['produce'] });

  const stacks = { mine, ship, shop, setup, ops, team, special, caller, keys, tokens };
  const templates = Object.fromEntries(
    Object.entries(stacks).map(([name, stack]) => [name, Template.fromStack(stack)]),
  ) as Record<keyof typeof stacks, Template>;
  rmSync(outdir, { recursive: true });
  return { stacks, templates };
}
