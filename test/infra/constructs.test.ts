import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { Match, type Template } from 'aws-cdk-lib/assertions';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it } from 'vitest';
import { LIMITS, makeFunction, someBackbone, somebodysApp } from '../support/somebodys-app.ts';
import { functionName, type Resource, resourcesOf } from '../support/synthesise.ts';

const { stacks, templates } = somebodysApp();
const { mine } = templates;

const custom = (template: Template, kind: string) =>
  Object.values(resourcesOf(template, `Custom::Vertebra${kind}`)) as (Resource & { DependsOn: string[] })[];
const rightsIn = (template: Template) =>
  custom(template, 'Grant').map(({ Properties }) => JSON.parse(String(Properties.rights)));
/** What a property says, with `ARN` for what is known only once it is deployed. */
function settingsOf({ Properties }: Resource): object {
  const { settings } = Properties as { settings: string | { 'Fn::Join': [string, unknown[]] } };
  const parts = typeof settings === 'string' ? [settings] : settings['Fn::Join'][1];
  return JSON.parse(parts.map((part) => (typeof part === 'string' ? part : 'ARN')).join(''));
}
const warningsIn = (name: keyof typeof stacks) =>
  stacks[name].node
    .findAll()
    .flatMap(({ node }) => node.metadata)
    .filter(({ type }) => type === 'aws:cdk:warning')
    .map(({ data }) => String(data));
const named = (template: Template, kind: string, name: string) =>
  custom(template, kind).find(({ Properties }) => Properties.name === name)!;

it('a backbone of which nothing is asked has nothing that provisions, and says that every caller may do everything', () => {
  const capped = Object.entries(resourcesOf(templates.special)).filter(([id]) => id.startsWith('Capped'));
  expect(JSON.stringify(capped)).not.toContain('provision');
  expect(warningsIn('special')).toEqual([expect.stringContaining('every IAM principal')]);
});

describe('a topic', () => {
  it('is made with what the app says, and keeps its records when it leaves the app', () => {
    const said = (name: string) => {
      const topic = named(mine, 'Topic', name);
      return [settingsOf(topic), topic.Properties.onRemoval];
    };
    expect(said('orders')).toEqual([{ partitions: 12, retentionMs: 30 * 24 * 3_600_000 }, 'retain']);
    expect(said('audit')).toEqual([{ retentionMs: -1, ...LIMITS }, 'retain']);
    expect(said('scratch')).toEqual([{}, 'delete']);
  });

  it('is refused with a sentence where it cannot be', () => {
    const { backbone } = someBackbone();
    const add = (...topic: Parameters<typeof backbone.addTopic>) => expect(() => backbone.addTopic(...topic));
    add('a b').toThrow(/^'a b' cannot name a topic: it takes 1 to 249 characters/);
    add('..').toThrow("'..' cannot name a topic");
    add('t', { partitions: 0 }).toThrow("Topic 't' must have 1 to 1024 partitions, not 0.");
    add('u', { retention: Duration.minutes(59) }).toThrow("Topic 'u' must keep its records for an hour at least");
    add('q', { quota: {} }).toThrow("The quota of topic 'q' limits nothing.");
    add('q1', { quota: { bytesPerSecond: 0 } }).toThrow('needs a whole number of bytesPerSecond, 1 or more, not 0');
    add('q2', { quota: { perCaller: {} } }).toThrow("The quota per caller of topic 'q2' limits nothing.");
    add('l', { maxLag: { groups: [], records: 1 } }).toThrow('needs a whole number of groups, 1 or more, not 0');
    add('l1', { maxLag: { groups: ['a b'], records: 1 } }).toThrow("'a b' cannot name a group");
    add('v', { removalPolicy: RemovalPolicy.SNAPSHOT }).toThrow("must be RETAIN or DESTROY, not 'snapshot'.");
    backbone.addTopic('twice');
    add('twice').toThrow(/already a Construct with name 'Topic-twice'/);
  });
});

