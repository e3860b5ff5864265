import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { handler } from '../functions/checkout.ts';

export interface ShopServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Stands before the checkout function as its URL does in AWS: a function that crashes answers 502. */
export async function openShop(): Promise<ShopServer> {
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const { pathname } = new URL(request.url ?? '/', 'http://shop');
    const event = {
      ...{ rawPath: pathname, body: Buffer.concat(pieces).toString() },
      requestContext: { http: { method: request.method ?? 'GET' } },
    };
    const answer = await handler(event).catch(() => ({ statusCode: 502, headers: {}, body: '' }));
    response.writeHead(answer.statusCode, answer.headers).end(answer.body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
