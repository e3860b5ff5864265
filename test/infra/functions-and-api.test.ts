import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import {
  API_FUNCTION_TIMEOUT_MS,
  BACKGROUND_FUNCTION_TIMEOUT_MS,
  GATEWAY_TIMEOUT_MS,
} from '../../shared/domain/limits.ts';
import { allowOrigin, preflightAnswer } from '../../shared/wire/cross-origin.ts';
import { DEFAULT_ROUTE, ROUTES } from '../../shared/wire/routes.ts';
import { VERSION } from '../../shared/wire/version.ts';
import { allowedActions, functionName, type Resource, resourcesOf, synthesise } from '../support/synthesise.ts';

const { template } = synthesise();
const lower = (text: string) => text.toLowerCase();
const API_FUNCTIONS = ['produce', 'fetch', 'topics', 'groups', 'subscriptions'];
const BACKGROUND_FUNCTIONS = ['dispatch', 'sweep'];
/** Two of them, and what looks at their targets: they share a role. */
const PUSH_FUNCTIONS = ['deliver', 'deliver', 'check'];

/** As policies write what any 26 characters match. */
const ULID = '?'.repeat(26);

describe('functions', () => {
  const all = Object.values(resourcesOf(template, 'AWS::Lambda::Function'));
  const functions = all.filter((fn) => API_FUNCTIONS.includes(functionName(fn)));

  it('are one per concern, alike in all but name and rights', () => {
    expect(all.map((fn) => functionName(fn)).sort()).toEqual(
      [...API_FUNCTIONS, ...BACKGROUND_FUNCTIONS, ...PUSH_FUNCTIONS].sort(),
    );
    for (const fn of all) {
      expect(fn.Properties).toMatchObject({
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        Handler: 'index.handler',
        ...(BACKGROUND_FUNCTIONS.includes(functionName(fn))
          ? { MemorySize: 256, Timeout: BACKGROUND_FUNCTION_TIMEOUT_MS / 1_000 }
          : { MemorySize: 1024 }),
      });
      expect(fn.Properties.TracingConfig).toBeUndefined();
    }
  });

  it('give up before the gateway does, so that their answer is heard', () => {
    for (const { Properties } of functions) {
      expect(Properties.Timeout).toBe(API_FUNCTION_TIMEOUT_MS / 1_000);
      expect(Number(Properties.Timeout) * 1_000).toBeLessThan(GATEWAY_TIMEOUT_MS);
    }
  });

  it('know their tables and how to log, and nothing else', () => {
    const known = Object.fromEntries(
      Object.entries(resourcesOf(template, 'AWS::Lambda::Function')).map(([id, fn]) => [
        functionName(fn) + (id.includes('Aside') ? ' aside' : ''),
        (fn.Properties.Environment as { Variables: object }).Variables,
      ]),
    );
    const tables = { VERTEBRA_LOG_TABLE: { Ref: idOf('Log') }, VERTEBRA_STATE_TABLE: { Ref: idOf('State') } };
    const bucket = { VERTEBRA_BUCKET: { Ref: idOf('Bucket') } };
    const wake = { VERTEBRA_WAKE_QUEUE_URL: { Ref: expect.stringContaining('DeliveryWake') } };
    const letters = { VERTEBRA_DEAD_LETTER_QUEUE_URL: { Ref: expect.stringContaining('DeliveryDeadLetters') } };
    const auth = { VERTEBRA_AUTH: 'iam' };
    const hosts = { VERTEBRA_OWN_HOSTS: expect.anything() };
    const mapping = (name: string) => ({ Ref: expect.stringContaining(`Delivery${name}`) });
    const mappings = {
      VERTEBRA_DELIVERY_MAPPINGS: { 'Fn::Join': ['', [mapping('Inserts'), ',', mapping('WakeUps')]] },
    };
    const common = (name: string, more: object) => ({
      ...{
        POWERTOOLS_SERVICE_NAME: name,
        POWERTOOLS_LOG_LEVEL: 'INFO',
        POWERTOOLS_METRICS_NAMESPACE: 'Vertebra/Backbone',
      },
      VERTEBRA_VERSION: VERSION,
      ...more,
    });
    expect(known).toEqual({
      produce: common('produce', { ...auth, ...tables, ...bucket, ...wake }),
      fetch: common('fetch', { ...auth, ...tables, ...bucket }),
      topics: common('topics', { ...auth, ...tables }),
      groups: common('groups', { ...auth, ...tables, ...bucket, ...letters, ...wake }),
      subscriptions: common('subscriptions', {
        ...{ ...tables, ...wake, VERTEBRA_CHECK_FUNCTION: { Ref: expect.stringContaining('Check') } },
        ...{ ...auth, ...mappings },
      }),
      dispatch: common('dispatch', { ...tables, ...bucket, ...wake }),
      sweep: common('sweep', { ...tables, ...bucket, ...wake, ...mappings }),
      deliver: common('deliver', {
        ...{ ...tables, ...bucket, ...wake, ...letters, ...hosts },
        VERTEBRA_DELIVER_ASIDE_ARN: { 'Fn::GetAtt': [expect.stringContaining('DeliverAside'), 'Arn'] },
      }),
      'deliver aside': common('deliver', { ...tables, ...bucket, ...wake, ...letters, ...hosts }),
      check: common('check', {
        ...hosts,
        VERTEBRA_OWN_NAMES: expect.any(String),
        VERTEBRA_PUSH_ROLE: { 'Fn::GetAtt': [expect.stringContaining('DeliverRole'), 'Arn'] },
      }),
    });
  });

  it('and queues are known as the backbone’s own by the names that CloudFormation gives them', () => {
    const check = all.find((fn) => functionName(fn) === 'check')!;
    const { VERTEBRA_OWN_NAMES } = (check.Properties.Environment as { Variables: Record<string, string> }).Variables;
    const ids = ['AWS::Lambda::Function', 'AWS::SQS::Queue'].flatMap((type) =>
      Object.keys(resourcesOf(template, type)),
    );
    expect(VERTEBRA_OWN_NAMES!.split(',').sort()).toEqual(ids.map((id) => `Vertebra-${id}-`).sort());
  });

  it('log at the level that was asked for', () => {
    synthesise({ logLevel: 'DEBUG' }).template.hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: Match.objectLike({ POWERTOOLS_LOG_LEVEL: 'DEBUG' }) },
    });
  });

  it('write to logs that are kept for a month', () => {
    const groups = Object.values(resourcesOf(template, 'AWS::Logs::LogGroup'));
    expect(groups).toHaveLength(all.length + 1);
    for (const group of groups) expect(group.Properties.RetentionInDays).toBe(30);
  });

  it('may do exactly this', () => {
    const ownLog = ['logs:CreateLogStream', 'logs:PutLogEvents'];
    // What they push to is not among it: a target lets their role in by a policy of its own.
    const pushing = {
      Log: ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:Query'],
      State: ['ConditionCheckItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem'].map((verb) => `dynamodb:${verb}`),
      'State uploads#*': ['dynamodb:DeleteItem'],
      'State *#dead-letters,*#redrives': ['dynamodb:DeleteItem'],
      [`State *#lanes#*,pending,*#${ULID}#${ULID}.*`]: ['dynamodb:DeleteItem'],
      Bucket: ['s3:ListBucket'],
      'Bucket objects': ['s3:DeleteObject', 's3:GetObject'],
      'Bucket dead-letters': ['s3:PutObject'],
      DeliveryWake: [
        'ChangeMessageVisibility',
        'DeleteMessage',
        'GetQueueAttributes',
        'ReceiveMessage',
        'SendMessage',
      ].map((verb) => `sqs:${verb}`),
      DeliveryDeadLetters: ['sqs:SendMessage'],
      DeliverAside: ['lambda:InvokeFunction'],
      ...{ DeliverLogs: ownLog, DeliverAsideLogs: ownLog, CheckLogs: ownLog },
    };
    expect(allowedActions(template)).toEqual({
      produce: {
        Log: ['dynamodb:GetItem', 'dynamodb:PutItem'],
        State: ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem'],
        Bucket: ['s3:ListBucket'],
        'Bucket objects': ['s3:GetObject', 's3:PutObject'],
        DeliveryWake: ['sqs:SendMessage'],
        ProduceLogs: ownLog,
      },
      fetch: {
        Log: ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:Query'],
        State: ['dynamodb:GetItem', 'dynamodb:UpdateItem'],
        Bucket: ['s3:ListBucket'],
        'Bucket objects': ['s3:GetObject'],
        FetchLogs: ownLog,
      },
      topics: {
        Log: ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:Query'],
        State: ['DeleteItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem'].map((verb) => `dynamodb:${verb}`),
        TopicsLogs: ownLog,
      },
      groups: {
        Log: ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:Query'],
        State: ['ConditionCheckItem', 'DeleteItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem'].map(
          (verb) => `dynamodb:${verb}`,
        ),
        Bucket: ['s3:ListBucket'],
        'Bucket objects': ['s3:GetObject'],
        'Bucket dead-letters': ['s3:DeleteObject', 's3:PutObject'],
        DeliveryDeadLetters: ['sqs:SendMessage'],
        DeliveryWake: ['sqs:SendMessage'],
        GroupsLogs: ownLog,
      },
      dispatch: {
        Log: ['dynamodb:GetItem', 'dynamodb:PutItem'],
        State: ['dynamodb:GetItem', 'dynamodb:Query'],
        'State uploads#*': ['dynamodb:DeleteItem'],
        'Bucket objects': ['s3:DeleteObject'],
        'Log stream': ['DescribeStream', 'GetRecords', 'GetShardIterator', 'ListStreams'].map(
          (verb) => `dynamodb:${verb}`,
        ),
        DeliveryWake: ['sqs:SendMessage'],
        DeliveryDeadLetters: ['sqs:SendMessage'],
        DispatchLogs: ownLog,
      },
      sweep: {
        Log: ['dynamodb:BatchWriteItem', 'dynamodb:Query'],
        State: ['DeleteItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem'].map((verb) => `dynamodb:${verb}`),
        'Bucket dead-letters': ['s3:DeleteObject'],
        DeliveryWake: ['sqs:GetQueueAttributes', 'sqs:SendMessage'],
        DeliveryInserts: ['lambda:GetEventSourceMapping', 'lambda:UpdateEventSourceMapping'],
        DeliveryWakeUps: ['lambda:GetEventSourceMapping', 'lambda:UpdateEventSourceMapping'],
        SweepLogs: ownLog,
      },
      subscriptions: {
        Log: ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:Query'],
        State: ['ConditionCheckItem', 'DeleteItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem'].map(
          (verb) => `dynamodb:${verb}`,
        ),
        DeliveryWake: ['sqs:SendMessage'],
        DeliveryInserts: ['lambda:GetEventSourceMapping', 'lambda:UpdateEventSourceMapping'],
        DeliveryWakeUps: ['lambda:GetEventSourceMapping', 'lambda:UpdateEventSourceMapping'],
        Check: ['lambda:InvokeFunction'],
        SubscriptionsLogs: ownLog,
      },
      deliver: pushing,
      check: pushing,
    });
  });

  it('are granted no wildcard, by no managed policy', () => {
    const policies = resourcesOf(template, 'AWS::IAM::Policy');
    // The patterns that there are: objects of the backbone's own bucket, and the keys of uploads, of dead letters and of lanes.
    const objects = (pattern: string) =>
      JSON.stringify({ 'Fn::Join': ['', [{ 'Fn::GetAtt': [idOf('Bucket'), 'Arn'] }, pattern]] });
    const uploads = JSON.stringify({ 'dynamodb:LeadingKeys': ['uploads#*'] });
    const letters = JSON.stringify({ 'dynamodb:LeadingKeys': ['*#dead-letters', '*#redrives'] });
    const lanes = JSON.stringify({ 'dynamodb:LeadingKeys': ['*#lanes#*', 'pending', `*#${ULID}#${ULID}.*`] });
    const text = JSON.stringify(policies).replaceAll(objects('/*'), '').replaceAll(objects('/dead-letters/*'), '');
    expect(text.replaceAll(uploads, '').replaceAll(letters, '').replaceAll(lanes, '')).not.toContain('*');
    for (const role of Object.values(resourcesOf(template, 'AWS::IAM::Role'))) {
      expect(Object.keys(role.Properties)).toEqual(['AssumeRolePolicyDocument']);
    }
  });
});