describe('a subscription', () => {
  it('goes with its function, which lets the backbone call it and look at it before it is made', () => {
    const permissions = resourcesOf(templates.ship, 'AWS::Lambda::Permission');
    expect(Object.values(permissions).map(({ Properties }) => Properties.Action)).toEqual([
      'lambda:InvokeFunction',
      'lambda:GetFunctionConfiguration',
    ]);
    const shipping = named(templates.ship, 'Subscription', 'shipping');
    expect(shipping.DependsOn).toEqual(expect.arrayContaining(Object.keys(permissions)));
    expect(shipping.Properties).toMatchObject({ onRemoval: 'unlessNeeded' });
    expect(settingsOf(shipping)).toEqual({
      topics: ['orders'],
      target: { lambda: { functionArn: 'ARN' } },
      filter: { value: { total: [{ numeric: ['>', 10] }] } },
      batch: { maxRecords: 10 },
    });
    expect(stacks.ship.dependencies).toEqual([stacks.mine]);
  });

  it('waits for its topics, and may have topics that do not stand in the app', () => {
    const [near] = custom(mine, 'Subscription');
    const [orders] = Object.keys(resourcesOf(mine, 'Custom::VertebraTopic'));
    expect(near!.DependsOn).toContain(orders);
    expect(near!.Properties).toMatchObject({ onRemoval: 'retain' });
    expect(settingsOf(near!)).toMatchObject({ topics: ['orders', 'elsewhere'] });
  });

  it('is refused with a sentence where it cannot be', () => {
    const { stack, backbone } = someBackbone();
    const fn = makeFunction(stack, 'Ship');
    expect(() => backbone.subscribe('none', fn, { topics: [] })).toThrow("Subscription 'none' names no topic.");
    const alarmed = () => backbone.subscribe('s', fn, { topics: ['t'], alarmAfter: Duration.minutes(5) });
    expect(alarmed).toThrow("'s' has 'alarmAfter', but the backbone has no 'alarmTopic' to tell.");
  });
});

describe('rights', () => {
  /** Routes that a policy lets through, but for those that everybody needs who has a right at all. */
  const pathsIn = (template: Template) =>
    Object.values(resourcesOf(template, 'AWS::IAM::Policy'))
      .flatMap(({ Properties }) => (Properties.PolicyDocument as { Statement: { Resource: unknown }[] }).Statement)
      .filter((statement) => JSON.stringify(statement).includes('"execute-api:Invoke"'))
      .flatMap(({ Resource }) => [Resource].flat())
      .map((resource) => /\/\$default\/([^"]*)/.exec(JSON.stringify(resource))![1]!)
      .filter((path) => !/^GET\/v1\/(?:topics|groups|subscriptions|health|openapi\.json)$/.test(path));

  it('of a producer: the routes for its topics, what is stored of it, and where the backbone is', () => {
    const paths = pathsIn(templates.shop);
    expect(paths.filter((path) => path.includes('/orders'))).toEqual([
      'GET/v1/topics/orders',
      'GET/v1/topics/orders/offsets',
      'GET/v1/topics/orders/partitions',
      'POST/v1/topics/orders/events',
      'POST/v1/topics/orders/partitions/*/records',
      'POST/v1/topics/orders/prepare',
      'POST/v1/topics/orders/records',
      'POST/v1/topics/orders/settle',
      'POST/v1/topics/orders/uploads',
    ]);
    expect(paths.filter((path) => !/\/(?:orders|invoices-\*)(?:\/|$)/.test(path))).toEqual([]);
    expect(rightsIn(templates.shop)).toEqual([
      [
        { allow: ['produce'], topics: 'orders' },
        { allow: ['produce'], topics: 'invoices-*' },
      ],
    ]);
    templates.shop.hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: { VERTEBRA_URL: Match.anyValue() } },
    });
  });

  it('given one after the other to the same principal are one grant, which its function waits for', () => {
    expect(rightsIn(mine)).toContainEqual([
      { allow: ['produce'], topics: 'orders' },
      { allow: ['consume'], topics: 'o*', groups: 'a' },
      { allow: ['consume'], topics: 'o*', groups: 'b' },
    ]);
    const near = Object.entries(resourcesOf(mine, 'AWS::Lambda::Function')).find(([id]) => id.includes('Near'))!;
    const grants = Object.keys(resourcesOf(mine, 'Custom::VertebraGrant'));
    expect((near[1] as Resource & { DependsOn: string[] }).DependsOn.filter((id) => grants.includes(id))).toHaveLength(
      1,
    );
  });

  it('to look after everything take in the API keys, those over some topics do not', () => {
    const [all, some] = [pathsIn(templates.ops), pathsIn(templates.team)];
    expect(all).toEqual(expect.arrayContaining(['POST/v1/api-keys', 'DELETE/v1/topics/*', 'DELETE/v1/groups/*']));
    expect(all).not.toContain('POST/v1/topics/*/records');
    expect(some).toContain('PUT/v1/topics/team-*');
    expect(some.filter((path) => /api-keys|groups/.test(path))).toEqual([]);
  });

  it('to look after subscriptions name topics, names and targets together', () => {
    expect(pathsIn(templates.setup)).toContain('PUT/v1/subscriptions/ship-*');
    expect(rightsIn(templates.setup)).toEqual([
      [{ allow: ['subscribe'], topics: 'orders', groups: 'ship-*', targets: 'sqs:*' }],
    ]);
  });

  it('once somebody has any, are asked of every caller, and nothing has to be said', () => {
    // There is a second one.
    expect(warningsIn('mine').filter((warning) => warning.includes('Nobody was granted'))).toHaveLength(1);
    const asking = Object.entries(resourcesOf(mine, 'AWS::Lambda::Function'))
      .filter(([, { Properties }]) => JSON.stringify(Properties).includes('"VERTEBRA_GRANTS":"stored"'))
      .map(([id]) => id.replace(/.{8}$/, ''));
    expect(asking.sort()).toEqual([
      ...['BackboneFetch', 'BackboneGroups', 'BackboneProduce', 'BackboneSubscriptions', 'BackboneTopics'],
    ]);
    expect(custom(mine, 'Grant').map(({ Properties }) => Properties.principal)).toContain('role:111122223333:Ops');
  });

  it('of somebody whose policies are not ours are stored, and it is said what is left to do', () => {
    const shop = custom(mine, 'Grant').filter(({ Properties }) => String(Properties.principal).endsWith('role/Shop'));
    expect(shop).toHaveLength(1);
    expect(warningsIn('mine')).toContainEqual(expect.stringContaining('must allow it execute-api:Invoke'));
  });

  it('of functions mean nothing where callers show keys or tokens', () => {
    const keys = someBackbone({ auth: 'apiKey' });
    const shop = makeFunction(keys.stack, 'Shop');
    expect(() => keys.backbone.grantProduce(shop, 'orders')).toThrow('give them an API key');
    const tokens = someBackbone({ auth: 'jwt', jwt: { issuer: 'https://login.example', audience: ['web'] } });
    expect(() => tokens.backbone.grantAdmin(shop)).toThrow("grant('sub:…', …)");
    expect(custom(templates.tokens, 'Grant')[0]!.Properties.principal).toBe('sub:alice');
  });
});

