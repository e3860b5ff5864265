import { describe, expect, it } from 'vitest';
import type { EventBackboneProps } from '../../infra/constructs/backbone-props.ts';
import { functionName, resourcesOf, synthesise } from '../support/synthesise.ts';

const reservedBy = (props: EventBackboneProps) =>
  Object.fromEntries(
    Object.entries(resourcesOf(synthesise(props).template, 'AWS::Lambda::Function'))
      .map(([id, { Properties }]) => [id.replace(/^Backbone|.{8}$/g, ''), Properties.ReservedConcurrentExecutions])
      .filter(([, count]) => count !== undefined),
  );

it('keeps concurrency free for what must not be starved, where that is asked for', () => {
  expect(reservedBy({ concurrency: { produce: 20, fetch: 10, groups: 30, slow: 5 } })).toEqual({
    ...{ Produce: 20, Fetch: 10, Groups: 30, DeliverAside: 5 },
  });
});

it('caps deliveries without reserving anything for them', () => {
  const { template } = synthesise({ concurrency: { deliver: 4 } });
  template.hasResourceProperties('AWS::Lambda::EventSourceMapping', { ScalingConfig: { MaximumConcurrency: 4 } });
  expect(reservedBy({ concurrency: { deliver: 4 } })).toEqual({});
});

it('tells producers alone from which size on a batch goes to the bucket', () => {
  const functions = Object.values(
    resourcesOf(synthesise({ spillAboveBytes: 8_192 }).template, 'AWS::Lambda::Function'),
  );
  const told = functions.filter(({ Properties }) =>
    JSON.stringify(Properties.Environment).includes('"VERTEBRA_SPILL_ABOVE_BYTES":"8192"'),
  );
  expect(told.map(functionName)).toEqual(['produce']);
});

describe('callers', () => {
  const routesOf = (props: EventBackboneProps) =>
    Object.values(resourcesOf(synthesise(props).template, 'AWS::ApiGatewayV2::Route')).map(({ Properties }) => [
      String(Properties.RouteKey),
      String(Properties.AuthorizationType),
    ]);
  const jwt = { issuer: 'https://login.example', audience: ['web'] };

  it('with API keys are let through to the functions, but for those who hand out keys', () => {
    const routes = routesOf({ auth: 'apiKey' });
    const signed = routes.filter(([, type]) => type !== 'NONE');
    expect(signed.sort()).toEqual([
      ['DELETE /v1/api-keys/{id}', 'AWS_IAM'],
      ['GET /v1/api-keys', 'AWS_IAM'],
      ['POST /v1/api-keys', 'AWS_IAM'],
    ]);
  });

  it('with tokens are asked for them by the gateway, but for what is open to all', () => {
    const { template } = synthesise({ auth: 'jwt', jwt });
    template.hasResourceProperties('AWS::ApiGatewayV2::Authorizer', {
      AuthorizerType: 'JWT',
      JwtConfiguration: { Issuer: jwt.issuer, Audience: jwt.audience },
    });
    const routes = routesOf({ auth: 'jwt', jwt });
    const open = routes.filter(([, type]) => type === 'NONE').map(([key]) => key);
    expect(open.sort()).toEqual(['GET /v1/health', 'GET /v1/openapi.json']);
    expect(routes).toContainEqual(['POST /v1/topics/{topic}/records', 'JWT']);
    expect(routes).toContainEqual(['$default', 'JWT']);
  });

  it.each(['apiKey', 'jwt'] as const)('known by %s are asked for their rights', (auth) => {
    const { template } = synthesise({ auth, ...(auth === 'jwt' && { jwt }) });
    const functions = Object.values(resourcesOf(template, 'AWS::Lambda::Function'));
    const asking = functions.filter(({ Properties }) =>
      JSON.stringify(Properties.Environment).includes(`"VERTEBRA_AUTH":"${auth}","VERTEBRA_GRANTS":"stored"`),
    );
    expect(asking.map(functionName).sort()).toEqual(['fetch', 'groups', 'produce', 'subscriptions', 'topics']);
  });

  it('that show something get commands that show it, and with API keys one that makes the first', () => {
    const { template } = synthesise({ auth: 'apiKey' });
    const outputs = template.findOutputs('*');
    expect(JSON.stringify(outputs.Step1CreateTopic)).toContain('Authorization: Bearer $VERTEBRA_TOKEN');
    expect(JSON.stringify(outputs.Step0CreateKey)).toMatch(/--aws-sigv4.*\/v1\/api-keys/);
  });
});

it.each<[EventBackboneProps, string | RegExp]>([
  [{ auth: 'jwt' }, "With auth 'jwt' the backbone needs 'jwt': issuer and audience."],
  [{ jwt: { issuer: 'https://a', audience: ['b'] } }, "'jwt' says nothing where auth is 'iam'; it must be 'jwt'."],
  [
    { auth: 'jwt', jwt: { issuer: 'http://a', audience: ['b'] } },
    "'jwt.issuer' must be an https URL; it is 'http://a'.",
  ],
  [{ auth: 'jwt', jwt: { issuer: 'https://a', audience: [] } }, "'jwt.audience' must name somebody."],
  [{ spillAboveBytes: 0 }, /^'spillAboveBytes' must be a whole number from 1 to \d+; it is 0\.$/],
  [{ concurrency: { deliver: 1 } }, "'concurrency.deliver' must be a whole number from 2 to 1000; it is 1."],
  [{ concurrency: { produce: 0 } }, "'concurrency.produce' must be a whole number of at least 1; it is 0."],
])('refuses %j with a sentence', (props, sentence) => {
  expect(() => synthesise(props)).toThrow(sentence);
});
