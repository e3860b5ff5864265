import { readFileSync } from 'node:fs';
import { Stack } from 'aws-cdk-lib';
import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { OWN_KEYS } from '../../infra/constructs/transactions.ts';
import { EventBackbone } from '../../infra/index.ts';
import { makeFunction, someBackbone } from '../support/somebodys-app.ts';
import { synthesised } from '../support/synthesise.ts';

interface Statement {
  readonly Action: string | string[];
}

describe('transactions of a function of the app', () => {
  const { template } = synthesised((app) => {
    const stack = new Stack(app, 'Mine');
    const backbone = new EventBackbone(stack, 'Backbone');
    const fn = makeFunction(stack, 'Checkout');
    backbone.grantOutbox(fn, backbone.addTopic('orders'));
    backbone.grantProcessOnce(fn, 'payment');
    return stack;
  });

  it('may put slots of that topic, and items of that group, and nothing else', () => {
    const policies = Object.values(template.findResources('AWS::IAM::Policy')).filter(({ Properties }) =>
      JSON.stringify(Properties.Roles).includes('CheckoutRole'),
    );
    const statements = policies.flatMap(({ Properties }) => Properties.PolicyDocument.Statement as Statement[]);
    const onTables = statements.filter(({ Action }) => JSON.stringify(Action).includes('dynamodb:'));
    const leading = (pattern: unknown) => ({ 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [pattern] } });
    const topicId = { 'Fn::GetAtt': [expect.stringContaining('Topicorders'), 'TopicId'] };
    expect(onTables).toEqual([
      {
        Action: 'dynamodb:PutItem',
        Condition: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [{ 'Fn::Join': ['', [topicId, '.*']] }] } },
        Effect: 'Allow',
        Resource: { 'Fn::GetAtt': [expect.stringContaining('Log'), 'Arn'] },
      },
      {
        Action: ['ConditionCheckItem', 'GetItem', 'PutItem', 'UpdateItem'].map((verb) => `dynamodb:${verb}`),
        Condition: leading('payment#*'),
        Effect: 'Allow',
        Resource: { 'Fn::GetAtt': [expect.stringContaining('State'), 'Arn'] },
      },
    ]);
  });

  it('finds the tables and the API in its environment', () => {
    template.hasResourceProperties('AWS::Lambda::Function', {
      Environment: {
        Variables: Match.objectLike({
          VERTEBRA_LOG_TABLE: Match.anyValue(),
          VERTEBRA_STATE_TABLE: Match.anyValue(),
          VERTEBRA_URL: Match.anyValue(),
        }),
      },
    });
  });

  it("has no group whose items would begin as the backbone's own", () => {
    const { stack, backbone } = someBackbone();
    const fn = makeFunction(stack, 'Checkout');
    for (const name of OWN_KEYS) {
      expect(() => backbone.grantProcessOnce(fn, name)).toThrow(`A group named '${name}' cannot process once`);
    }
    expect(() => backbone.grantProcessOnce(fn, 'a b')).toThrow("'a b' cannot name a group");
    const tables = ['keys', 'push-keys', 'once-keys', 'access-keys', 'quota-keys'].map((file) =>
      readFileSync(new URL(`../../shared/store/${file}.ts`, import.meta.url), 'utf8'),
    );
    const begun = tables.flatMap((text) => [...text.matchAll(/pk=([a-z-]+)#/g)].map(([, name]) => name!));
    expect([...new Set(begun)].sort()).toEqual([...OWN_KEYS].sort());
  });
});
