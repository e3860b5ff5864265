import {
  FunctionUrlAuthType,
  type FunctionUrlCorsOptions,
  HttpMethod,
  type IFunctionUrl,
  type Function as LambdaFunction,
} from 'aws-cdk-lib/aws-lambda';
import { CORS } from './api.ts';
import type { Auth } from './backbone-props.ts';

/**
 * Gives a function that serves the whole API a URL of its own. Lambda asks for a signature where callers are known by IAM;
 * API keys are for the function to check.
 */
export function addUrl(fn: LambdaFunction, auth: Auth, corsOrigins: readonly string[] = []): IFunctionUrl {
  return fn.addFunctionUrl({
    authType: auth === 'iam' ? FunctionUrlAuthType.AWS_IAM : FunctionUrlAuthType.NONE,
    ...(corsOrigins.length > 0 && { cors: cors(corsOrigins) }),
  });
}

/** The same as the gateway's. */
function cors(origins: readonly string[]): FunctionUrlCorsOptions {
  return {
    allowedOrigins: [...origins],
    allowedMethods: CORS.methods.map((method) => HttpMethod[method]),
    allowedHeaders: [...CORS.allowHeaders],
    exposedHeaders: [...CORS.exposeHeaders],
    maxAge: CORS.maxAge,
  };
}
