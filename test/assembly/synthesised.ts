import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, Duration, Stack } from 'aws-cdk-lib';
import { ArnPrincipal, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { BackboneStack } from '../../infra/backbone-stack.ts';
import type { EventBackboneProps } from '../../infra/constructs/backbone-props.ts';
import type { EventBackbone } from '../../infra/constructs/event-backbone.ts';
import { bundleConsumer } from '../scenarios/bundle-consumer.ts';

/** Name of the consumer's stack, and of the output that tells its ARN. */
export const SHOP = { stack: 'Shop', consumerArn: 'ConsumerArn' } as const;

/**
 * Writes the assembly of the backbone, and of a stack beside it with the function that scenarios subscribe, as an app of
 * somebody's would declare them.
 *
 * @param folder to write it to
 * @param grant gives rights
 * @returns the folder of the assembly
 */
export async function synthesiseAssembly(
  folder: string,
  props: EventBackboneProps = {},
  grant: (backbone: EventBackbone) => void = () => {},
): Promise<string> {
  const code = join(folder, 'consumer');
  mkdirSync(code, { recursive: true });
  await bundleConsumer(join(code, 'consumer.cjs'));
  const outdir = join(folder, 'cdk.out');
  const { context } = JSON.parse(readFileSync('cdk.json', 'utf8')) as { context: Record<string, unknown> };
  const app = new App({ outdir, context, analyticsReporting: false });
  const backbone = new BackboneStack(app, 'Vertebra', props).node.findChild('Backbone') as EventBackbone;
  backbone.addTopic('catalogue', { partitions: 1 });
  grant(backbone);
  const shop = new Stack(app, SHOP.stack);
  const consumer = new LambdaFunction(shop, 'Consumer', {
    ...{ code: Code.fromAsset(code), handler: 'consumer.handler', runtime: Runtime.NODEJS_22_X, memorySize: 256 },
    timeout: Duration.seconds(30),
    environment: { VERTEBRA_ENDPOINT: backbone.url },
  });
  consumer.addToRolePolicy(new PolicyStatement({ actions: ['execute-api:Invoke'], resources: ['*'] }));
  const principal = new ArnPrincipal(backbone.pushRole.roleArn);
  consumer.addPermission('Push', { principal });
  consumer.addPermission('Look', { principal, action: 'lambda:GetFunctionConfiguration' });
  shop.exportValue(consumer.functionArn, { name: SHOP.consumerArn });
  return app.synth().directory;
}
