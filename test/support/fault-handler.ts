/** What can go wrong with one attempt of one call, at the wire; only S3 is asked to deny. */
export type Fault = 'lose-request' | 'lose-answer' | 'throttle' | 'internal-error' | 'deny';

/** S3 names its operations by method alone, where only objects are dealt with. */
const S3_OPERATIONS: Readonly<Record<string, string>> = {
  PUT: 'PutObject',
  GET: 'GetObject',
  HEAD: 'HeadObject',
  POST: 'DeleteObjects',
  DELETE: 'DeleteObject',
};

interface Request {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: unknown;
}

interface Inner {
  readonly metadata: { readonly handlerProtocol: string };
  // biome-ignore lint/suspicious/noExplicitAny: whatever the SDK's clients pass and expect
  handle(request: any, options?: any): Promise<any>;
}

interface Rule {
  readonly operation: string;
  /** A part of the request's body that says which item is meant. */
  readonly naming: string;
  readonly fault: Fault | 'none';
  /** The attempt waits for this before anything happens to it. */
  readonly released?: Promise<void>;
  readonly arrived: () => void;
  timesLeft: number;
}

/** A request handler for SDK clients that loses, refuses or holds back chosen attempts on the way to another one. */
export class FaultHandler {
  readonly metadata;
  /** Operations in the order in which attempts were made, such as `PutItem`. */
  readonly calls: string[] = [];
  /** Told of each attempt that is lost, after how many ms its caller gives it up. */
  onLost: (timeoutMs: number | undefined) => void = () => {};
  readonly #inner: Inner;
  #rules: Rule[] = [];

  constructor(inner: Inner) {
    this.#inner = inner;
    this.metadata = inner.metadata;
  }

  /** Makes the next `times` attempts of an operation go wrong, of those whose body contains `naming`. */
  next(operation: string, fault: Fault, times = 1, naming = ''): void {
    this.#rules.push({ operation, naming, fault, timesLeft: times, arrived: () => {} });
  }

  /**
   * Holds back the next attempt of an operation until it is released, and then lets it pass, or go wrong.
   * `arrived` resolves when it is being held.
   */
  hold(
    operation: string,
    fault: Rule['fault'] = 'none',
    naming = '',
  ): { readonly arrived: Promise<void>; release(): void } {
    let release = () => {};
    let arrive = () => {};
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#rules.push({ operation, naming, fault, released, timesLeft: 1, arrived: arrive });
    return { arrived, release };
  }

  // biome-ignore lint/suspicious/noExplicitAny: what the SDK's clients expect
  async handle(request: Request, options?: { readonly requestTimeout?: number }): Promise<any> {
    const target = request.headers['x-amz-target'] ?? request.headers['X-Amz-Target'] ?? '';
    const operation = target.split('.')[1] ?? S3_OPERATIONS[request.method] ?? '';
    this.calls.push(operation);
    const body = textOf(request.body);
    const rule = this.#rules.find((candidate) => candidate.operation === operation && body.includes(candidate.naming));
    if (rule === undefined) return this.#inner.handle(request, options);
    rule.timesLeft -= 1;
    if (rule.timesLeft === 0) this.#rules = this.#rules.filter((other) => other !== rule);
    rule.arrived();
    await rule.released;
    switch (rule.fault) {
      case 'lose-request':
        this.onLost(options?.requestTimeout);
        throw lost();
      case 'lose-answer':
        await this.#inner.handle(request, {});
        this.onLost(options?.requestTimeout);
        throw lost();
      case 'throttle':
        return refusal(400, 'ProvisionedThroughputExceededException');
      case 'internal-error':
        return refusal(500, 'InternalServerError');
      case 'deny':
        return denial();
      case 'none':
        return this.#inner.handle(request, options);
    }
  }

  updateHttpClientConfig(): void {}

  httpHandlerConfigs(): Record<string, never> {
    return {};
  }
}

function lost(): Error {
  return Object.assign(new Error('no answer came'), { name: 'TimeoutError' });
}

function refusal(statusCode: number, type: string) {
  const body = Buffer.from(JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${type}`, message: type }));
  return { response: { statusCode, headers: { 'content-type': 'application/x-amz-json-1.0' }, body } };
}

function denial() {
  const body = Buffer.from('<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>');
  return { response: { statusCode: 403, headers: { 'content-type': 'application/xml' }, body } };
}

/** The SDK dresses bytes as a text and warns when they are used as one. */
function textOf(body: unknown): string {
  if (body instanceof Uint8Array) return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  return String(body ?? '');
}
