import type { Api } from './api.ts';

/** `fetch` for a client of the API: what it asks for is answered in this process. */
export function fetchOf(api: Pick<Api, 'send'>): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const { pathname, search } = new URL(request.url);
    const body = new Uint8Array(await request.arrayBuffer());
    const headers = Object.fromEntries(request.headers);
    const reply = await api.send(request.method, pathname + search, { headers, ...(body.length > 0 && { body }) });
    return new Response(reply.status === 204 ? null : new Uint8Array(reply.bytes), {
      status: reply.status,
      headers: reply.headers,
    });
  };
}
