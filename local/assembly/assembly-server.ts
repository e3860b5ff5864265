import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedAws, openEmbeddedAws } from '../aws/embedded-aws.ts';
import { type Exchange, openGateway } from '../gateway.ts';
import { Access } from './access.ts';
import { API_HOST, API_ID, HttpApi } from './api-makers.ts';
import { callsBy } from './aws-calls.ts';
import { readCloudAssembly } from './cloud-assembly.ts';
import { CustomResources } from './custom-resources.ts';
import { Deployment, type Made, type Maker } from './deployment.ts';
import { Front, type Interceptor } from './front.ts';
import { functionMakers } from './function-makers.ts';
import { IamAuthorizer } from './iam-authorizer.ts';
import { Identities, type KeyPair } from './identities.ts';
import { type IssuerKeys, JwtAuthorizer, publishedKeys } from './jwt-authorizer.ts';
import { LambdaApi } from './lambda-api.ts';
import { Schedule } from './schedule.ts';
import { storageMakers } from './storage-makers.ts';

export interface AssemblyServerOptions {
  /** Folder that `cdk synth` wrote. */
  readonly assembly: string;
  /** 0: any free one. */
  readonly port: number;
  /** Folder of the embedded AWS; absent: everything in memory. */
  readonly path?: string | undefined;
  /** Variables of all functions; those of the template yield to them. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Time between two calls by the clock, instead of what the template's rules say, ms. */
  readonly clockEveryMs?: number;
  /** Keys of the issuers of tokens; absent: they are asked. */
  readonly keysOf?: IssuerKeys;
  /** Told of every request that reached a function. */
  readonly onExchange: (exchange: Exchange) => void;
  /** Told of what functions log, line by line. */
  readonly onLog: (functionName: string, line: string) => void;
  /** Told of a function that works in the background and failed, or of what kept it from being called. */
  readonly onFailure: (functionName: string, error: unknown) => void;
}

/** What a synthesised assembly would be once deployed, in this process. */
export interface AssemblyServer {
  /** Of the API: `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Of whoever runs the assembly: may do everything. */
  readonly keys: KeyPair;
  /** The policies, and what came of them. */
  readonly access: Access;
  /** Types of resources in the templates of which nothing is made here. */
  readonly strangers: readonly string[];
  /** Values of the stacks' outputs. */
  readonly outputs: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  /** All that was made of the templates, by `<stack>/<logical id>`. */
  readonly resources: ReadonlyMap<string, Made>;
  readonly aws: EmbeddedAws;
  readonly lambda: LambdaApi;
  /** The clock of services and functions, epoch ms. */
  now(): number;
  /** Sets the clock ahead: that of services and functions. What waits goes on waiting in real time. */
  advance(ms: number): void;
  /** What the clock calls from minute to minute, now, after what has expired was removed. */
  tidyUp(): Promise<void>;
  /** Lets tests answer calls of functions in place of AWS. */
  intercept(interceptor: Interceptor | undefined): void;
  /** Waits at most `drainMs` for requests under way; then all functions are ended and the data is closed. */
  close(drainMs: number): Promise<void>;
}

/** The same as of other local engines; the signature must be right. */
const KEYS: KeyPair = { accessKeyId: 'test', secretAccessKey: 'test' };

/**
 * Runs a synthesised assembly: its packages as functions, its wiring, and its policies, over an embedded AWS.
 * @throws {Refusal} when the folder holds no assembly; {Error} when a template asks for what is not known here
 */
export async function openAssemblyServer(options: AssemblyServerOptions): Promise<AssemblyServer> {
  const stacks = readCloudAssembly(options.assembly);
  const closers: (() => unknown)[] = [];
  const close = async () => {
    for (const each of closers.splice(0).reverse()) await each();
  };
  try {
    const clock = new SharedArrayBuffer(8);
    const ahead = new Float64Array(clock);
    const now = () => Date.now() + ahead[0]!;
    const access = new Access();
    const identities = new Identities(access);
    identities.take(KEYS, { role: undefined, function: 'test' });
    const lambda = new LambdaApi(access, options.onFailure);
    const keys = new Map<string, string>();
    const front = new Front({
      ...{ access, lambda },
      callerOf: (accessKeyId) => identities.callerOf(accessKeyId),
      keyOf: (table) => keys.get(table),
    });
    const aws = await openEmbeddedAws({
      ...(options.path !== undefined && { path: options.path }),
      now,
      front: (request, next) => front.serve(request, next),
      secretOf: (accessKeyId) => identities.secretOf(accessKeyId),
    });
    closers.push(() => aws.close());
    const scratch = await mkdtemp(join(tmpdir(), 'vertebra-assembly-'));
    closers.push(() => rm(scratch, { recursive: true, force: true }));

    const api = new HttpApi(lambda, access, {
      iam: new IamAuthorizer(identities, access, now, API_ID),
      jwt: (configuration) => new JwtAuthorizer(configuration, options.keysOf ?? publishedKeys, now),
    });
    const gateway = await openGateway({
      ...{ handlers: api.handlers, routes: api.routes, port: options.port, observe: options.onExchange },
      admit: (request, route) => api.admit(request, route),
    });
    let drained = false;
    closers.push(() => (drained ? undefined : gateway.close(0)));
    const storage = storageMakers(aws, access, keys);
    closers.push(() => storage.close());
    const schedule = new Schedule(lambda, access, { onFailure: options.onFailure, everyMs: options.clockEveryMs });
    const custom = new CustomResources(lambda);
    const functions = functionMakers({
      ...{ aws, access, identities, lambda, clock, now, scratch, call: callsBy(aws, now) },
      ...{ onLog: options.onLog, onFailure: options.onFailure, variables: options.variables ?? {} },
      api: { host: API_HOST, url: gateway.url },
    });
    closers.push(
      () => lambda.close(),
      () => Promise.all(functions.sources.map((source) => source.close())),
      () => custom.close(),
      () => schedule.close(),
    );

    const makers: Readonly<Record<string, Maker>> = {
      ...{ ...identities.makers, ...storage.makers, ...functions.makers, ...api.makers },
      'AWS::Events::Rule': schedule.maker,
    };
    const deployment = new Deployment(stacks, (type) => (isCustom(type) ? custom.maker : makers[type]));
    await deployment.make((type) => !isCustom(type));
    api.complete();
    await deployment.make(isCustom);
    return {
      ...{ url: gateway.url, keys: KEYS, access, aws, lambda, outputs: await deployment.outputs() },
      resources: await deployment.resources(),
      strangers: [...deployment.strangers].filter((type) => !INERT.has(type)),
      now,
      advance: (ms) => {
        ahead[0]! += ms;
      },
      async tidyUp() {
        await aws.expireNow();
        await schedule.runNow();
      },
      intercept: (interceptor) => {
        front.intercept = interceptor;
      },
      async close(drainMs) {
        await gateway.close(drainMs);
        drained = true;
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const isCustom = (type: string) => type.startsWith('Custom::') || type === 'AWS::CloudFormation::CustomResource';

/** Types that change nothing of what happens here. */
const INERT = new Set([
  'AWS::CDK::Metadata',
  'AWS::CloudWatch::Alarm',
  'AWS::CloudWatch::Dashboard',
  'AWS::SNS::Topic',
]);