describe('the API', () => {
  const routes = Object.values(resourcesOf(template, 'AWS::ApiGatewayV2::Route'));

  it('has every route that the table names, each served by its function', () => {
    const served = routes.map((route) => [route.Properties.RouteKey, functionBehind(route)]);
    expect(served.sort()).toEqual([...ROUTES, DEFAULT_ROUTE].map((route) => [route.key, route.function]).sort());
  });

  it('asks for a signature on every route', () => {
    for (const route of routes) expect(route.Properties.AuthorizationType).toBe('AWS_IAM');
  });

  it('calls functions with payload version 2.0, and may call them for its own routes only', () => {
    for (const integration of Object.values(resourcesOf(template, 'AWS::ApiGatewayV2::Integration'))) {
      expect(integration.Properties).toMatchObject({ IntegrationType: 'AWS_PROXY', PayloadFormatVersion: '2.0' });
    }
    const [api] = Object.keys(resourcesOf(template, 'AWS::ApiGatewayV2::Api'));
    const permissions = Object.values(resourcesOf(template, 'AWS::Lambda::Permission')).filter(
      ({ Properties }) => Properties.Principal !== 'events.amazonaws.com',
    );
    expect(permissions.length).toBeGreaterThan(0);
    for (const permission of permissions) {
      expect(permission.Properties.Principal).toBe('apigateway.amazonaws.com');
      expect(JSON.stringify(permission.Properties.SourceArn)).toContain(`{"Ref":"${api}"}`);
    }
  });

  it('answers at its root, logs every request without its payload, and sets no throttle of its own', () => {
    const [stage] = Object.values(resourcesOf(template, 'AWS::ApiGatewayV2::Stage'));
    expect(stage!.Properties).toMatchObject({ StageName: '$default', AutoDeploy: true });
    expect(stage!.Properties.DefaultRouteSettings).toBeUndefined();
    const { Format } = stage!.Properties.AccessLogSettings as { Format: string };
    expect(JSON.parse(Format)).toMatchObject({ requestId: '$context.requestId', status: '$context.status' });
  });

  it('knows no CORS by default', () => {
    const [api] = Object.values(resourcesOf(template, 'AWS::ApiGatewayV2::Api'));
    expect(api!.Properties.CorsConfiguration).toBeUndefined();
    const [bucket] = Object.values(resourcesOf(template, 'AWS::S3::Bucket'));
    expect(bucket!.Properties.CorsConfiguration).toBeUndefined();
  });

  describe('with CORS', () => {
    const { template } = synthesise({ corsOrigins: ['https://app.example', 'http://localhost:5173'] });

    const [api] = Object.values(resourcesOf(template, 'AWS::ApiGatewayV2::Api'));
    const cors = api!.Properties.CorsConfiguration as Record<string, unknown>;

    it('allows the given origins, without credentials', () => {
      expect(cors.AllowOrigins).toEqual(['https://app.example', 'http://localhost:5173']);
      expect(cors.AllowCredentials).toBeUndefined();
    });

    it('lets their pages send payloads to the bucket, and get them, as they are signed for', () => {
      const [bucket] = Object.values(resourcesOf(template, 'AWS::S3::Bucket'));
      const { CorsRules } = bucket!.Properties.CorsConfiguration as { CorsRules: object[] };
      expect(CorsRules).toEqual([
        {
          AllowedOrigins: ['https://app.example', 'http://localhost:5173'],
          AllowedMethods: ['GET', 'HEAD', 'PUT'],
          AllowedHeaders: ['content-type', 'range', 'x-amz-checksum-sha256'],
          ExposedHeaders: ['content-range', 'etag', 'x-amz-checksum-sha256'],
          MaxAge: 3_600,
        },
      ]);
    });

    it('tells browsers the same as the functions do where they have no gateway', () => {
      const headers = {
        ...preflightAnswer().headers,
        ...allowOrigin({ status: 200 }, 'https://app.example', ['https://app.example']).headers,
      };
      const listed = (name: string) => headers[name]!.split(', ').sort();
      expect(listed('access-control-allow-methods')).toEqual([...(cors.AllowMethods as string[])].sort());
      expect(listed('access-control-allow-headers').map(lower)).toEqual(cors.AllowHeaders);
      expect(listed('access-control-expose-headers').map(lower)).toEqual([...(cors.ExposeHeaders as string[])].sort());
      expect(headers['access-control-max-age']).toBe(String(cors.MaxAge));
    });

    it('leaves preflights to the gateway: no route takes OPTIONS, and every route still asks for a signature', () => {
      const keys = Object.values(resourcesOf(template, 'AWS::ApiGatewayV2::Route')).map((route) => {
        expect(route.Properties.AuthorizationType).toBe('AWS_IAM');
        return String(route.Properties.RouteKey);
      });
      expect(keys.filter((key) => /^(\$default|ANY|OPTIONS)/.test(key))).toEqual([]);
      expect(keys.filter((key) => key.endsWith('/{proxy+}')).sort()).toEqual(
        ['DELETE', 'GET', 'HEAD', 'PATCH', 'POST', 'PUT'].map((method) => `${method} /{proxy+}`),
      );
    });

    it.each(['*', 'https://app.example/', 'app.example', 'null'])('refuses %s, which is not an origin', (origin) => {
      expect(() => synthesise({ corsOrigins: [origin] })).toThrow(`'${origin}' is not an origin`);
    });
  });
});

/** Name of the function that a route's integration calls. */
function functionBehind(route: Resource): string {
  const [, { Ref }] = (route.Properties.Target as { 'Fn::Join': [string, [string, { Ref: string }]] })['Fn::Join'][1];
  const { IntegrationUri } = resourcesOf(template)[Ref]!.Properties as { IntegrationUri: { 'Fn::GetAtt': [string] } };
  return functionName(resourcesOf(template)[IntegrationUri['Fn::GetAtt'][0]]!);
}

/** Logical id of a table. */
function idOf(name: 'Log' | 'State' | 'Bucket'): string {
  const type = name === 'Bucket' ? 'AWS::S3::Bucket' : 'AWS::DynamoDB::Table';
  return Object.keys(resourcesOf(template, type)).find((id) => id.startsWith(`BackboneStorage${name}`))!;
}
