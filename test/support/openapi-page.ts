import { openApiDocument } from '../../shared/wire/openapi.ts';
import { gatewayEvent, type Reply } from './gateway-call.ts';
import { misfits, type Schema } from './json-schema.ts';

interface Content {
  readonly [mediaType: string]: { readonly schema?: Schema; readonly example?: unknown };
}

export interface DescribedOperation {
  readonly parameters: readonly { readonly $ref: string }[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: { readonly [status: string]: Response | { readonly $ref: string } };
}

interface Response {
  readonly content?: Content;
  readonly headers?: object;
}

interface Page {
  readonly paths: { readonly [path: string]: { readonly [method: string]: DescribedOperation } };
}

const page = openApiDocument() as unknown as Page;

/** Every operation that the page describes, by the gateway's route key. */
export const DESCRIBED: ReadonlyMap<string, DescribedOperation> = new Map(
  Object.entries(page.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
  ),
);

/** What a `$ref` points at. */
export function resolve(reference: string): Schema {
  const found = reference
    .slice(2)
    .split('/')
    .reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], page);
  if (found === undefined) throw new Error(`${reference} points nowhere`);
  return found as Schema;
}

/** What of an answer the page does not say; empty when it says all. */
export function undescribed(method: string, target: string, reply: Reply): string[] {
  const route = gatewayEvent(method, target).event.routeKey;
  const operation = DESCRIBED.get(route);
  if (operation === undefined) return [`${route} is not described`];
  const described = operation.responses[reply.status];
  if (described === undefined) return [`${route} does not say that it answers ${reply.status}`];
  const response = '$ref' in described ? (resolve(described.$ref) as Response) : described;
  if (response.content === undefined) return reply.bytes.length === 0 ? [] : [`${route} ${reply.status} has a body`];
  const type = reply.headers['content-type'] ?? '';
  const content = response.content[type];
  if (content === undefined) return [`${route} ${reply.status} does not say that it comes as ${type}`];
  return content.schema === undefined ? [] : misfits(content.schema, reply.json(), resolve);
}
