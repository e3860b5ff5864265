import { join } from 'node:path';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exampleIn } from '../package/examples.ts';
import { installedProject, type Project, packedPackage, type Tarball } from '../package/project.ts';
import { Cdk } from './cdk.ts';
import { readDeployment } from './deployed.ts';

const { folder } = readDeployment();
const lambda = new LambdaClient({});
let tarball: Tarball;
let project: Project;
let cdk: Cdk;
let assembly: string;
let outputs: Readonly<Record<string, string>>;

/** What the example of `docs/constructs.md` has beside what stands there: a way back for what was pushed. */
const MORE = `
import { CfnOutput } from 'aws-cdk-lib';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';

const shipped = backbone.addTopic('shipped', { partitions: 1 });
backbone.grantProduce(shipping, shipped);
backbone.grantConsume(shop, { topics: shipped, groups: 'audit' });
for (const [name, fn] of Object.entries({ shop, shipping })) {
  new CfnOutput(stack, name, { value: fn.functionArn });
  (fn.node.defaultChild as CfnFunction).timeout = 30; // starts on a busy machine
}
`;

/** Orders what it is told to, and tells what was shipped, or why it may not look. */
const SHOP = `
import { Vertebra } from 'vertebra';

const backbone = new Vertebra();

export async function handler({ orders, look, reset }) {
  try {
    if (orders) return await order(orders);
    if (look) return await all(look);
    await backbone.admin().resetOffsets({ groupId: 'audit', topic: reset, to: 'earliest' });
    return [];
  } catch (error) {
    return { status: error.status, message: error.message };
  }
}

async function order(orders) {
  const producer = backbone.producer();
  await producer.send({ topic: 'orders', messages: orders.map((value) => ({ key: value.id, value })) });
  await producer.close();
  return [];
}

async function all(topic) {
  const values = [];
  for await (const { value } of backbone.reader({ topic, partition: 0 })) values.push(value);
  return values;
}
`;

/** Ships what is pushed to it. */
const SHIPPING = `
import { Vertebra } from 'vertebra';

const producer = new Vertebra().producer({ lingerMs: 0 });

export async function handler({ records }) {
  for (const { value } of Object.values(records).flat()) {
    const { id } = JSON.parse(Buffer.from(value, 'base64').toString());
    await producer.send({ topic: 'shipped', messages: [{ value: id }] });
  }
}
`;

beforeAll(async () => {
  tarball = await packedPackage();
  project = await installedProject(tarball, ['aws-cdk-lib', 'constructs']);
});
afterAll(() => {
  lambda.destroy();
  project?.remove();
  tarball?.remove();
});

/** A function's package, from what is installed in the project. */
async function bundle(name: string, source: string): Promise<void> {
  project.write(`${name}.mjs`, source);
  await build({
    absWorkingDir: project.folder,
    entryPoints: [`${name}.mjs`],
    outfile: join(name, 'index.mjs'),
    ...{ bundle: true, platform: 'node', format: 'esm', target: 'node20', logLevel: 'error' },
    banner: { js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);" },
  });
}

async function invoke<T>(functionArn: string, event: object): Promise<T> {
  const command = new InvokeCommand({ FunctionName: functionArn, Payload: JSON.stringify(event) });
  const { FunctionError, Payload } = await lambda.send(command);
  const text = Payload!.transformToString();
  if (FunctionError !== undefined) throw new Error(text);
  return JSON.parse(text) as T;
}

/** Each goes on where the one before ended. */
describe.sequential('an app of somebody else, with the packed package', { retry: 0 }, () => {
  it('is deployed, with its topics, subscriptions and rights', async () => {
    await bundle('shop', SHOP);
    await bundle('shipping', SHIPPING);
    project.write('app.ts', exampleIn('docs/constructs.md', 'app') + MORE);
    await build({
      ...{ absWorkingDir: project.folder, entryPoints: ['app.ts'], outfile: 'app.mjs' },
      ...{ bundle: true, platform: 'node', format: 'esm', packages: 'external', logLevel: 'error' },
    });
    cdk = new Cdk(folder, process.env, project.folder);
    assembly = await cdk.synthesise({}, 'node app.mjs');
    ({ outputs } = await cdk.deploy(assembly, 'Shop'));
    expect(Object.keys(outputs)).toEqual(expect.arrayContaining(['shop', 'shipping']));
  });

  it('has functions that produce, are pushed to, and read, without being told where', async () => {
    const orders = ['o-1', 'o-2', 'o-3'].map((id, i) => ({ id, type: i === 1 ? 'OrderCancelled' : 'OrderPlaced' }));
    expect(await invoke(outputs.shop!, { orders })).toEqual([]);
    const shipped = async () => (await invoke<string[]>(outputs.shop!, { look: 'shipped' })).sort();
    await expect.poll(shipped, { timeout: 60_000, interval: 500 }).toEqual(['o-1', 'o-3']);
  });

  it('has functions that may do what they were granted, and nothing else', async () => {
    // Where a path names it, the gateway refuses; where a body does, the function behind it.
    expect(await invoke(outputs.shop!, { look: 'orders' })).toMatchObject({ status: 403 });
    const refused = await invoke<{ message: string }>(outputs.shop!, { reset: 'orders' });
    expect(refused).toMatchObject({ status: 403, message: expect.stringMatching(/consume.*'orders'/) });
    expect(await invoke(outputs.shop!, { reset: 'shipped' })).not.toMatchObject({ status: 403 });
  });

  it('is destroyed with all that it had the backbone make', async () => {
    await cdk.destroy(assembly, 'Shop');
    await expect(invoke(outputs.shop!, { look: 'shipped' })).rejects.toMatchObject({
      name: 'ResourceNotFoundException',
    });
  });
});