describe('two backbones in one stack', () => {
  const functions = Object.entries(resourcesOf(mine, 'AWS::Lambda::Function'));
  const found = (pattern: RegExp) =>
    functions.flatMap(([, { Properties }]) => pattern.exec(JSON.stringify(Properties))?.[1] ?? []);

  it('have resources and figures of their own', () => {
    expect(custom(mine, 'Subscription')).toHaveLength(2);
    expect(new Set(found(/"POWERTOOLS_METRICS_NAMESPACE":"([^"]+)"/))).toEqual(
      new Set(['Mine/Backbone', 'Mine/BackboneTwo']),
    );
  });

  it('know their own functions and queues, and take nobody else’s for theirs', () => {
    const [first, second, ...none] = found(/"VERTEBRA_OWN_NAMES":"([^"]+)"/).map((names) => names.split(','));
    expect(none).toEqual([]);
    const names = functions.map(([id]) => `Mine-${id}-A1B2C3D4E5F6`);
    const own = (list: string[]) => names.filter((name) => list.some((one) => name.startsWith(one)));
    expect(own(first!).filter((name) => own(second!).includes(name))).toEqual([]);
    // All but the app's own.
    expect(own(first!).length + own(second!).length).toBe(names.length - 1);
  });

  it('name nothing by themselves that another could name so, too', () => {
    const names = ['TableName', 'BucketName', 'QueueName', 'FunctionName', 'RoleName', 'LogGroupName'];
    const isNamed = ({ Properties = {} }: Resource) => names.some((name) => typeof Properties[name] === 'string');
    expect(Object.values(resourcesOf(mine)).filter(isNamed)).toEqual([]);
  });
});

