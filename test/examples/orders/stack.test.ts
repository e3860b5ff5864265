import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { afterAll, describe, expect, it } from 'vitest';
import { OrdersStack } from '../../../examples/orders/deploy/orders-stack.ts';

const outdir = mkdtempSync(join(tmpdir(), 'vertebra-orders-'));
afterAll(() => rmSync(outdir, { recursive: true }));

const LEADING = 'ForAllValues:StringLike';

/** The environment of the shop's functions, by the service. */
function shopIn(template: Template): Record<string, Record<string, unknown>> {
  const functions = Object.entries(template.findResources('AWS::Lambda::Function'));
  return Object.fromEntries(
    functions.flatMap(([id, { Properties }]) => {
      const variables = Properties.Environment?.Variables as Record<string, unknown> | undefined;
      const service = /^(checkout|inventory|payment|shipping|loyalty)/.exec(id)?.[0];
      return service !== undefined && variables?.ORDERS_TABLE ? [[service, variables]] : [];
    }),
  );
}

describe('the order system as it is deployed', () => {
  const { context } = JSON.parse(readFileSync('cdk.json', 'utf8')) as { context: Record<string, unknown> };
  const app = new App({ outdir, context: { ...context, 'aws:cdk:bundling-stacks': [] }, analyticsReporting: false });
  const template = Template.fromStack(new OrdersStack(app, 'Orders', { withLoyalty: true }));

  it('has a function for each service, which finds what it needs', () => {
    const shop = shopIn(template);
    expect(Object.keys(shop).sort()).toEqual(['checkout', 'inventory', 'loyalty', 'payment', 'shipping']);
    const telling = ['ORDERS_TABLE', 'VERTEBRA_LOG_TABLE', 'VERTEBRA_URL'];
    expect(Object.keys(shop.checkout!)).toEqual(expect.arrayContaining(telling));
    expect(Object.keys(shop.inventory!)).toEqual(expect.arrayContaining([...telling, 'VERTEBRA_STATE_TABLE']));
    expect(shop.loyalty).not.toHaveProperty('VERTEBRA_URL');
  });

  it('lets each of them leave marks for its own group alone', () => {
    const policies = JSON.stringify(template.findResources('AWS::IAM::Policy'));
    for (const service of ['inventory', 'payment', 'shipping', 'loyalty']) {
      expect(policies).toContain(JSON.stringify({ [LEADING]: { 'dynamodb:LeadingKeys': [`${service}#*`] } }));
    }
    expect(policies).not.toContain('"checkout#*"');
  });

  it('opens its door to those who sign alone', () => {
    const urls = Object.values(template.findResources('AWS::Lambda::Url'));
    expect(urls.map(({ Properties }) => Properties.AuthType)).toEqual(['AWS_IAM']);
  });
});
