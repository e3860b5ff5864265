import { type CfnResource, Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { AccessLogField, AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  CorsHttpMethod,
  type CorsPreflightOptions,
  HttpApi,
  HttpMethod,
  HttpNoneAuthorizer,
  HttpRoute,
  HttpRouteKey,
  HttpStage,
  type IHttpRouteAuthorizer,
  LogGroupLogDestination,
  PayloadFormatVersion,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpIamAuthorizer, HttpJwtAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { ROUTE_RIGHTS } from '../../shared/wire/route-rights.ts';
import { type ApiFunction, DEFAULT_ROUTE, ROUTES, type Route } from '../../shared/wire/routes.ts';
import type { Auth, JwtIssuer } from './backbone-props.ts';

export interface ApiProps {
  readonly functions: Readonly<Record<ApiFunction, IFunction>>;
  readonly auth: Auth;
  /** Whose tokens are taken, where `auth` is `jwt`. */
  readonly jwt?: JwtIssuer | undefined;
  /** Origins whose pages may call the API, such as `https://example.com`. Default none: no CORS. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** How long access log lines are kept. Default `ONE_MONTH`. */
  readonly logRetention?: RetentionDays | undefined;
}

/**
 * The HTTP API: every route of `shared/wire/routes.ts`, each open to whom `auth` lets through.
 *
 * No throttle is set on the stage. The account's own (10,000 requests/s by default) holds anyway; a lower one would
 * refuse producers before the log does, and tables and functions scale by themselves.
 */
export class Api extends Construct {
  /** Base URL, without a slash at its end. */
  readonly url: string;
  /** By which CloudWatch names it. */
  readonly apiId: string;
  readonly resource: CfnResource;

  constructor(
    scope: Construct,
    id: string,
    { functions, auth, jwt, corsOrigins = [], logRetention = RetentionDays.ONE_MONTH }: ApiProps,
  ) {
    super(scope, id);
    const api = new HttpApi(this, 'Http', {
      apiName: Stack.of(this).stackName,
      createDefaultStage: false,
      ...(corsOrigins.length > 0 && { corsPreflight: cors(corsOrigins) }),
    });
    this.url = api.apiEndpoint;
    this.apiId = api.apiId;
    this.resource = api.node.defaultChild as CfnResource;

    const integrations = {
      produce: integration('Produce', functions.produce),
      fetch: integration('Fetch', functions.fetch),
      topics: integration('Topics', functions.topics),
      groups: integration('Groups', functions.groups),
      subscriptions: integration('Subscriptions', functions.subscriptions),
    } satisfies Record<ApiFunction, HttpLambdaIntegration>;
    const iam = new HttpIamAuthorizer();
    const authorizer = authorizerOf(auth, jwt) ?? iam;
    const isOpen = ({ key }: Route) => key in ROUTE_RIGHTS && ROUTE_RIGHTS[key as keyof typeof ROUTE_RIGHTS] === 'open';
    const authorizerFor = (route: Route) => {
      if (route.signed) return iam;
      return auth !== 'iam' && isOpen(route) ? new HttpNoneAuthorizer() : authorizer;
    };
    for (const route of [...ROUTES, ...catchAll(corsOrigins.length > 0)]) {
      const made = new HttpRoute(this, route.key, {
        httpApi: api,
        routeKey: routeKey(route.key),
        integration: integrations[route.function],
        authorizer: authorizerFor(route),
      });
      if (auth === 'iam') continue;
      Validations.of(made).acknowledge({
        id: 'AwsSolutions-APIG4',
        reason:
          'What the gateway lets through without asking, the function behind it asks for an API key, or it is open to all.',
      });
    }

    new HttpStage(this, 'Stage', {
      httpApi: api,
      stageName: '$default',
      autoDeploy: true,
      accessLogSettings: {
        destination: new LogGroupLogDestination(
          new LogGroup(this, 'AccessLogs', {
            retention: logRetention,
            removalPolicy: RemovalPolicy.DESTROY,
          }),
        ),
        format: ACCESS_LOG_FORMAT,
      },
    });
  }
}

/** What the gateway asks of callers; undefined: a signature. API keys are for the functions to check. */
function authorizerOf(auth: Auth, jwt: JwtIssuer | undefined): IHttpRouteAuthorizer | undefined {
  if (auth === 'apiKey') return new HttpNoneAuthorizer();
  if (jwt === undefined) return undefined;
  return new HttpJwtAuthorizer('Jwt', jwt.issuer, { jwtAudience: [...jwt.audience] });
}

/**
 * One line per request. It is the only trace of what the gateway itself refuses (403, 413, 429, 5xx), which no
 * function ever sees. About 400 bytes of log per request, and nothing while there are none.
 */
const ACCESS_LOG_FORMAT = AccessLogFormat.custom(
  JSON.stringify({
    requestId: AccessLogField.contextRequestId(),
    time: AccessLogField.contextRequestTime(),
    ip: AccessLogField.contextIdentitySourceIp(),
    caller: AccessLogField.contextIdentityUserArn(),
    route: AccessLogField.contextRouteKey(), // never the path: names are the user's
    status: AccessLogField.contextStatus(),
    bytes: AccessLogField.contextResponseLength(),
    latencyMs: AccessLogField.contextResponseLatency(),
    functionStatus: AccessLogField.contextIntegrationStatus(),
    functionError: AccessLogField.contextIntegrationErrorMessage(),
    error: AccessLogField.contextErrorMessage(),
  }),
);

function integration(id: string, fn: IFunction): HttpLambdaIntegration {
  return new HttpLambdaIntegration(id, fn, { payloadFormatVersion: PayloadFormatVersion.VERSION_2_0 });
}

/**
 * Routes for all that no other route takes. With CORS it is one per method, because `$default` would take preflights
 * too and ask them for a signature, which browsers never send; an OPTIONS request that no route takes is answered by
 * the gateway itself. Source: AWS, "Configure CORS for HTTP APIs", `$default` route with an authorizer.
 */
function catchAll(withCors: boolean): { key: string; function: ApiFunction }[] {
  if (!withCors) return [DEFAULT_ROUTE];
  const methods = Object.values(HttpMethod).filter(
    (method) => method !== HttpMethod.ANY && method !== HttpMethod.OPTIONS,
  );
  return methods.map((method) => ({ key: `${method} /{proxy+}`, function: DEFAULT_ROUTE.function }));
}

function routeKey(key: string): HttpRouteKey {
  const [method, path] = key.split(' ');
  return path === undefined ? HttpRouteKey.DEFAULT : HttpRouteKey.with(path, method as HttpMethod);
}

/**
 * The gateway adds these headers to every answer, its own refusals included, instead of what a function says; so the
 * functions are not told of any origin here. The lists are those of `shared/wire/cross-origin.ts`.
 */
function cors(origins: readonly string[]): CorsPreflightOptions {
  for (const origin of origins) {
    if (!isOrigin(origin)) {
      throw new Error(`'${origin}' is not an origin: write scheme, host and port alone, such as https://example.com.`);
    }
  }
  return {
    allowOrigins: [...origins],
    allowMethods: CORS.methods.map((method) => CorsHttpMethod[method]),
    allowHeaders: [...CORS.allowHeaders],
    exposeHeaders: [...CORS.exposeHeaders],
    maxAge: CORS.maxAge,
  };
}

/** What pages of other origins may do. */
export const CORS = {
  methods: ['GET', 'POST', 'PUT', 'DELETE'],
  allowHeaders: [
    'accept',
    'authorization',
    'content-encoding',
    'content-type',
    'idempotency-key',
    'x-amz-content-sha256',
    'x-amz-date',
    'x-amz-security-token',
  ],
  exposeHeaders: ['retry-after', 'vertebra-next-offset', 'vertebra-high-watermark'],
  maxAge: Duration.hours(1),
} as const;

function isOrigin(text: string): boolean {
  return URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text;
}