describe('a key of one’s own', () => {
  const locked = (type?: string) =>
    Object.entries(resourcesOf(templates.special, type)).filter(([id]) => id.startsWith('Locked'));
  type Statements = { readonly Action: string | string[]; readonly Condition?: object }[];

  it('encrypts tables, bucket and queues, and no other backbone’s', () => {
    const [tables, buckets, queues] = ['AWS::DynamoDB::Table', 'AWS::S3::Bucket', 'AWS::SQS::Queue'].map(locked);
    for (const [, { Properties }] of tables!) expect(Properties.SSESpecification).toMatchObject({ SSEType: 'KMS' });
    expect(JSON.stringify(buckets)).toContain('"aws:kms"');
    for (const [, { Properties }] of queues!) expect(Properties.KmsMasterKeyId).toBeDefined();
    expect([tables!.length, buckets!.length, queues!.length]).toEqual([2, 1, 2]);
    const others = Object.entries(resourcesOf(templates.special)).filter(([id]) => id.startsWith('Capped'));
    expect(JSON.stringify(others)).not.toContain('kms');
  });

  it('may be used by the functions that touch these, by way of the services that hold them, and by no wildcard', () => {
    const using = locked('AWS::IAM::Policy').filter(([, policy]) => JSON.stringify(policy).includes('kms:Decrypt'));
    expect(using.map(([id]) => id.replace(/^Locked|RoleDefaultPolicy.{8}$/g, '')).sort()).toEqual([
      ...[
        'Deliver',
        'Dispatch',
        'Fetch',
        'Groups',
        'Produce',
        'Provision',
        'Subscriptions',
        'Sweep',
        'Topics',
        'Whole',
      ],
    ]);
    for (const [, { Properties }] of using) {
      const { Statement } = Properties.PolicyDocument as { Statement: Statements };
      for (const { Action, Condition } of Statement.filter(({ Action }) => JSON.stringify(Action).includes('kms:'))) {
        expect(JSON.stringify(Action)).not.toContain('*');
        expect(JSON.stringify(Condition)).toMatch(/^\{"StringEquals":\{"kms:ViaService":/);
      }
    }
    // Neither bucket nor queues are for the function that looks after topics.
    expect(JSON.stringify(using.find(([id]) => id.includes('Topics')))).not.toMatch(/"s3\.|"sqs\./);
  });
});

describe('shares of the account', () => {
  const capped = Object.entries(resourcesOf(templates.special, 'AWS::Lambda::Function')).filter(([id]) =>
    id.startsWith('Capped'),
  );

  it('are kept free for what must not be starved, where that is asked for; deliveries are capped, and reserve nothing', () => {
    const reserved = capped
      .map(([id, { Properties }]) => [id.replace(/^Capped|.{8}$/g, ''), Properties.ReservedConcurrentExecutions])
      .filter(([, count]) => count !== undefined);
    expect(Object.fromEntries(reserved)).toEqual({ Produce: 20, Fetch: 10, Groups: 30, DeliverAside: 5 });
    templates.special.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      ScalingConfig: { MaximumConcurrency: 4 },
    });
  });

  it('are for the functions; from which size on a batch goes to the bucket is told to producers alone', () => {
    const told = capped.filter(([, { Properties }]) =>
      JSON.stringify(Properties.Environment).includes('"VERTEBRA_SPILL_ABOVE_BYTES":"8192"'),
    );
    expect(told.map(([, fn]) => functionName(fn))).toEqual(['produce']);
  });
});

