import { App } from 'aws-cdk-lib';
import { BackboneStack } from './backbone-stack.ts';
import { readSettings } from './settings.ts';

const app = new App();
const { stackName, ...settings } = readSettings((name) => app.node.tryGetContext(name));
new BackboneStack(app, stackName, settings);
