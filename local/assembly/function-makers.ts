import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ACCOUNT, REGION } from '../aws/dynamodb/store-view.ts';
import type { EmbeddedAws } from '../aws/embedded-aws.ts';
import type { Access } from './access.ts';
import type { CallAs } from './aws-calls.ts';
import type { Maker, Wanted } from './deployment.ts';
import type { EventSource, MappingProperties } from './event-source.ts';
import type { Identities } from './identities.ts';
import type { LambdaApi } from './lambda-api.ts';
import { PackagedFunction } from './packaged-function.ts';
import { QueueSource } from './queue-source.ts';
import { arnOf, functionArn, mappingArn } from './rights.ts';
import { StreamSource } from './stream-source.ts';

export interface FunctionMakersOptions {
  readonly aws: EmbeddedAws;
  readonly access: Access;
  readonly identities: Identities;
  readonly lambda: LambdaApi;
  readonly call: CallAs;
  readonly api: { readonly host: string; readonly url: string };
  readonly clock: SharedArrayBuffer;
  readonly now: () => number;
  /** Folder for packages whose code stands in the template. */
  readonly scratch: string;
  /** Variables of all functions; they come before those of the template. */
  readonly variables: Readonly<Record<string, string>>;
  readonly onLog: (functionName: string, line: string) => void;
  readonly onFailure: (functionName: string, error: unknown) => void;
}

interface FunctionProperties {
  readonly FunctionName?: string;
  readonly Code: { readonly S3Key?: string; readonly ZipFile?: string };
  readonly Handler: string;
  readonly Role: string;
  readonly Timeout?: number;
  readonly MemorySize?: number;
  readonly Runtime?: string;
  readonly ReservedConcurrentExecutions?: number;
  readonly Environment?: { readonly Variables?: Readonly<Record<string, string>> };
  readonly LoggingConfig?: { readonly LogGroup?: string };
  readonly TracingConfig?: { readonly Mode?: string };
}