describe('callers', () => {
  const routesIn = (template: Template) =>
    Object.values(resourcesOf(template, 'AWS::ApiGatewayV2::Route')).map(({ Properties }) => [
      String(Properties.RouteKey),
      String(Properties.AuthorizationType),
    ]);

  it('with API keys are let through to the functions, but for those who hand out keys', () => {
    const signed = routesIn(templates.keys).filter(([, type]) => type !== 'NONE');
    expect(signed.sort()).toEqual([
      ['DELETE /v1/api-keys/{id}', 'AWS_IAM'],
      ['GET /v1/api-keys', 'AWS_IAM'],
      ['POST /v1/api-keys', 'AWS_IAM'],
    ]);
  });

  it('with tokens are asked for them by the gateway, but for what is open to all', () => {
    templates.tokens.hasResourceProperties('AWS::ApiGatewayV2::Authorizer', {
      AuthorizerType: 'JWT',
      JwtConfiguration: { Issuer: 'https://login.example', Audience: ['web'] },
    });
    const routes = routesIn(templates.tokens);
    const open = routes.filter(([, type]) => type === 'NONE').map(([key]) => key);
    expect(open.sort()).toEqual(['GET /v1/health', 'GET /v1/openapi.json']);
    expect(routes).toContainEqual(['POST /v1/topics/{topic}/records', 'JWT']);
    expect(routes).toContainEqual(['$default', 'JWT']);
  });

  it.each([
    ['keys', 'apiKey'],
    ['tokens', 'jwt'],
  ] as const)('with %s are asked for their rights', (name, auth) => {
    const asking = Object.values(resourcesOf(templates[name], 'AWS::Lambda::Function')).filter(({ Properties }) =>
      JSON.stringify(Properties.Environment).includes(`"VERTEBRA_AUTH":"${auth}","VERTEBRA_GRANTS":"stored"`),
    );
    const names = ['fetch', 'groups', 'produce', 'subscriptions', 'topics', ...(name === 'keys' ? ['whole'] : [])];
    expect(asking.map(functionName).sort()).toEqual(names);
  });

  it('that show something get commands that show it, and with API keys one that makes the first', () => {
    const outputs = templates.keys.findOutputs('*');
    expect(JSON.stringify(outputs.Step1CreateTopic)).toContain('Authorization: Bearer $VERTEBRA_TOKEN');
    expect(JSON.stringify(outputs.Step0CreateKey)).toMatch(/--aws-sigv4.*\/v1\/api-keys/);
  });
});

describe('a function URL', () => {
  const urlsIn = (template: Template) => Object.values(resourcesOf(template, 'AWS::Lambda::Url'));

  it('is none unless it is asked for', () => {
    expect(urlsIn(mine)).toEqual([]);
  });

  it('asks for a signature where callers sign, and leaves keys to the function', () => {
    const [locked] = urlsIn(templates.special);
    expect(locked!.Properties).toMatchObject({ AuthType: 'AWS_IAM', Cors: { AllowOrigins: ['https://a.example'] } });
    expect(urlsIn(templates.keys).map(({ Properties }) => Properties.AuthType)).toEqual(['NONE']);
    expect(templates.keys.findOutputs('FunctionUrl')).not.toEqual({});
  });

  it('is served by one function that knows all that those behind the gateway know, and asks for rights as they do', () => {
    const variablesOf = (id: RegExp) => {
      const [, fn] = Object.entries(resourcesOf(templates.special, 'AWS::Lambda::Function')).find(([name]) =>
        id.test(name),
      )!;
      return (fn.Properties.Environment as { Variables: Record<string, unknown> }).Variables;
    };
    const { POWERTOOLS_SERVICE_NAME: _, ...whole } = variablesOf(/^LockedWhole/);
    for (const name of ['Produce', 'Fetch', 'Topics', 'Groups', 'Subscriptions']) {
      const { POWERTOOLS_SERVICE_NAME: __, ...variables } = variablesOf(new RegExp(`^Locked${name}`));
      expect(whole).toMatchObject(variables);
    }
  });

  it('may be called by whom something was granted', () => {
    const policies = JSON.stringify(resourcesOf(templates.caller, 'AWS::IAM::Policy'));
    expect(policies).toContain('lambda:InvokeFunctionUrl');
    expect(JSON.stringify(resourcesOf(templates.shop, 'AWS::IAM::Policy'))).not.toContain('lambda:');
  });
});

it.each(['mine', 'special', 'keys', 'tokens'] as const)('%s: the AwsSolutions rules of cdk-nag are kept', (name) => {
  expect(new AwsSolutionsChecks().validateScope(stacks[name])).toMatchObject({ success: true, violations: [] });
});

it('stored data keeps its logical ids, whatever else a backbone is asked for', () => {
  const stored = ['AWS::DynamoDB::Table', 'AWS::S3::Bucket'].flatMap((type) =>
    Object.keys(resourcesOf(mine, type)).filter((id) => !id.includes('Two')),
  );
  expect(stored).toEqual([
    ...['BackboneStorageLog8821B302', 'BackboneStorageState2921BEDA', 'BackboneStorageBucketD4E7B8EE'],
  ]);
});
