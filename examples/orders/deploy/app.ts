import { App } from 'aws-cdk-lib';
import { OrdersStack } from './orders-stack.ts';

const app = new App();
new OrdersStack(app, 'Orders', { withLoyalty: app.node.tryGetContext('loyalty') !== undefined });