/** This process's Node.js is older than Lambda's: no advice about that, and no look for credentials of an instance. */
const QUIET = { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true', AWS_EC2_METADATA_DISABLED: 'true' };
/** Environments of one function at once: each is a thread of this process. AWS allows 1,000 in an account. */
const CONCURRENCY_MAX = 16;
/** Source: AWS, Lambda, "Configure Lambda function timeout", "Configure Lambda function memory": 3 s and 128 MB. */
const TIMEOUT_S_DEFAULT = 3;
const MEMORY_MB_DEFAULT = 128;

/** Makes functions of their packages, and what calls them. */
export function functionMakers(options: FunctionMakersOptions) {
  const { access, identities, lambda } = options;
  const sources: EventSource[] = [];
  // URLs that are signed for S3 are for others to open. Whatever else goes to AWS is led here by the environment.
  const surroundings = { ...QUIET, AWS_ENDPOINT_URL_S3: options.aws.endpoint, ...options.variables };
  const keyIds = new Map<string, string>();

  const lambdaFunction: Maker = async (wanted) => {
    const properties = wanted.properties as unknown as FunctionProperties;
    const name = properties.FunctionName ?? wanted.nameOf(64);
    const caller = { role: properties.Role, function: name };
    const keys = identities.issue(caller);
    keyIds.set(name, keys.accessKeyId);
    const group = properties.LoggingConfig?.LogGroup ?? `/aws/lambda/${name}`;
    const fn = new PackagedFunction({
      name,
      arn: functionArn(name),
      folder: folderOf(wanted, properties, options.scratch),
      handler: properties.Handler,
      timeoutMs: (properties.Timeout ?? TIMEOUT_S_DEFAULT) * 1_000,
      memoryMb: properties.MemorySize ?? MEMORY_MB_DEFAULT,
      concurrency: Math.min(properties.ReservedConcurrentExecutions ?? CONCURRENCY_MAX, CONCURRENCY_MAX),
      variables: { ...variablesOf(name, group, properties), ...keysAsVariables(keys), ...surroundings },
      ...{ endpoint: options.aws.endpoint, api: options.api, clock: options.clock },
      onLog: (line) => options.onLog(name, line),
      onLogs: (action) => {
        // Lambda does these in the function's name; whether it may is all that matters here.
        access.allows(caller, { action: `logs:${action}`, resource: logStreamArn(group) });
        if (properties.TracingConfig?.Mode !== 'Active' || action !== 'PutLogEvents') return;
        for (const verb of ['PutTraceSegments', 'PutTelemetryRecords']) {
          access.allows(caller, { action: `xray:${verb}`, resource: '*' });
        }
      },
    });
    lambda.addFunction(fn);
    return { ref: name, attributes: { Arn: fn.arn } };
  };

  const mapping: Maker = async ({ properties, logicalId, stack }) => {
    const { FunctionName, ...rest } = properties as unknown as MappingProperties & { readonly FunctionName: string };
    const id = uuidOf(`${stack.name}/${logicalId}`);
    const fn = lambda.find(FunctionName)!;
    const keyId = keyIds.get(fn.name)!;
    const source = {
      ...{ id, properties: rest, fn, onFailure: options.onFailure },
      call: (operation: string, body: object, signal?: AbortSignal) => options.call(keyId, operation, body, signal),
    };
    const [table] = rest.EventSourceArn.split(':table/')[1]?.split('/') ?? [];
    const made =
      table === undefined
        ? new QueueSource(source)
        : new StreamSource({
            ...source,
            onChange: (listener) => options.aws.onChange(table, listener),
            now: options.now,
          });
    sources.push(made);
    lambda.addMapping(made);
    if (rest.Enabled !== false) made.switch(true);
    return { ref: id, attributes: { Id: id, EventSourceMappingArn: mappingArn(id) } };
  };

  const permission: Maker = async ({ properties, logicalId }) => {
    const { Action, FunctionName, Principal, SourceArn } = properties as Readonly<Record<string, string>>;
    const Condition = SourceArn === undefined ? undefined : { ArnLike: { 'aws:SourceArn': SourceArn } };
    access.addResourcePolicy(lambda.find(FunctionName!)!.arn, [
      {
        ...{ Effect: 'Allow', Action: Action!, ...(Condition && { Condition }) },
        Principal: Principal!.endsWith('.amazonaws.com') ? { Service: Principal! } : { AWS: Principal! },
      },
    ]);
    return { ref: logicalId };
  };

  const asyncConfig: Maker = async ({ properties, logicalId }) => {
    const { FunctionName, MaximumRetryAttempts } = properties as {
      FunctionName: string;
      MaximumRetryAttempts?: number;
    };
    if (MaximumRetryAttempts !== undefined) lambda.configureAsync(FunctionName, { retries: MaximumRetryAttempts });
    return { ref: logicalId };
  };

  const version: Maker = async ({ properties }) => {
    const ref = `${functionArn(String(properties.FunctionName))}:1`;
    return { ref, attributes: { Version: '1', FunctionArn: ref } };
  };

  const alias: Maker = async ({ properties }) => {
    const ref = `${functionArn(String(properties.FunctionName).split(':').at(-1)!)}:${properties.Name}`;
    return { ref, attributes: { AliasArn: ref } };
  };

  return {
    makers: {
      'AWS::Lambda::Function': lambdaFunction,
      'AWS::Lambda::EventSourceMapping': mapping,
      'AWS::Lambda::Permission': permission,
      'AWS::Lambda::EventInvokeConfig': asyncConfig,
      'AWS::Lambda::Version': version,
      'AWS::Lambda::Alias': alias,
      'AWS::Logs::LogGroup': async ({ properties, nameOf }) => {
        const name = String(properties.LogGroupName ?? nameOf(512));
        return { ref: name, attributes: { Arn: `${arnOf('logs', `log-group:${name}`)}:*` } };
      },
    } as Readonly<Record<string, Maker>>,
    sources: sources as readonly EventSource[],
  };
}

function folderOf({ stack, logicalId, nameOf }: Wanted, { Code }: FunctionProperties, scratch: string): string {
  if (Code.S3Key !== undefined) {
    const folder = stack.assets.get(Code.S3Key);
    if (folder === undefined) throw new Error(`the assembly has no asset ${Code.S3Key}, the package of ${logicalId}`);
    return folder;
  }
  const folder = join(scratch, nameOf(64));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'index.js'), Code.ZipFile ?? '');
  writeFileSync(join(folder, 'package.json'), '{"type": "commonjs"}');
  return folder;
}

/** What Lambda sets, and what the template does. Source: AWS, Lambda, "Defined runtime environment variables". */
function variablesOf(name: string, logGroup: string, properties: FunctionProperties): Record<string, string> {
  return {
    AWS_REGION: REGION,
    AWS_DEFAULT_REGION: REGION,
    AWS_EXECUTION_ENV: `AWS_Lambda_${properties.Runtime ?? 'nodejs'}`,
    AWS_LAMBDA_FUNCTION_NAME: name,
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(properties.MemorySize ?? MEMORY_MB_DEFAULT),
    AWS_LAMBDA_LOG_GROUP_NAME: logGroup,
    AWS_LAMBDA_LOG_STREAM_NAME: LOG_STREAM,
    _HANDLER: properties.Handler,
    TZ: ':UTC',
    ...Object.fromEntries(
      Object.entries(properties.Environment?.Variables ?? {}).map(([variable, value]) => [variable, String(value)]),
    ),
  };
}

const LOG_STREAM = 'local';
const logStreamArn = (group: string) => arnOf('logs', `log-group:${group}:log-stream:${LOG_STREAM}`);

function keysAsVariables({ accessKeyId, secretAccessKey }: ReturnType<Identities['issue']>): Record<string, string> {
  return {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: `session-of-${accessKeyId}-${ACCOUNT}`,
  };
}

/** The same name has the same id at every start. */
function uuidOf(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}
