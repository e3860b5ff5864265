import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as it came to the proxy. */
export interface Passing {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/**
 * What is to go wrong with a request. `lose`: it is done, and the connection breaks before the answer; `drop`: the
 * connection breaks before anything is done; `hang`: there is never an answer. An answer stands in for the server's;
 * with `after`, the server has done its work before.
 */
export type Fault =
  | 'lose'
  | 'drop'
  | 'hang'
  | {
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body?: string | object;
      readonly after?: boolean;
    };

export interface FaultyProxy {
  readonly url: string;
  /** Every request so far, in the order they came. */
  readonly passed: readonly Passing[];
  /** Asked about every request: what is to go wrong; undefined: nothing. May wait. */
  fault: (passing: Passing, index: number) => Fault | undefined | Promise<Fault | undefined>;
  close(): Promise<void>;
}

/** A server on a free port that passes requests on to `target`, until told otherwise. Without one it only has faults. */
export async function openFaultyProxy(target?: string): Promise<FaultyProxy> {
  const passed: Passing[] = [];
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const body = Buffer.concat(await request.toArray());
    const passing = { method: request.method!, target: request.url!, headers: request.headers, body };
    const fault = await proxy.fault(passing, passed.push(passing) - 1);
    if (fault === 'hang') return;
    if (fault === 'drop') return void response.destroy();
    if (typeof fault === 'object' && !fault.after) return answer(response, fault);
    const real = await forward(passing);
    if (fault === 'lose') return void response.destroy();
    answer(response, fault ?? real);
  };
  const forward = async ({ method, target: path, headers, body }: Passing) => {
    const { connection: _, 'transfer-encoding': __, ...sent } = headers;
    const answered = await fetch(`${target}${path}`, {
      method,
      headers: sent as Record<string, string>,
      ...(body.length > 0 && { body }),
    });
    const { 'content-encoding': ___, 'content-length': ____, ...kept } = Object.fromEntries(answered.headers);
    return { status: answered.status, headers: kept, body: Buffer.from(await answered.arrayBuffer()) };
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy: FaultyProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed,
    fault: () => undefined,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return proxy;
}

function answer(
  response: ServerResponse,
  { status, headers = {}, body = '' }: { status: number; headers?: Record<string, string>; body?: string | object },
): void {
  const plain = typeof body === 'string' || Buffer.isBuffer(body);
  response.writeHead(status, { ...(!plain && { 'content-type': 'application/problem+json' }), ...headers });
  response.end(plain ? body : JSON.stringify(body));
}

/** A refusal as the API words it. */
export function problem(status: number, code: string, data: Record<string, unknown> = {}): Exclude<Fault, string> {
  return {
    status,
    body: { type: 'about:blank', title: code, status, detail: `It is ${code}`, code, requestId: 'req-1', ...data },
  };
}
