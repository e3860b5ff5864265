import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { App, CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import { ArnPrincipal, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Architecture, Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { bundleConsumer } from '../scenarios/bundle-consumer.ts';

/*
 * A stack of somebody else, beside the backbone's: a function that records are pushed to, and one that has no rights.
 *
 *   stackName  its name
 *   folder     where its package is made
 *   endpoint   where the API is reached
 *   apiId      the API's id
 *   pushRole   ARN of the role by which the backbone pushes
 */
const app = new App();
const context = (name: string): string => {
  const value: unknown = app.node.tryGetContext(name);
  if (typeof value !== 'string') throw new Error(`the context has no '${name}'`);
  return value;
};

const folder = join(context('folder'), 'consumer');
mkdirSync(folder, { recursive: true });
await bundleConsumer(join(folder, 'index.js'));

const stack = new Stack(app, context('stackName'));
const common = {
  code: Code.fromAsset(folder),
  runtime: Runtime.NODEJS_24_X,
  architecture: Architecture.ARM_64,
  memorySize: 256,
  timeout: Duration.seconds(30),
  environment: { VERTEBRA_ENDPOINT: context('endpoint') },
};

const consumer = new LambdaFunction(stack, 'Consumer', { ...common, handler: 'index.handler' });
const resources = [stack.formatArn({ service: 'execute-api', resource: context('apiId'), resourceName: '*' })];
consumer.addToRolePolicy(new PolicyStatement({ actions: ['execute-api:Invoke'], resources }));
const principal = new ArnPrincipal(context('pushRole'));
consumer.addPermission('Push', { principal });
consumer.addPermission('Look', { principal, action: 'lambda:GetFunctionConfiguration' });
new CfnOutput(stack, 'ConsumerArn', { value: consumer.functionArn });

const stranger = new LambdaFunction(stack, 'Stranger', { ...common, handler: 'index.stranger' });
new CfnOutput(stack, 'StrangerArn', { value: stranger.functionArn });
