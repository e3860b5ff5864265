import { randomUUID } from 'node:crypto';
import { type JsonAnswer, refusal } from '../aws/json-service.ts';
import { S3Error } from '../aws/s3/s3-error.ts';
import { type AwsRequest, type AwsResponse, type Service, textOf } from '../aws/service.ts';
import type { Access, Caller } from './access.ts';
import type { LambdaApi } from './lambda-api.ts';
import type { Right } from './policy.ts';
import { dynamodbRights, type KeyOf, objectRights, queueRights, streamRights } from './rights.ts';

export interface FrontOptions {
  readonly access: Access;
  /** Who has this access key. */
  readonly callerOf: (accessKeyId: string) => Caller | undefined;
  readonly keyOf: KeyOf;
  readonly lambda: Pick<LambdaApi, 'serve'>;
}

/** Asked before each request is served; what it answers instead of undefined is the answer. For tests. */
export type Interceptor = (caller: Caller, operation: string, request: AwsRequest) => Promise<AwsResponse | undefined>;

const JSON_RIGHTS = {
  DynamoDB_20120810: dynamodbRights,
  DynamoDBStreams_20120810: streamRights,
  AmazonSQS: queueRights,
} as const;

/**
 * Stands before the embedded services: judges each call by the policies of who signed it, refuses what they do not allow as
 * AWS does, and answers for Lambda.
 */
export class Front {
  readonly #options: FrontOptions;
  /** Absent: every request is served. */
  intercept: Interceptor | undefined;

  constructor(options: FrontOptions) {
    this.#options = options;
  }

  async serve(request: AwsRequest, next: Service): Promise<AwsResponse> {
    const { accessKeyId, service } = signerOf(request);
    const caller = this.#options.callerOf(accessKeyId);
    if (!caller) return next(request); // unsigned, or by a key that nobody has: the services refuse it themselves
    const target = request.headers['x-amz-target'];
    if (service === 'lambda') return this.#options.lambda.serve(caller, request);
    if (target === undefined) return this.#serveObjects(caller, request, next);
    const body = (await textOf(request.body)) ?? '';
    return this.#serveJson(caller, { ...request, body }, target.split('.') as [string, string], next);
  }

  async #serveJson(
    caller: Caller,
    request: AwsRequest & { readonly body: string },
    [api, operation]: readonly [string, string],
    next: Service,
  ): Promise<AwsResponse> {
    const rights = JSON_RIGHTS[api as keyof typeof JSON_RIGHTS];
    // Services that are not here answer for themselves.
    const asked = rights?.(operation, JSON.parse(request.body || '{}'), this.#options.keyOf) ?? [];
    const denied = this.#firstDenied(caller, asked);
    if (denied) return jsonAnswer(refusal('AccessDeniedException', deniedText(caller, denied)));
    return (await this.intercept?.(caller, operation, request)) ?? next(request);
  }

  async #serveObjects(caller: Caller, request: AwsRequest, next: Service): Promise<AwsResponse> {
    const severalAt = request.method === 'POST' && 'delete' in request.query;
    const body = severalAt ? await textOf(request.body) : undefined;
    const read = body === undefined ? request : { ...request, body };
    const rights = objectRights(read, body);
    const denied = this.#firstDenied(caller, rights);
    if (denied) return objectDenied(caller, denied);
    const operation = rights[0]!.action.split(':')[1]!;
    const answer = (await this.intercept?.(caller, operation, read)) ?? (await next(read));
    if (answer.status !== 404 || operation !== 'GetObject') return answer;
    // Only who may list learns that an object is not there. Source: AWS, GetObject, "Permissions".
    const listing = { action: 's3:ListBucket', resource: rights[0]!.resource.split('/')[0]! };
    return this.#firstDenied(caller, [listing]) ? objectDenied(caller, rights[0]!) : answer;
  }

  #firstDenied(caller: Caller, rights: readonly Right[]): Right | undefined {
    return rights.filter((right) => !this.#options.access.allows(caller, right))[0];
  }
}

/** Who signed a request, in its header or its URL, and for which service. */
function signerOf({ headers, query }: AwsRequest): { readonly accessKeyId: string; readonly service: string } {
  const scope = query['X-Amz-Credential'] ?? /Credential=([^,\s]+)/.exec(headers.authorization ?? '')?.[1] ?? '';
  const [accessKeyId = '', , , service = ''] = scope.split('/');
  return { accessKeyId, service };
}

/** In AWS's words. */
export function deniedText({ role, function: name }: Caller, { action, resource }: Right): string {
  const session = `${role?.replace(':iam:', ':sts:').replace(':role/', ':assumed-role/')}/${name}`;
  return `User: ${session} is not authorized to perform: ${action} on resource: ${resource} because no identity-based policy allows the ${action} action`;
}

function objectDenied(caller: Caller, right: Right): AwsResponse {
  const requestId = randomUUID();
  const body = new S3Error(403, 'AccessDenied', deniedText(caller, right)).toXml(requestId);
  return { status: 403, headers: { 'content-type': 'application/xml', 'x-amz-request-id': requestId }, body };
}

function jsonAnswer({ status, body }: JsonAnswer): AwsResponse {
  const headers = { 'content-type': 'application/x-amz-json-1.0', 'x-amzn-requestid': randomUUID() };
  return { status, headers, body: JSON.stringify(body) };
}
