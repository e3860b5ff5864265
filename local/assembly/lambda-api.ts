import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AwsRequest, type AwsResponse, textOf } from '../aws/service.ts';
import type { Access, Caller } from './access.ts';
import { deniedText } from './front.ts';
import type { PackagedFunction } from './packaged-function.ts';
import { functionArn, mappingArn } from './rights.ts';

/** An event source that can be switched. */
export interface Switchable {
  readonly id: string;
  readonly enabled: boolean;
  switch(on: boolean): void;
  describe(): object;
}

/** How a function is called that nobody waits for. */
export interface AsyncSettings {
  readonly retries: number;
}

/** Source: AWS, "Configuring error handling settings for asynchronous invocations": two more attempts. */
const RETRIES_DEFAULT = 2;
/** AWS waits a minute, then two. */
const RETRY_PAUSE_MS = 1_000;

/** What of Lambda's own API functions use: calls, a function's configuration, and the switch of an event source. */
export class LambdaApi {
  readonly #access: Access;
  readonly #onFailure: (name: string, error: unknown) => void;
  readonly #functions = new Map<string, PackagedFunction>();
  readonly #mappings = new Map<string, Switchable>();
  readonly #async = new Map<string, AsyncSettings>();
  #closed = false;

  constructor(access: Access, onFailure: (name: string, error: unknown) => void) {
    this.#access = access;
    this.#onFailure = onFailure;
  }

  addFunction(fn: PackagedFunction): void {
    this.#functions.set(fn.name, fn);
  }

  addMapping(mapping: Switchable): void {
    this.#mappings.set(mapping.id, mapping);
  }

  configureAsync(functionName: string, settings: AsyncSettings): void {
    this.#async.set(functionName, settings);
  }

  /** @param name also with a qualifier, or an ARN */
  find(name: string): PackagedFunction | undefined {
    return this.#functions.get(nameOf(name));
  }

  get mappings(): readonly Switchable[] {
    return [...this.#mappings.values()];
  }

  /** Calls a function and does not wait; it is called again when it fails, as often as is configured. */
  callLater(fn: PackagedFunction, payload: string, arn = fn.arn): void {
    void this.callOften(fn, payload, arn);
  }

  /** Calls a function that failed again, as often as is configured for calls that nobody waits for. */
  async callOften(fn: PackagedFunction, payload: string, arn = fn.arn): Promise<void> {
    const retries = this.#async.get(fn.name)?.retries ?? RETRIES_DEFAULT;
    for (let attempt = 0; attempt <= retries; attempt++) {
      if (attempt > 0) await sleep(RETRY_PAUSE_MS, undefined, { ref: false });
      const { failed, payload: error } = await fn.invoke(payload, arn);
      if (!failed || this.#closed) return;
      this.#onFailure(fn.name, error);
    }
  }

  /** Ends all functions. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#functions.values()].map((fn) => fn.close()));
  }

  /** Answers a request of Lambda's REST API. */
  async serve(caller: Caller, request: AwsRequest): Promise<AwsResponse> {
    const [, , kind, id = '', what] = request.path.split('/').map(decodeURIComponent);
    const { method } = request;
    if (kind === 'functions' && method === 'POST' && what === 'invocations') return this.#invoke(caller, id, request);
    if (kind === 'functions' && method === 'GET' && what === 'configuration') return this.#configuration(caller, id);
    if (kind === 'event-source-mappings' && id !== '' && (method === 'PUT' || method === 'GET')) {
      return this.#mapping(caller, id, request);
    }
    return problem(400, 'UnsupportedOperation', `${method} ${request.path} is not known here`);
  }

  async #invoke(caller: Caller, id: string, request: AwsRequest): Promise<AwsResponse> {
    const denied = this.#denied(caller, 'lambda:InvokeFunction', arnOfFunction(id));
    if (denied) return denied;
    const fn = this.find(id);
    if (!fn) return unknownFunction(id);
    const payload = (await textOf(request.body)) || '{}';
    const arn = id.startsWith('arn:') ? id : fn.arn;
    switch (request.headers['x-amz-invocation-type'] ?? 'RequestResponse') {
      case 'DryRun':
        return answer(204, '');
      case 'Event':
        this.callLater(fn, payload, arn);
        return answer(202, '');
      default: {
        const { payload: body, failed } = await fn.invoke(payload, arn);
        return answer(200, body, failed ? { 'x-amz-function-error': 'Unhandled' } : {});
      }
    }
  }

  async #configuration(caller: Caller, id: string): Promise<AwsResponse> {
    const denied = this.#denied(caller, 'lambda:GetFunctionConfiguration', arnOfFunction(id));
    if (denied) return denied;
    const fn = this.find(id);
    if (!fn) return unknownFunction(id);
    const { name: FunctionName, arn: FunctionArn, timeoutMs } = fn;
    return answer(200, JSON.stringify({ FunctionName, FunctionArn, Timeout: timeoutMs / 1_000, State: 'Active' }));
  }

  async #mapping(caller: Caller, id: string, { method, body }: AwsRequest): Promise<AwsResponse> {
    const verb = method === 'GET' ? 'Get' : 'Update';
    const denied = this.#denied(caller, `lambda:${verb}EventSourceMapping`, mappingArn(id));
    if (denied) return denied;
    const mapping = this.#mappings.get(id);
    if (!mapping) return problem(404, 'ResourceNotFoundException', 'The resource you requested does not exist.');
    if (method === 'PUT') {
      const { Enabled } = JSON.parse((await textOf(body)) || '{}') as { Enabled?: boolean };
      if (Enabled !== undefined) mapping.switch(Enabled);
    }
    return answer(method === 'PUT' ? 202 : 200, JSON.stringify(mapping.describe()));
  }

  #denied(caller: Caller, action: string, resource: string): AwsResponse | undefined {
    const right = { action, resource };
    if (this.#access.allows(caller, right)) return undefined;
    return problem(403, 'AccessDeniedException', deniedText(caller, right));
  }
}

/** `name`, `name:qualifier`, or an ARN, perhaps with a qualifier. */
function nameOf(id: string): string {
  const parts = id.split(':');
  return id.startsWith('arn:') ? parts[6]! : parts[0]!;
}

function arnOfFunction(id: string): string {
  return id.startsWith('arn:') ? id : functionArn(id);
}

function unknownFunction(id: string): AwsResponse {
  return problem(404, 'ResourceNotFoundException', `Function not found: ${arnOfFunction(id)}`);
}

function problem(status: number, type: string, message: string): AwsResponse {
  return answer(status, JSON.stringify({ Type: 'User', Message: message }), { 'x-amzn-errortype': type });
}

function answer(status: number, body: string, headers: Record<string, string> = {}): AwsResponse {
  return {
    status,
    headers: { 'content-type': 'application/json', 'x-amzn-requestid': randomUUID(), ...headers },
    body,
  };
}
