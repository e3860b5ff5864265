import { fileURLToPath } from 'node:url';
import { CfnOutput, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { FunctionUrlAuthType, Runtime } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import { AwsCustomResource, AwsCustomResourcePolicy, PhysicalResourceId } from 'aws-cdk-lib/custom-resources';
import type { Construct } from 'constructs';
import { EventBackbone } from '../../../infra/index.ts';
import { PRICES_CENTS } from '../shop/checkout.ts';
import { TOPIC } from '../shop/events.ts';
import { number, text } from '../shop/items.ts';
import { type ServiceName, settingsOf } from '../shop/subscriptions.ts';

export interface OrdersStackProps {
  /** Whether the shop has a loyalty programme already. */
  readonly withLoyalty: boolean;
}

/** Pieces of each article when the shop opens. */
const STOCK = 1_000;

/** The shop as it is deployed: a table, a function for each service, and a backbone between them. */
export class OrdersStack extends Stack {
  readonly #table: Table;

  constructor(scope: Construct, id: string, { withLoyalty }: OrdersStackProps) {
    super(scope, id, { description: 'Vertebra: an order system, as an example' });
    const backbone = new EventBackbone(this, 'Backbone', { retainData: false });
    const orders = backbone.addTopic(TOPIC, { retention: 'forever', removalPolicy: RemovalPolicy.DESTROY });
    this.#table = new Table(this, 'Shop', {
      partitionKey: { name: 'id', type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.#stockUp();

    const checkout = this.#function('checkout');
    backbone.grantOutbox(checkout, orders);
    const { url } = checkout.addFunctionUrl({ authType: FunctionUrlAuthType.AWS_IAM });
    new CfnOutput(this, 'ShopUrl', { value: url, description: 'PUT and GET orders/{orderId}, signed' });

    const services: ServiceName[] = ['inventory', 'payment', 'shipping', ...(withLoyalty ? ['loyalty' as const] : [])];
    for (const service of services) {
      const fn = this.#function(service);
      backbone.grantProcessOnce(fn, service);
      // Loyalty tells nobody anything.
      if (service !== 'loyalty') backbone.grantOutbox(fn, orders);
      orders.subscribe(service, fn, settingsOf(service));
    }
  }

  #function(service: ServiceName | 'checkout'): NodejsFunction {
    const fn = new NodejsFunction(this, service, {
      entry: pathOf(`../functions/${service}.ts`),
      projectRoot: pathOf('../../..'),
      depsLockFilePath: pathOf('../../../package-lock.json'),
      runtime: Runtime.NODEJS_24_X,
      memorySize: 512,
      timeout: Duration.seconds(30),
      environment: { ORDERS_TABLE: this.#table.tableName },
      // The whole of it, as it was tested.
      bundling: { format: OutputFormat.ESM, mainFields: ['module', 'main'], minify: true, bundleAwsSDK: true },
    });
    this.#table.grantReadWriteData(fn);
    return fn;
  }

  /** What is on the shelves before the first order; nobody fills them up again. */
  #stockUp(): void {
    const puts = Object.keys(PRICES_CENTS).map((sku) => ({
      PutRequest: {
        Item: { id: text(`stock#${sku}`), available: number(STOCK), reserved: number(0), sold: number(0) },
      },
    }));
    const stock = new AwsCustomResource(this, 'Stock', {
      onCreate: {
        ...{ service: 'DynamoDB', action: 'batchWriteItem' },
        parameters: { RequestItems: { [this.#table.tableName]: puts } },
        physicalResourceId: PhysicalResourceId.of('stock'),
      },
      policy: AwsCustomResourcePolicy.fromStatements([
        new PolicyStatement({ actions: ['dynamodb:BatchWriteItem'], resources: [this.#table.tableArn] }),
      ]),
      installLatestAwsSdk: false,
    });
    stock.node.addDependency(this.#table);
  }
}

const pathOf = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
