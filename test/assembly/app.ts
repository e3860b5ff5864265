import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { App, Duration, Stack } from 'aws-cdk-lib';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { EventBackbone } from '../../infra/index.ts';
import { bundleConsumer } from '../scenarios/bundle-consumer.ts';

/** Who runs an assembly, as grants name callers. */
export const RUNNER = 'user:000000000000:test';

/**
 * Writes the assembly of an app as somebody else's would be: a backbone, its topics, a function that is subscribed and may
 * produce what it makes of that, one that may produce something else, and rights for whoever runs it.
 *
 * @returns the folder of the assembly
 */
export async function synthesiseApp(folder: string): Promise<string> {
  const code = join(folder, 'consumer');
  mkdirSync(code, { recursive: true });
  await bundleConsumer(join(code, 'consumer.cjs'));
  const app = new App({ outdir: join(folder, 'cdk.out'), analyticsReporting: false });
  const stack = new Stack(app, 'Shop');
  const backbone = new EventBackbone(stack, 'Events', { retainData: false });
  const consumer = (id: string) =>
    new LambdaFunction(stack, id, {
      ...{ code: Code.fromAsset(code), handler: 'consumer.handler', runtime: Runtime.NODEJS_22_X, memorySize: 256 },
      timeout: Duration.seconds(30),
    });
  const shipping = consumer('Shipping');
  const orders = backbone.addTopic('orders', { partitions: 2 });
  backbone.addTopic('shipping-received', { partitions: 1 });
  orders.subscribe('shipping', shipping, { from: 'earliest' });
  backbone.grantProduce(shipping, 'shipping-received');
  backbone.grantProduce(consumer('Billing'), 'shipping-received-not');
  backbone.grant(RUNNER, { topics: 'orders', allow: ['produce'] }, { topics: 'shipping-*', allow: ['consume'] });
  return app.synth().directory;
}
