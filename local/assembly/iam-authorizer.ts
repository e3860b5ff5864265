import { createHash, timingSafeEqual } from 'node:crypto';
import { ACCOUNT, REGION } from '../aws/dynamodb/store-view.ts';
import { staleness } from '../aws/signature-age.ts';
import { canonicalHeaders, canonicalQuery, percentEncoded, signatureOf } from '../aws/signature-v4.ts';
import type { Authorizer } from '../gateway.ts';
import { type Answer, gatewayMessage } from '../gateway-answer.ts';
import type { ReceivedRequest } from '../gateway-event.ts';
import type { Access } from './access.ts';
import type { Identities } from './identities.ts';

const FORBIDDEN = gatewayMessage(403, 'Forbidden');
/** `AWS4-HMAC-SHA256 Credential=<id>/<date>/<region>/execute-api/aws4_request, SignedHeaders=a;b, Signature=<hex>` */
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/,\s]+)\/([^,\s]+),\s*SignedHeaders=([^,\s]+),\s*Signature=([0-9a-f]{64})$/;

/** Lets in whoever signed a request and may invoke the API, as the IAM authorizer of an HTTP API does. */
export class IamAuthorizer {
  readonly #identities: Identities;
  readonly #access: Access;
  readonly #now: () => number;
  readonly #api: string;

  /** @param api its id */
  constructor(identities: Identities, access: Access, now: () => number, api: string) {
    this.#identities = identities;
    this.#access = access;
    this.#now = now;
    this.#api = api;
  }

  async admit(request: ReceivedRequest): Promise<Answer | Authorizer> {
    const headers = headersOf(request);
    const [, accessKeyId = '', scope = '', signedNames = '', signature = ''] =
      AUTHORIZATION.exec(headers.authorization ?? '') ?? [];
    const caller = this.#identities.callerOf(accessKeyId);
    const secret = this.#identities.secretOf(accessKeyId);
    const date = headers['x-amz-date'] ?? '';
    if (!caller || secret === undefined || staleness(date, this.#now())) return FORBIDDEN;
    const expected = requestSignature(request, { headers, scope, signedNames: signedNames.split(';'), date, secret });
    const given = Buffer.from(signature, 'hex');
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return FORBIDDEN;
    const path = decodeURI(request.target.split('?')[0]!);
    const resource = `arn:aws:execute-api:${REGION}:${ACCOUNT}:${this.#api}/$default/${request.method}${path}`;
    if (!this.#access.allows(caller, { action: 'execute-api:Invoke', resource })) return FORBIDDEN;
    return { iam: whoIs(accessKeyId, caller.role, caller.function) };
  }
}

function whoIs(accessKey: string, role: string | undefined, session: string): object {
  const userArn = role
    ? `${role.replace(':iam:', ':sts:').replace(':role/', ':assumed-role/')}/${session}`
    : `arn:aws:iam::${ACCOUNT}:user/${session}`;
  const userId = `AIDA${accessKey}`;
  return {
    accessKey,
    accountId: ACCOUNT,
    callerId: userId,
    cognitoIdentity: null,
    principalOrgId: null,
    userArn,
    userId,
  };
}

function headersOf({ rawHeaders }: ReceivedRequest): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    headers[name] = name in headers ? `${headers[name]},${rawHeaders[i + 1]}` : rawHeaders[i + 1]!;
  }
  // Functions reach the API by its own name, which they sign, and are led here.
  return { ...headers, host: headers['x-forwarded-host'] ?? headers.host ?? '' };
}

interface Signed {
  readonly headers: Readonly<Record<string, string>>;
  readonly scope: string;
  readonly signedNames: readonly string[];
  readonly date: string;
  readonly secret: string;
}

/** Signature of a request in its header. */
function requestSignature({ method, target, body }: ReceivedRequest, signed: Signed): Buffer {
  const { headers, signedNames, ...how } = signed;
  const [path, query = ''] = target.split(/\?(.*)/s) as [string, string?];
  // Escaped once more: it is signed as it was sent.
  const canonicalPath = path.split('/').map(percentEncoded).join('/');
  const payload = createHash('sha256').update(body).digest('hex');
  const parts = [method, canonicalPath, canonicalQuery(new URLSearchParams(query))];
  const canonical = [...parts, canonicalHeaders(signedNames, headers), signedNames.join(';'), payload].join('\n');
  return signatureOf({ ...how, canonical });
}
