import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Made, Maker } from './deployment.ts';
import { stackIdOf } from './intrinsics.ts';
import type { LambdaApi } from './lambda-api.ts';

/** What a custom resource answers. Source: AWS, CloudFormation, "Custom resource response objects". */
interface Response {
  readonly Status: 'SUCCESS' | 'FAILED';
  readonly Reason?: string;
  readonly PhysicalResourceId?: string;
  readonly Data?: Readonly<Record<string, unknown>>;
}

/** A custom resource that answers later than this never will. CloudFormation waits for an hour. */
const ANSWER_MS_MAX = 60_000;

/** Makes custom resources as CloudFormation does: asks their function, which answers by a URL. */
export class CustomResources {
  readonly #lambda: LambdaApi;
  readonly #waiting = new Map<string, (response: Response) => void>();
  readonly #server: Server;

  constructor(lambda: LambdaApi) {
    this.#lambda = lambda;
    this.#server = createServer(async (request, response) => {
      const answer = JSON.parse(await text(request)) as Response;
      this.#waiting.get(request.url!.slice(1))?.(answer);
      response.end();
    });
    this.#server.unref();
  }

  /** Every start asks for it anew, as something that is not there yet. @throws {Error} with the resource's own reason */
  readonly maker: Maker = async ({ stack, logicalId, type, properties }): Promise<Made> => {
    const { ServiceToken } = properties as { readonly ServiceToken: string };
    const fn = this.#lambda.find(ServiceToken);
    if (!fn) throw new Error(`the function of ${logicalId} is none of the assembly: ${ServiceToken}`);
    const RequestId = randomUUID();
    const event = {
      ...{ RequestType: 'Create', RequestId, ResponseURL: `${await this.#url()}/${RequestId}` },
      ...{ StackId: stackIdOf(stack.name), ResourceType: type, LogicalResourceId: logicalId },
      ...{ ServiceToken, ResourceProperties: asTexts(properties) },
    };
    const answered = new Promise<Response>((resolve) => this.#waiting.set(RequestId, resolve));
    const timer = new AbortController();
    const late = once(AbortSignal.any([AbortSignal.timeout(ANSWER_MS_MAX), timer.signal]), 'abort').then(
      (): Response => ({ Status: 'FAILED', Reason: `${logicalId} did not answer within ${ANSWER_MS_MAX / 1_000} s` }),
    );
    try {
      this.#lambda.callLater(fn, JSON.stringify(event));
      const { Status, Reason, PhysicalResourceId = logicalId, Data = {} } = await Promise.race([answered, late]);
      if (Status !== 'SUCCESS') throw new Error(`${logicalId} (${type}) was not made: ${Reason}`);
      return { ref: PhysicalResourceId, attributes: Data };
    } finally {
      timer.abort();
      this.#waiting.delete(RequestId);
    }
  };

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #url(): Promise<string> {
    if (!this.#server.listening) {
      this.#server.listen(0, '127.0.0.1');
      await once(this.#server, 'listening');
    }
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }
}

/** CloudFormation makes texts of all numbers and truths in a custom resource's properties. */
function asTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asTexts);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, asTexts(each)]));
  }
  return String(value);
}
