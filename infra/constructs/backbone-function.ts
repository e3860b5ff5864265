import { Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import { type IRole, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, Function as LambdaFunction, RecursiveLoop, Runtime, Tracing } from 'aws-cdk-lib/aws-lambda';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { API_FUNCTION_TIMEOUT_MS, BACKGROUND_FUNCTION_TIMEOUT_MS } from '../../shared/domain/limits.ts';
import { ENV } from '../../shared/env.ts';
import { VERSION } from '../../shared/wire/version.ts';
import { codeOf, type FunctionSource } from './bundling.ts';
import { metricsNamespace } from './names.ts';

/** Levels that Powertools knows, most talkative first. */
export const LOG_LEVELS = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'CRITICAL', 'SILENT'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * Memory buys CPU: 1,769 MB are one core (AWS Lambda, "Memory and computing power"). JSON and gzip of a large request
 * keep a core busy, so less memory saves nothing there and only adds latency; more would be paid while a request
 * merely waits for the store. It also has to hold a batch that inflates to `INFLATED_BATCH_BYTES_MAX`, and its JSON.
 */
const MEMORY_MB = 1024;
/** In the background there is little to compute and nobody waits; the rest of the time is paid while the store works. */
const BACKGROUND_MEMORY_MB = 256;

/** What all functions of a backbone have in common. */
export interface FunctionDefaults {
  /** Default `INFO`. */
  readonly logLevel?: LogLevel | undefined;
  /** How long log lines are kept. Default `ONE_MONTH`. */
  readonly logRetention?: RetentionDays | undefined;
  /** Whether X-Ray records calls. Default false: it costs by the trace. */
  readonly tracing?: boolean | undefined;
}

export interface BackboneFunctionProps extends FunctionDefaults {
  /** Name of the file in `functions/`, without its extension. It exports `handler`. */
  readonly source: FunctionSource;
  readonly description: string;
  /** No caller waits for it. Default false. */
  readonly inBackground?: boolean | undefined;
  /** Default: one of its own. */
  readonly role?: IRole | undefined;
  /** Default: by whether somebody waits. */
  readonly timeoutMs?: number | undefined;
  /** Most that runs at once, kept free for it; default: what the account has left. */
  readonly reservedConcurrency?: number | undefined;
  /** It may wake itself over and over: Lambda would take that for a mistake. Default false. */
  readonly wakesItself?: boolean | undefined;
}

/**
 * A function of the backbone, with the defaults that all of them share. Its role can write its own log and do nothing
 * else, until a resource grants more.
 */
export class BackboneFunction extends LambdaFunction {
  constructor(scope: Construct, id: string, props: BackboneFunctionProps) {
    const { source, description, inBackground = false, wakesItself = false } = props;
    const { logLevel = 'INFO', logRetention = RetentionDays.ONE_MONTH, tracing = false } = props;
    const { timeoutMs = inBackground ? BACKGROUND_FUNCTION_TIMEOUT_MS : API_FUNCTION_TIMEOUT_MS } = props;
    const logGroup = new LogGroup(scope, `${id}Logs`, {
      retention: logRetention,
      removalPolicy: RemovalPolicy.DESTROY, // nothing in it but diagnostics
    });
    const role =
      props.role ?? new Role(scope, `${id}Role`, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    logGroup.grantWrite(role);
    super(scope, id, {
      code: codeOf(source),
      handler: 'index.handler',
      description,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: inBackground ? BACKGROUND_MEMORY_MB : MEMORY_MB,
      timeout: Duration.millis(timeoutMs),
      ...(props.reservedConcurrency !== undefined && { reservedConcurrentExecutions: props.reservedConcurrency }),
      ...(tracing && { tracing: Tracing.ACTIVE }),
      ...(wakesItself && { recursiveLoop: RecursiveLoop.ALLOW }),
      logGroup,
      role,
      environment: {
        POWERTOOLS_SERVICE_NAME: source,
        POWERTOOLS_LOG_LEVEL: logLevel,
        POWERTOOLS_METRICS_NAMESPACE: metricsNamespace(scope),
        [ENV.version]: VERSION,
      },
    });
    if (!tracing) return;
    Validations.of(role).acknowledge({
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason:
        'X-Ray knows no resources to name: whoever sends segments is allowed so for all. Source: AWS, "Actions defined by AWS X-Ray".',
    });
  }
}
