import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { Identity } from '../domain/access.ts';
import { shownKey } from './api-key-text.ts';
import { headerOf } from './http-request.ts';

/** What the gateway's authorizers leave in an event. Source: AWS, HTTP APIs, "Lambda proxy integrations", `authorizer`. */
interface Authorizer {
  readonly iam?: { readonly userArn?: string };
  readonly jwt?: { readonly claims?: Readonly<Record<string, unknown>> };
}

/**
 * Who sends a request, as far as it tells. The gateway's word stands in the event's context, where no client writes; of its
 * headers only `Authorization` is looked at, and that is proven by what is in it.
 */
export function identityOf(event: APIGatewayProxyEventV2): Identity {
  const { authorizer = {} } = event.requestContext as { readonly authorizer?: Authorizer };
  const userArn = authorizer.iam?.userArn;
  const subject = authorizer.jwt?.claims?.sub;
  const shown = shownKey(headerOf(event, 'authorization'));
  return {
    ...(typeof userArn === 'string' && { userArn }),
    ...(typeof subject === 'string' && { subject }),
    ...(shown !== undefined && { shown }),
  };
}
