import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import type { AwsRequest, Service } from './service.ts';

/** Somebody listens on that port already. */
export class PortInUse extends Error {
  constructor(
    readonly port: number,
    options?: ErrorOptions,
  ) {
    super(`port ${port} is in use`, options);
    this.name = 'PortInUse';
  }
}

export interface LoopbackServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves the services on 127.0.0.1. Port 0: any free one. It does not keep the process alive. @throws {PortInUse} */
export async function listen(serve: Service, port: number): Promise<LoopbackServer> {
  const server = createServer((incoming, outgoing) => {
    answer(serve, incoming, outgoing).catch((error) => outgoing.destroy(error));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? new PortInUse(port, { cause: error }) : error),
    );
    server.listen(port, '127.0.0.1', resolve);
  });
  server.unref();
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(serve: Service, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController();
  outgoing.once('close', () => gone.abort());
  const response = await serve(toRequest(incoming, gone.signal));
  outgoing.writeHead(response.status, response.headers);
  if (typeof response.body === 'string') outgoing.end(response.body);
  else await pipeline(response.body, outgoing);
}

function toRequest(incoming: IncomingMessage, signal: AbortSignal): AwsRequest {
  const [path, search] = incoming.url!.split(/\?(.*)/s);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(incoming.headers)) {
    headers[name] = Array.isArray(value) ? value.join(',') : (value ?? '');
  }
  const query = Object.fromEntries(new URLSearchParams(search));
  return { method: incoming.method!, path: path!, query, headers, body: incoming, signal };
}
