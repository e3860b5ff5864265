import { ACCOUNT, REGION } from '../aws/dynamodb/store-view.ts';
import type { Authorizer } from '../gateway.ts';
import { type Answer, gatewayMessage } from '../gateway-answer.ts';
import type { GatewayRoute, ReceivedRequest } from '../gateway-event.ts';
import type { LambdaHandler } from '../invocation.ts';
import type { Access } from './access.ts';
import type { Maker } from './deployment.ts';
import type { IamAuthorizer } from './iam-authorizer.ts';
import type { JwtAuthorizer, JwtConfiguration } from './jwt-authorizer.ts';
import type { LambdaApi } from './lambda-api.ts';
import type { PackagedFunction } from './packaged-function.ts';

/** Id of the one HTTP API: it is part of its name in AWS. */
export const API_ID = 'local';
/** Under which functions know the API, as in AWS; it leads to the gateway of this process. */
export const API_HOST = `${API_ID}.execute-api.${REGION}.amazonaws.com`;

interface DeclaredRoute extends GatewayRoute {
  /** Absent: open to all. */
  readonly authorizer?: Pick<JwtAuthorizer | IamAuthorizer, 'admit'>;
}

/** The HTTP API of the template, for a gateway that stands already: routes come as they are made. */
export class HttpApi {
  readonly #lambda: LambdaApi;
  readonly #access: Access;
  readonly #iam: IamAuthorizer;
  readonly #jwt: (configuration: JwtConfiguration) => JwtAuthorizer;
  readonly #authorizers = new Map<string, JwtAuthorizer>();
  readonly #integrations = new Map<string, PackagedFunction>();
  /** Those of the template; without a route for all others, the gateway answers for them. */
  readonly routes: DeclaredRoute[] = [];
  readonly handlers: Record<string, LambdaHandler> = { '': async () => NOT_FOUND };
  #apis = 0;

  constructor(
    lambda: LambdaApi,
    access: Access,
    { iam, jwt }: { readonly iam: IamAuthorizer; readonly jwt: (configuration: JwtConfiguration) => JwtAuthorizer },
  ) {
    this.#lambda = lambda;
    this.#access = access;
    this.#iam = iam;
    this.#jwt = jwt;
  }

  readonly makers: Readonly<Record<string, Maker>> = {
    'AWS::ApiGatewayV2::Api': async ({ properties, logicalId }) => {
      this.#apis += 1;
      if (properties.ProtocolType !== 'HTTP' || this.#apis > 1) {
        throw new Error(`${logicalId} is a second API, or none of HTTP: one HTTP API is served here`);
      }
      return { ref: API_ID, attributes: { ApiEndpoint: `https://${API_HOST}`, ApiId: API_ID } };
    },
    'AWS::ApiGatewayV2::Integration': async ({ properties, logicalId }) => {
      this.#integrations.set(logicalId, this.#lambda.find(String(properties.IntegrationUri))!);
      return { ref: logicalId };
    },
    'AWS::ApiGatewayV2::Route': async ({ properties, logicalId }) => {
      const {
        RouteKey,
        Target,
        AuthorizationType = 'NONE',
        AuthorizerId,
      } = properties as Readonly<Record<string, string>>;
      const authorizer = AuthorizationType === 'AWS_IAM' ? this.#iam : this.#authorizers.get(AuthorizerId ?? '');
      if (AuthorizationType !== 'NONE' && !authorizer) {
        throw new Error(
          `${RouteKey} is open to ${AuthorizationType}: AWS_IAM, JWT and NONE are all that is known here`,
        );
      }
      const fn = this.#integrations.get(Target!.split('/').at(-1)!)!;
      this.routes.push({ key: RouteKey!, function: logicalId, ...(authorizer && { authorizer }) });
      this.handlers[logicalId] = (event) => this.#call(fn, RouteKey!, event);
      return { ref: logicalId };
    },
    'AWS::ApiGatewayV2::Authorizer': async ({ properties, logicalId }) => {
      const { AuthorizerType, JwtConfiguration } = properties as { AuthorizerType: string; JwtConfiguration: unknown };
      if (AuthorizerType === 'JWT') {
        this.#authorizers.set(logicalId, this.#jwt(JwtConfiguration as JwtConfiguration));
      }
      return { ref: logicalId };
    },
    'AWS::ApiGatewayV2::Stage': async ({ properties }) => ({ ref: String(properties.StageName) }),
  };

  /** All that may be asked; nothing is left to chance. */
  complete(): void {
    if (this.routes.some(({ key }) => key === '$default')) return;
    this.routes.push({ key: '$default', function: '' });
  }

  /** Whether a request is let in. */
  async admit(request: ReceivedRequest, route: GatewayRoute): Promise<Answer | Authorizer> {
    return (await (route as DeclaredRoute).authorizer?.admit(request)) ?? {};
  }

  /** Calls a function, if it lets the gateway. @throws what it threw: the gateway answers 500 */
  async #call(fn: PackagedFunction, routeKey: string, event: object): Promise<unknown> {
    const source = `arn:aws:execute-api:${REGION}:${ACCOUNT}:${API_ID}/$default/${routeKey.replace(' ', '')}`;
    const facts = { 'aws:SourceArn': [source] };
    const right = { action: 'lambda:InvokeFunction', resource: fn.arn, facts };
    if (!this.#access.allowsService('apigateway.amazonaws.com', right)) {
      throw new Error(`${fn.name} does not let the API call it for ${routeKey}`);
    }
    const { payload, failed } = await fn.invoke(JSON.stringify(event));
    if (failed) throw new Error(`${fn.name} failed: ${payload}`);
    return JSON.parse(payload);
  }
}

const NOT_FOUND = { ...gatewayMessage(404, 'Not Found'), body: JSON.stringify({ message: 'Not Found' }) };
