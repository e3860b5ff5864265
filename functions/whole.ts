import { findRoute } from '../shared/wire/find-route.ts';
import type { ApiFunction } from '../shared/wire/routes.ts';
import type { GatewayHandler } from './api-handler.ts';
import { handler as fetch } from './fetch.ts';
import { handler as groups } from './groups.ts';
import { handler as produce } from './produce.ts';
import { handler as subscriptions } from './subscriptions.ts';
import { handler as topics } from './topics.ts';

const HANDLERS: Readonly<Record<ApiFunction, GatewayHandler>> = { produce, fetch, topics, groups, subscriptions };

/** The whole API as one function, behind a URL of its own, where nobody tells a function which route it serves. */
export const handler: GatewayHandler = (event, context) => {
  const { route, parameters } = findRoute(event.requestContext.http.method, event.rawPath);
  return HANDLERS[route.function]({ ...event, routeKey: route.key, pathParameters: { ...parameters } }, context);
};
